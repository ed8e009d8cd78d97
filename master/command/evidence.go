package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// collectionJSON is what "evidence gc" says to programs. Fields may be added, never renamed; so with the
// one below.
type collectionJSON struct {
	MessageType string `json:"message_type"` // "evidence_collection"
	campaign.Collection
}

type fetchJSON struct {
	MessageType string `json:"message_type"` // "evidence_fetch"
	File        string `json:"file"`         // the manifest
	Folder      string `json:"folder"`       // of the parts
	Fetched     int    `json:"fetched"`      // parts
	Bytes       int64  `json:"bytes"`        // their size
	Missing     int    `json:"missing"`      // parts that are not at the place either
}

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
		Args: cobra.NoArgs}
	asJSON := cli.JSONFlag(c)
	c.Flags().StringVar(&file, "store", "", "collect the evidence of the store in `FILE`")
	c.Flags().BoolVar(&lost, "lost", false, "forget what parts prove that are gone; it is searched again")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		done, err := campaign.Collect(file, lost)
		if errors.Is(err, store.ErrLocked) {
			return cli.As(cli.ErrLocked, fmt.Errorf("%w: a running master collects by itself", err))
		} else if err != nil {
			return err
		}
		return cli.Answer(c, *asJSON, collectionJSON{"evidence_collection", done},
			fmt.Sprintf("removed        %d parts that no fact names and %d unknown ones, %s in all, from %s\n",
				done.Parts, done.Strays, cli.FormatSize(done.Bytes), done.Place))
	}
	return c
}

// evidenceFetch copies the parts of a proof from where they lie into the folder beside its manifest.
func evidenceFetch() *cobra.Command {
	var from string
	c := &cobra.Command{Use: "fetch NAME.proof --from PLACE", Short: "Copy the parts of a proof into NAME.parts",
		Args: cobra.ExactArgs(1)}
	asJSON := cli.JSONFlag(c)
	c.Flags().StringVar(&from, "from", "", "fetch parts from `PLACE`, a folder or s3://BUCKET/PREFIX")
	if err := c.MarkFlagRequired("from"); err != nil {
		panic(err) // the flag is defined above
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx, _, stop := cli.Signals(c.Context())
		defer stop()
		done, err := fetchParts(ctx, args[0], from)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("fetched        %d parts, %s, into %s\n", done.Fetched, cli.FormatSize(done.Bytes),
			done.Folder)
		if done.Missing > 0 {
			text += fmt.Sprintf("missing        %d parts are not at %s: they are kept as digests only, or lost\n",
				done.Missing, from)
		}
		return cli.Answer(c, *asJSON, done, text)
	}
	return c
}

// fetchParts copies the parts that are not in the folder yet.
// A part that is there is not read again, so a fetch that was cut off goes on where it was. The checker
// judges the parts later.
func fetchParts(ctx context.Context, manifest, from string) (fetchJSON, error) {
	done := fetchJSON{MessageType: "evidence_fetch", File: manifest, Folder: proof.PartsFolder(manifest)}
	m, err := proof.ReadManifest(manifest)
	if err != nil {
		return done, err
	}
	place, err := evidence.Open(from, true)
	if err == nil {
		err = os.MkdirAll(done.Folder, 0o755)
	}
	for _, p := range m.Parts {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return done, err
		}
		name := filepath.Join(done.Folder, p.ID.Name())
		if _, there := os.Stat(name); !errors.Is(there, fs.ErrNotExist) {
			continue
		}
		switch err = evidence.Copy(place, p.ID, p.Bytes, name); {
		case err == nil:
			done.Fetched, done.Bytes = done.Fetched+1, done.Bytes+p.Bytes
		case errors.Is(err, evidence.ErrMissing):
			done.Missing, err = done.Missing+1, nil
		}
	}
	return done, err
}
