package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/remake"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
)

// verificationJSON is what verify says to programs. Fields may be added, never renamed.
type verificationJSON struct {
	MessageType string                `json:"message_type"` // "verification"
	File        string                `json:"file,omitempty"`
	Store       *campaign.StoreReport `json:"store,omitempty"`
	Verified    bool                  `json:"verified"` // the certificate holds; for a store: and all its records do
	Reason      string                `json:"reason,omitempty"`
	Fault       *checker.Fault        `json:"fault,omitempty"`
	Report      *checker.Report       `json:"report,omitempty"`
}

// remakeJSON is what verify --remake says to programs. Fields may be added, never renamed.
type remakeJSON struct {
	MessageType string `json:"message_type"` // "remake"
	remake.Report
	Reason string `json:"reason,omitempty"`
}

// sample is --sample: a share of the parts, or with --remake their number.
type sample struct {
	checker.Sample
	parts int
}

// Set reads a share such as 1% or a number such as 20.
func (s *sample) Set(text string) error {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		s.parts = n
		return nil
	}
	s.parts = 0
	if err := s.Sample.Set(text); err != nil {
		return fmt.Errorf("%w; with --remake a number of parts from 1 on", err)
	}
	return nil
}

// String returns what Set reads.
func (s *sample) String() string {
	if s.parts > 0 {
		return strconv.Itoa(s.parts)
	}
	return s.Sample.String()
}

// verifyCommand runs the independent checker on a file, or on all that a store holds.
func verifyCommand() *cobra.Command {
	var (
		storeFile string
		options   checker.Options
		asJSON    *bool
		again     bool
		share     sample
		keep      string
	)
	table := cli.TableSize{Bytes: 1 << 30}
	c := &cobra.Command{
		Use:   "verify FILE | --store FILE",
		Short: "Check a certificate, its parts or a store with the independent checker",
		Long:  help.Long("verify"),
		Args:  cobra.MaximumNArgs(1),
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			program := cli.Program("master")
			switch {
			case len(args) == 1 && args[0] != "-" && isStore(args[0]):
				return cli.Usagef("%s is a store: write %s verify --store %s", args[0], program, cli.Quoted(args[0]))
			case len(args) == 1 && isFolder(args[0]):
				name := filepath.Clean(args[0])
				return cli.Usagef("%s is a folder; give a certificate or a manifest, such as %s.proof", args[0],
					strings.TrimSuffix(name, filepath.Ext(name)))
			case len(args) == 0 && isProof(storeFile):
				return cli.Usagef("%s is a certificate: write %s verify %s", storeFile, program, cli.Quoted(storeFile))
			case len(args) == 1 && storeGiven(c) || len(args) == 0 && storeFile == "":
				return errOneProof
			}
			switch options.Sample = share.Sample; {
			case share.parts > 0 && !again:
				return cli.Usagef("--sample %d: give a share such as 1%%; a number goes with --remake", share.parts)
			case share.Sample == 0 && !again && c.Flags().Changed("seed"):
				return cli.Usagef("--seed chooses a sample; give --sample as well")
			case share.Sample > 0 && again:
				return cli.Usagef("--sample %v: give a number of parts with --remake, such as 20", &share)
			case keep != "" && !again:
				return cli.Usagef("--keep %s: only --remake makes parts", keep)
			case again && (options.RulesOnly || options.Part || len(options.States) > 1):
				return cli.Usagef("--remake goes by the rules of the manifest, with one --state at most; leave out " +
					"--rules-only, --part and further states")
			case again && len(args) == 0:
				return cli.Usagef("--remake: give the manifest of a proof in parts")
			}
			hide := showChecking(ctx, c, &options)
			defer hide()
			// Parts that are not there are no fault. Missing tells them below, with an exit code of its
			// own.
			options.Absent = true
			if again {
				hide()
				if err := chooseTable(&table, c.ErrOrStderr(), 1); err != nil {
					return err
				}
				return remakeParts(ctx, c, args[0], remake.Options{Sample: share.parts, Seed: options.Seed,
					Shard: options.Shard, TableBytes: table.Bytes, Cores: options.Workers, Keep: keep,
					Notes: strings.Join(options.States, "")}, *asJSON)
			}
			out := verificationJSON{MessageType: "verification"}
			var err error
			if len(args) == 1 {
				out.File = args[0]
				out.Report, err = checker.CheckFile(ctx, args[0], options)
			} else {
				var store campaign.StoreReport
				store, out.Report, err = campaign.VerifyStore(ctx, storeFile, options)
				if store.File != "" {
					out.Store = &store
				}
				for _, c := range store.Campaigns {
					out.Report = cmp.Or(out.Report, c.Checked)
				}
			}
			hide()
			verified, missing := campaign.Whole(out.Report, out.Store)
			if err == nil {
				err = missing
			}
			err = certificateError(err)
			out.Verified = err == nil && verified
			return errors.Join(err, writeVerification(c, out, err, *asJSON))
		}),
	}
	c.Flags().StringVar(&storeFile, "store", "", "check the store in `FILE` and its certificate")
	c.Flags().BoolVar(&options.RulesOnly, "rules-only", false,
		"allow no leaf rule but rule 1: a side without a move loses")
	c.Flags().BoolVar(&options.Part, "part", false, "check one part of a proof, given what it cites")
	c.Flags().Var(&share, "sample", "check a random share of the parts, such as 1%; or remake so many")
	c.Flags().BoolVar(&again, "remake", false, "prove parts of a manifest again, without their files")
	c.Flags().StringVar(&keep, "keep", "", "keep the parts that are made again in `FOLDER`")
	c.Flags().Var(&table, "table", "remake with a table of `SIZE`, "+cli.TableHelp)
	c.Flags().Uint64Var(&options.Seed, "seed", 0, "choose the sample by this `NUMBER` (default: random)")
	c.Flags().Var(&options.Shard, "shard", "check one shard of the parts, such as 3/16")
	c.Flags().Var(&options.States, "state",
		"note checked parts in `FILE`, and skip those noted there or in more files after commas")
	asJSON = cli.JSONFlag(c)
	coresFlag(c, &options.Workers)
	return c
}

