package command

import (
	"context"

	"github.com/spf13/cobra"

	"amazonsfarm/master/archive"
	"amazonsfarm/shared/cli"
)

// importCommand makes a store from an archive of "store export".
func importCommand() *cobra.Command {
	var storeFile, parts string
	c := &cobra.Command{
		Use:   "import ARCHIVE --store NEW.db",
		Short: "Make a store from an archive of \"master store export\", and go on",
		Long:  help.Long("import"),
		Args:  cobra.ExactArgs(1),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
		if storeFile == "" {
			return cli.Usagef("give the new store with --store FILE")
		}
		if parts != "" && !isFolder(parts) {
			return cli.Usagef("--parts %s: there is no such folder", parts)
		}
		hide := showTime(ctx, c, "importing")
		r, err := archive.Import(ctx, args[0], storeFile, parts)
		if hide(); err != nil {
			return copyError(err)
		}
		return cli.Answer(c, *asJSON, r, r.String())
	})
	c.Flags().StringVar(&storeFile, "store", "", "make the store `FILE`")
	c.Flags().StringVar(&parts, "parts", "", "take the parts in `FOLDER` (default: none)")
	return c
}
