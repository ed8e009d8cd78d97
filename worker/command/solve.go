package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"

	"github.com/spf13/cobra"
)

func solveCommand() *cobra.Command {
	var (
		flags           searchFlags
		moves           []string
		noProof, noTest bool
		asJSON          bool
		q               question
		folder          string
	)
	var check func(amazons.Position) error
	c := &cobra.Command{
		Use:   "solve POSITION|BOARD|-",
		Short: "Tell who wins a position, with a verified certificate",
		Long:  help.Long("solve"),
		Args:  cobra.MinimumNArgs(1),
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			if q.proofFile != "" && noProof {
				return cli.Usagef("--proof and --no-proof exclude each other")
			}
			lines := len(args) == 1 && args[0] == "-"
			if lines && (len(moves) > 0 || q.proofFile != "") {
				return cli.Usagef("--first-move and --proof go with one position, not with -")
			}
			if !lines {
				var err error
				if q.position, err = parsePosition(args); err != nil {
					return err
				}
				if err := check(q.position); err != nil {
					return err
				}
				if q.firstMoves, err = q.position.ParseMoves(moves); err != nil {
					return cli.Usagef("--first-move: %w", err)
				}
				if err := checkProofFile(q); err != nil {
					return err
				}
			}
			if err := errors.Join(checkTable(&flags.table, c.ErrOrStderr()), checkFolder("db", folder)); err != nil {
				return err
			}
			q.prove, q.verify = !noProof, !noProof && !noTest
			if folder != "" {
				db, err := readyDatabase(c.Context(), folder, c.ErrOrStderr())
				if err != nil {
					return err
				}
				if db != nil {
					defer db.Close()
					flags.judge = eval.NewJudge(db, eval.DefaultSettings()).Clone
				}
			}
			if lines {
				return solveLines(ctx, c, flags, q)
			}
			return solveOne(ctx, c, flags, q, asJSON)
		}),
	}
	flags.add(c, 256<<20)
	f := c.Flags()
	check = cli.AnyPosition(f)
	f.StringArrayVar(&moves, "first-move", nil, "try only this `MOVE` at the root; may be repeated")
	f.Uint64Var(&q.nodes, "nodes", 0, "stop after `NODES` (exit code 3; default: never)")
	f.StringVar(&q.proofFile, "proof", "", "write the certificate to `FILE`")
	f.StringVar(&folder, "db", "", "judge with the database in `FOLDER`, slower as measured (default: none)")
	f.BoolVar(&noProof, "no-proof", false, "make no certificate: the answer is not verified")
	f.BoolVar(&noTest, "no-verify", false, "make the certificate but do not check it")
	f.BoolVar(&q.rulesOnly, "rules-only", false, "prove by the rules of the game alone: a much larger certificate")
	jsonFlag(c, &asJSON)
	return c
}

// checkProofFile refuses a certificate's file that could not be written, or that holds something else, before hours of
// search go into its content. An empty name is no file, and needs no folder.
func checkProofFile(q question) error {
	if err := cli.CheckOutput("--proof ", q.proofFile); err != nil {
		return err
	}
	if there, err := os.Stat(q.proofFile); err == nil && there.Size() > 0 && !q.certified() {
		return cli.Usagef("--proof %s: it is there and is no certificate of this question: move it, or name another "+
			"file", q.proofFile)
	}
	return nil
}

// certified reports whether the file has the header of a certificate about the position, or about what its first moves
// make of it.
func (q question) certified() bool {
	f, err := disk.Open(q.proofFile)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := proof.ReadInfo(f, math.MaxInt64)
	return err == nil && !slices.ContainsFunc(info.Roots, func(r proof.Root) bool {
		root := r.Position(info.Board)
		after := func(m amazons.Move) bool { return q.position.After(m) == root }
		return root != q.position && !slices.ContainsFunc(q.firstMoves, after)
	})
}

// solveOne answers one question and shows how far it is.
func solveOne(ctx context.Context, c *cobra.Command, flags searchFlags, q question, asJSON bool) error {
	s, err := newSolver(flags.table.Bytes, flags.cores, flags.judge)
	if err != nil {
		return err
	}
	defer s.close()
	begun := time.Now()
	hide := cli.NewStatusLine(c.ErrOrStderr()).Show(ctx, func() string {
		text := "starting"
		if phase := s.phase.Load(); phase != nil {
			text = (*phase)()
		}
		return fmt.Sprintf("%s, %.0f s, table %.0f %% full, memory %s", text, time.Since(begun).Seconds(),
			100*s.table.Fill(), cli.FormatSize(cli.MemoryUsed()))
	})
	r, err := s.solve(ctx, q)
	hide()
	// These errors come with a result that people want to see: how far the search came, or an answer
	// that failed its check. Other errors come alone.
	known := []error{nil, errBudget, cli.ErrInterrupted, cli.ErrVerification}
	if slices.ContainsFunc(known, func(target error) bool { return errors.Is(err, target) }) {
		if werr := show(c, asJSON, r); werr != nil {
			return errors.Join(werr, err)
		}
	}
	return err
}