// remakeParts proves parts again and says of each how.
func remakeParts(ctx context.Context, c *cobra.Command, file string, o remake.Options, asJSON bool) error {
	r, err := remake.Run(ctx, file, o, func(p remake.Part) {
		if !asJSON {
			fmt.Fprintln(c.OutOrStdout(), p)
		}
	})
	out := remakeJSON{MessageType: "remake", Report: r}
	if err != nil {
		if out.Reason = cli.Words(err); asJSON {
			err = errors.Join(err, cli.Answer(c, true, out, ""))
		}
		return err
	}
	return cli.Answer(c, asJSON, out, r.String())
}

// showChecking shows how far a check has come, and draws a seed where none was given.
func showChecking(ctx context.Context, c *cobra.Command, options *checker.Options) (hide func()) {
	if !c.Flags().Changed("seed") {
		options.Seed = rand.Uint64N(1 << 32)
	}
	var said atomic.Value
	said.Store("checking")
	options.Progress = func(p checker.Progress) { said.Store("checking: " + p.String()) }
	return cli.NewStatusLine(c.ErrOrStderr()).Show(ctx, func() string { return said.Load().(string) })
}

// writeVerification prints what was checked. Of a store with several campaigns each report is part
// of the text of the store.
func writeVerification(c *cobra.Command, v verificationJSON, failure error, asJSON bool) error {
	if failure != nil {
		v.Reason = cli.Words(failure)
		errors.As(failure, &v.Fault)
	}
	text := ""
	if v.Store != nil {
		text = v.Store.String()
	}
	if v.Report != nil && (v.Store == nil || len(v.Store.Campaigns) == 1) {
		text += v.Report.String()
	}
	return cli.Answer(c, asJSON, v, text)
}

// certificateError makes each fault that the checker found in a file a failed verification. A file
// that cannot be read is none.
func certificateError(err error) error {
	if checker.Invalid(err) {
		return fmt.Errorf("%w: %w", campaign.ErrVerification, err)
	}
	if errors.Is(err, checker.ErrOneFile) {
		return cli.As(cli.ErrUsage, err)
	}
	return err
}
