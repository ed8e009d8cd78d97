package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/web"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// webCommand is about the pages without a master.
func webCommand() *cobra.Command {
	return group("web", "Write a settled proof as a site of its own", webExportCommand())
}

// webExportCommand writes a site that any file server serves.
func webExportCommand() *cobra.Command {
	var (
		store, campaignName, wasm string
		positions                 int
	)
	c := &cobra.Command{
		Use:   "export FOLDER FILE|--store FILE",
		Short: "Write a site from a certificate: explorer, play, figures and checker",
		Long:  help.Long("web-export"),
		Example: `  master web export site 5x5.proof
  python3 -m http.server --directory site 8000`,
		Args: cobra.RangeArgs(1, 2),
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			var cert proof.Certificate
			var from string
			var err error
			hide := showTime(ctx, c, "writing the site")
			defer hide()
			switch {
			case len(args) == 2 && storeGiven(c), len(args) == 1 && store == "":
				err = errOneProof
			case len(args) == 2 && isStore(args[1]):
				err = cli.Usagef("%s is a store: write --store %s", args[1], cli.Quoted(args[1]))
			case len(args) == 2:
				from = args[1]
				cert, err = proof.ReadWhole(ctx, from, proof.OneFilePositions)
			default:
				cert, from, err = campaign.ReadCertificate(ctx, store, campaignName)
			}
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(filepath.Base(from), filepath.Ext(from)) + ".proof"
			site := web.Site{Certificate: &cert, Name: name, Positions: positions}
			if wasm != "" {
				site.Checker = os.DirFS(wasm)
			}
			about, err := web.Export(ctx, args[0], site)
			hide()
			switch {
			case errors.Is(err, web.ErrNoChecker):
				return cli.Usagef("%w: make it with scripts/wasm FOLDER and give --wasm FOLDER", err)
			case errors.Is(err, web.ErrNotEmpty):
				return cli.Usagef("%w: give a new folder", err)
			case errors.Is(err, fs.ErrNotExist) && wasm != "":
				return cli.Usagef("--wasm %s: %w; scripts/wasm FOLDER makes it", wasm, err)
			case checker.Refutes(err):
				return cli.As(cli.ErrVerification, err)
			case err != nil:
				return err
			}
			out := c.OutOrStdout()
			fmt.Fprintf(out, "%s: %d positions, checked; open its index.html through a web server\n", args[0],
				about.Certificate.Positions)
			if about.Cut > 0 {
				fmt.Fprintf(out, "the explorer goes down to %d arrows; --positions allows more\n", about.Cut)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&store, "store", "", "write the proof of a settled campaign in `FILE`")
	c.Flags().StringVar(&campaignName, "campaign", "", "with --store, that of the campaign `NAME` (default: the first)")
	c.Flags().StringVar(&wasm, "wasm", "", "take the checker for browsers from `FOLDER`, made by scripts/wasm")
	cli.Ranged(c.Flags(), c.Flags().IntVar, "positions", &positions, 500_000, 1, 1<<24,
		"let the explorer carry `N` positions; visitors load some 4 bytes of each")
	return c
}
