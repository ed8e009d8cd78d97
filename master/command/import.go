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
	answering(c, func(ctx context.Context, c *cobra.Command, args []string) (r archive.Imported, err error) {
		if storeFile == "" {
			return r, cli.Usagef("give the new store with --store FILE")
		}
		if parts != "" && !isFolder(parts) {
			return r, cli.Usagef("--parts %s: there is no such folder", parts)
		}
		if err := cli.CheckOutput("--store ", storeFile); err != nil {
			return r, err
		}
		defer showTime(ctx, c, "importing")()
		r, err = archive.Import(ctx, args[0], storeFile, parts)
		return r, copyError(err)
	})
	c.Flags().StringVar(&storeFile, "store", "", "make the store `FILE`")
	c.Flags().StringVar(&parts, "parts", "", "take the parts in `FOLDER` (default: none)")
	return c
}
