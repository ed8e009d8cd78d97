package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
)

// evidenceCommand looks after the parts of proofs.
func evidenceCommand() *cobra.Command {
	return group("evidence", "Collect and fetch the parts of proofs", evidenceGC(), evidenceFetch())
}

// evidenceGC removes parts from the evidence of a store that no master has open.
func evidenceGC() *cobra.Command {
	var (
		file string
		lost bool
	)
	c := &cobra.Command{Use: "gc --store FILE", Short: "Remove the parts that no fact of a store needs",
		Long: help.Long("evidence"), Args: cobra.NoArgs}
	asJSON := cli.JSONFlag(c)
	c.Flags().StringVar(&file, "store", "", "collect the evidence of the store in `FILE`")
	c.Flags().BoolVar(&lost, "lost", false,
		"forget the facts of missing parts, which are searched again; settled campaigns with a certificate keep theirs")
	cobra.CheckErr(c.MarkFlagRequired("store")) // the flag is defined above
	c.RunE = func(c *cobra.Command, _ []string) error {
		done, err := campaign.Collect(file, lost)
		if errors.Is(err, store.ErrLocked) {
			return cli.As(cli.ErrLocked, fmt.Errorf("%w: a running master collects by itself", err))
		} else if err != nil {
			return err
		}
		text := fmt.Sprintf("removed        %s that no fact names, and %d unknown, %s in all, from %s\n",
			cli.Counted(done.Parts, "part"), done.Strays, cli.FormatSize(done.Bytes), done.Place)
		if lost {
			text += fmt.Sprintf("forgotten      %s whose parts are gone; settled campaigns with a certificate keep "+
				"theirs\n", cli.Counted(done.Facts, "fact"))
		}
		return cli.Answer(c, *asJSON, done, text)
	}
	return c
}

// evidenceFetch copies the parts of a proof from where they lie into the folder beside its manifest.
func evidenceFetch() *cobra.Command {
	var from string
	c := &cobra.Command{Use: "fetch NAME.proof --from PLACE", Short: "Copy the parts of a proof into NAME.parts",
		Long: help.Long("evidence"), Args: cobra.ExactArgs(1)}
	asJSON := cli.JSONFlag(c)
	c.Flags().StringVar(&from, "from", "",
		"fetch parts from `PLACE`, a folder NAME.evidence or NAME.parts, or s3://BUCKET/PREFIX")
	cobra.CheckErr(c.MarkFlagRequired("from")) // the flag is defined above
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
		done, err := campaign.Fetch(ctx, args[0], from)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("fetched        %s, %s, into %s\n", cli.Counted(done.Parts, "part"),
			cli.FormatSize(done.Bytes), done.Folder)
		if done.Missing > 0 {
			err = fmt.Errorf("%w: %s of it not at %s: kept as digests only, lost, or the master's own last part, "+
				"which lies beside the original manifest in NAME.parts; copy that folder, too", checker.ErrAbsent,
				cli.Counted(done.Missing, "part"), from)
		}
		return errors.Join(cli.Answer(c, *asJSON, done, text), err)
	})
	return c
}
