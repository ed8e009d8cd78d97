package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/document"
	"amazonsfarm/master/explore"
	"amazonsfarm/master/export"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// proofCommand reads certificates for people and other programs. It believes them: verify checks.
func proofCommand() *cobra.Command {
	return group("proof", "Step through a certificate, export it, cut it into parts or join them",
		proofShowCommand(), proofExportCommand(), proofPackCommand(), proofSplitCommand())
}

// converting is a command that makes the second of two files of the first, and prints what do says of it.
func converting(c *cobra.Command, topic, doing string,
	do func(ctx context.Context, from, to string) (made string, err error)) *cobra.Command {
	c.Long, c.Args = help.Long(topic), cobra.ExactArgs(2)
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
		if err := untaken(args[1]); err != nil {
			return err
		}
		hide := showTime(ctx, c, doing)
		made, err := do(ctx, args[0], args[1])
		if hide(); err == nil {
			fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", args[1], made)
		}
		return err
	})
	return c
}

// proofPackCommand makes one file of a proof in parts.
func proofPackCommand() *cobra.Command {
	var limit int64
	c := converting(&cobra.Command{Use: "pack NAME.proof FILE", Short: "Make one certificate of a proof in parts"},
		"proof-pack", "packing", func(ctx context.Context, from, to string) (string, error) {
			if err := cli.CheckOutput("", to); err != nil {
				return "", err
			}
			cert, err := proof.Pack(ctx, from, limit)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d positions in one file", cert.Set.Len()), proof.WriteFile(to, cert)
		})
	cli.Ranged(c.Flags(), c.Flags().Int64Var, "limit", &limit, proof.OneFilePositions, 1, 1<<40,
		"pack at most `N` positions, of some 50 bytes of memory each")
	return c
}

// proofSplitCommand makes a proof in parts of one file.
func proofSplitCommand() *cobra.Command {
	var positions int
	c := converting(&cobra.Command{Use: "split FILE NAME.proof",
		Short: "Cut a certificate into parts that cite each other, with a manifest"},
		"proof-split", "splitting", func(ctx context.Context, from, to string) (string, error) {
			cert, err := proof.ReadFile(from)
			if err != nil {
				return "", err
			}
			if len(cert.Cited) > 0 {
				return "", cli.Usagef("%s is a part of a proof that cites other parts; give a whole certificate", from)
			}
			m, err := proof.WriteParts(ctx, to, cert, positions)
			return cli.Counted(len(m.Parts), "part") + " in " + proof.PartsFolder(to), err
		})
	cli.Ranged(c.Flags(), c.Flags().IntVar, "positions", &positions, 1<<20, 1, 1<<30,
		"give a part at most `N` positions")
	return c
}

// untaken returns an error where a file is there already: it may be a store, or another proof.
func untaken(file string) error {
	if _, err := os.Lstat(file); err == nil {
		return cli.Usagef("%s is there already: move it, or name another file", file)
	}
	return nil
}

// proofSource says what certificate is meant, and which position of it.
type proofSource struct{ store, campaign string }

// add defines the flags that name a certificate in a store.
func (s *proofSource) add(c *cobra.Command) {
	c.Flags().StringVar(&s.store, "store", "", "read the certificate of a settled campaign in `FILE`")
	c.Flags().StringVar(&s.campaign, "campaign", "",
		"with --store, read that of the campaign `NAME` (default: the first)")
}

// wholePositions is the largest proof, in positions, that is read whole. Tests change it.
var wholePositions int64 = proof.OneFilePositions

