package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"amazonsfarm/master/forecast"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
)

// forecastCommand estimates the work of a question.
func forecastCommand() *cobra.Command {
	var moves []string
	o := forecast.Options{}
	table := cli.TableSize{Bytes: 64 << 20}
	c := &cobra.Command{
		Use:   "forecast BOARD|POSITION",
		Short: "Estimate the work of a question from short searches",
		Long:  help.Long("forecast"),
		Args:  cobra.ExactArgs(1),
	}
	answering(c, func(ctx context.Context, c *cobra.Command, args []string) (r forecast.Report, err error) {
		q, err := parseQuestion("", args[0], moves, amazons.Position.CheckQueens)
		if err != nil {
			return r, err
		}
		if err := chooseTable(&table, c.ErrOrStderr(), 1); err != nil {
			return r, err
		}
		o.TableBytes = table.Bytes
		defer showTime(ctx, c, "searching along random lines")()
		if r, err = forecast.Run(ctx, q.root, q.firstMoves, o); errors.Is(err, forecast.ErrNodes) {
			err = cli.Usagef("%w; give more with --nodes", err)
		}
		return r, err
	})
	c.Flags().StringArrayVar(&moves, "first-move", nil, "ask about this `MOVE` at the root; may be repeated")
	c.Flags().Uint64Var(&o.Nodes, "nodes", 2_000_000, "search `NODES` in all")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "choose lines by this `NUMBER`")
	c.Flags().Var(&table, "table", "use a table of `SIZE`, "+cli.TableHelp)
	return c
}