// read returns the certificate, what it was read from, and the position that the arguments name, with the last move
// that led there. Of a proof that is too large it reads what is on the way to that position.
func (s *proofSource) read(ctx context.Context, c *cobra.Command, args []string) (cert proof.Certificate, from string,
	p amazons.Position, last *amazons.Move, err error) {
	inStore := s.store != "" && (len(args) == 0 || storeGiven(c))
	switch {
	case len(args) == 0 && !inStore, len(args) > 0 && inStore && (isProof(args[0]) || isStore(args[0])):
		return cert, "", p, nil, errOneProof
	case len(args) > 1 && isProof(args[len(args)-1]):
		return cert, "", p, nil, cli.Usagef("%s is a certificate: give one, and give it first", args[len(args)-1])
	case inStore:
		cert, from, err = campaign.ReadCertificate(ctx, s.store, s.campaign)
	case isStore(args[0]):
		return cert, "", p, nil, cli.Usagef("%s is a store: write --store %s", args[0], cli.Quoted(args[0]))
	default:
		from, args = args[0], args[1:]
		cert, err = proof.ReadWhole(ctx, from, wholePositions)
	}
	large := errors.Is(err, proof.ErrTooLarge) && from != s.store // what was made from the store is gone by now
	var m proof.Manifest
	if large {
		m, err = proof.ReadManifest(from)
		cert = proof.Certificate{Board: m.Board, Roots: m.Roots}
	}
	if err != nil {
		return cert, from, p, nil, err
	}
	way, last, err := findPosition(&cert, args)
	if err != nil {
		return cert, from, p, nil, err
	}
	if large {
		read := 0
		if cert, read, err = m.ReadAround(ctx, from, way, wholePositions); err == nil {
			fmt.Fprintf(c.ErrOrStderr(), "the proof is large: read %d of its %s, which prove a position on the way\n",
				read, cli.Counted(len(m.Parts), "part"))
		}
	}
	return cert, from, way[len(way)-1], last, err
}

// findPosition returns the position that arguments name, perhaps a position, then perhaps moves from it or from the
// certificate's first root, with those before it, the first one first.
// A first argument that is no move is a position if it names a board, or has rows or a side to move. If not, the error
// is about the move.
func findPosition(c *proof.Certificate, args []string) (way []amazons.Position, last *amazons.Move, err error) {
	p := c.Roots[0].Position(c.Board)
	if len(args) > 0 {
		if _, notMove := amazons.ParseMove(c.Board, args[0]); notMove != nil {
			_, notBoard := amazons.ParseBoard(args[0])
			given, err := amazons.ParsePosition(args[0])
			switch {
			case notBoard != nil && !strings.ContainsAny(args[0], " /"):
				return nil, nil, cli.Usagef("move 1: %w", notMove)
			case err != nil:
				return nil, nil, cli.Usagef("%w", err)
			case given.Board != c.Board:
				return nil, nil, cli.Usagef("the position is of %v, the certificate of %v", given.Board, c.Board)
			}
			p, args = given, args[1:]
		}
	}
	way, last, err = explore.Follow(p, args)
	switch root := c.Roots[0].Position(c.Board); {
	case err != nil && p == root && root.State().Arrows(c.Board) > 0:
		return nil, nil, cli.Usagef("%w (the certificate begins at %v)", err, root)
	case err != nil:
		return nil, nil, cli.Usagef("%w", err)
	}
	return way, last, nil
}

// proofShowCommand shows one position. A reader steps through a proof by adding moves.
func proofShowCommand() *cobra.Command {
	var (
		source proofSource
		count  int
		view   view
	)
	c := &cobra.Command{
		Use:   "show FILE|--store FILE [POSITION] [MOVE...]",
		Short: "Show a position of a certificate: the winner, the reason and every move",
		Long:  help.Long("proof-show", "proof-position"),
		Example: `  master proof show 5x5.proof B1-B3xD3
  master proof show 5x5.proof '.B.B./B...B/...../W...W/.W.W. b' --top 5`,
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			hide := showTime(ctx, c, "reading the proof")
			defer hide()
			cert, _, p, last, err := source.read(ctx, c, args)
			if err != nil {
				return err
			}
			d := document.OfProof(&cert, p, count)
			report := proofReport(&cert, p, last, d, view.top)
			hide()
			return view.show(c, p, last, d, report)
		}),
	}
	source.add(c)
	view.add(c)
	cli.Ranged(c.Flags(), c.Flags().IntVar, "count", &count, 400_000, 0, cli.Most,
		"count at most `N` entries, half of them below the moves; a size whose count stops early ends in \"or more\"")
	return c
}

// proofReport is the position in text: the board, what the certificate says, and a table of its moves.
func proofReport(c *proof.Certificate, p amazons.Position, last *amazons.Move, d document.ProofPosition,
	top int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\nposition       %s\n", boardText(p, last), p)
	fmt.Fprintf(&s, "value          %s", d.Verdict)
	if winner := c.Look(p.State()).Verdict.Winner(p.ToMove); winner == "" {
		s.WriteString(": the certificate does not decide it\n")
	} else {
		fmt.Fprintf(&s, " for the side to move, by %s: %s wins\n", d.Reason, winner)
	}
	if d.WinningMove != "" {
		fmt.Fprintf(&s, "winning move   %s\n", d.WinningMove)
	}
	fmt.Fprintf(&s, "entries        %s of %d\n", entriesText(d.Size), c.Set.Len())
	if len(d.Line) > 0 {
		fmt.Fprintf(&s, "play           %s\n", strings.Join(d.Line, " "))
	}
	if i := slices.IndexFunc(c.Roots, func(r proof.Root) bool { return r.Position(c.Board) == p }); i >= 0 {
		fmt.Fprintf(&s, "root           %d of %d: this is what the certificate claims\n", i+1, len(c.Roots))
	}
	s.WriteString(movesReport(top, "by|refutation|entries", d.Moves, func(m document.Move[document.ProofAfter]) []any {
		by := m.Then.Reason
		if by == "none" {
			by = ""
		}
		return []any{by, m.Then.WinningMove, entriesText(m.Then.Size)}
	}))
	if slices.ContainsFunc(d.Moves, func(m document.Move[document.ProofAfter]) bool { return m.Wins == "open" }) {
		s.WriteString("open: the proof needs one winning move, and says nothing of these\n")
	}
	return s.String()
}

func entriesText(s document.Size) string { return atLeast(uint64(s.Entries), s.AtLeast) }

// standardPositions is how many positions export writes in each format unless it is told otherwise.
var standardPositions = map[string]int{"json": 100_000, "dot": 1000, "sgf": 10_000}

// proofExportCommand writes a part of a proof. Its two limits differ: --depth is what the reader wants
// and no fault, while --positions guards memory and ends with the exit code of a limit.
func proofExportCommand() *cobra.Command {
	var (
		source           proofSource
		format           string
		depth, positions int
	)
	c := &cobra.Command{
		Use:   "export FILE|--store FILE [POSITION] [MOVE...]",
		Short: "Write a proof as JSON lines, a DOT graph, SGF variations or plain lines",
		Long:  help.Long("proof-export", "proof-position"),
		Example: `  master proof export 4x4.proof --format dot --depth 2 | dot -Tsvg -o 4x4.svg
  master proof export 5x5.proof B1-B3xD3 --format sgf --depth 4 > 5x5.sgf
  master proof export 5x5.proof --format plain > 5x5.plain`,
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			if format == "plain" {
				return exportPlain(ctx, c, &source, args)
			}
			standard, ok := standardPositions[format]
			if !ok {
				return cli.Usagef("--format %q: it must be json, dot, sgf or plain", format)
			}
			if !c.Flags().Changed("positions") {
				positions = standard
			}
			hide := showTime(ctx, c, "reading the proof")
			defer hide()
			cert, from, p, _, err := source.read(ctx, c, args)
			if err != nil {
				return err
			}
			g, err := export.New(ctx, &cert, p, export.Limits{Depth: depth, Positions: positions})
			if hide(); ctx.Err() != nil {
				return ctx.Err()
			} else if err != nil {
				return cli.Usagef("%w", err)
			}
			switch out := c.OutOrStdout(); format {
			case "json":
				err = g.WriteJSON(out, document.ProofExport{File: from, RulesOnly: cert.Leaves == eval.MoveLeaves,
					Entries: cert.Set.Len()})
			case "dot":
				err = g.WriteDOT(out)
			case "sgf":
				err = g.WriteSGF(out, from)
			}
			if err != nil {
				return err
			}
			if g.Full {
				return cli.As(cli.ErrLimit, fmt.Errorf("of %s written, the moves of %d are left out; "+
					"--positions 0 writes all", cli.Counted(len(g.Positions), "position"), g.Cut))
			}
			return nil
		}),
	}
	source.add(c)
	c.Flags().StringVar(&format, "format", "json", "write `KIND`: json, dot, sgf or plain")
	cli.Ranged(c.Flags(), c.Flags().IntVar, "depth", &depth, 2, 0, cli.Most,
		"go `N` plies below the position (0: no limit)")
	cli.Ranged(c.Flags(), c.Flags().IntVar, "positions", &positions, 0, 0, cli.Most,
		"write `N` positions (0: no limit; default: json 100000, dot 1000, sgf 10000)")
	return c
}

// exportPlain writes the whole of a proof: the machine-checked checker has no use for less.
func exportPlain(ctx context.Context, c *cobra.Command, source *proofSource, args []string) error {
	if len(args) != 1 || storeGiven(c) || c.Flags().Changed("depth") || c.Flags().Changed("positions") {
		return cli.Usagef("--format plain writes a whole proof: give one FILE, and none of --store, --depth, " +
			"--positions")
	}
	return proof.WritePlain(ctx, c.OutOrStdout(), args[0])
}
