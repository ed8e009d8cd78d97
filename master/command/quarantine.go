package command

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

func quarantineCommand() *cobra.Command {
	var master remote
	var asJSON bool
	answer := func(c *cobra.Command, do func(context.Context, farmv1.ControlClient) (*farmv1.QuarantinesResponse,
		error), done string) error {
		r, err := ask(c.Context(), &master, do)
		if status.Code(err) == codes.NotFound {
			return cli.Usagef("%s", status.Convert(err).Message())
		} else if err != nil {
			return callError(master.address, err)
		}
		if asJSON {
			return json.NewEncoder(c.OutOrStdout()).Encode(document.OfQuarantines(r))
		}
		for _, q := range r.GetQuarantines() {
			fmt.Fprintf(c.OutOrStdout(), "%s since %s, for %d offences, the last of the kind %s by %s from %s: %s\n",
				done+document.PartyOf(q),
				time.Unix(q.GetSince(), 0).UTC().Format(time.RFC3339), q.GetOffences(), q.GetOffence(), q.GetWorker(),
				q.GetAddress(), q.GetWhy())
		}
		if len(r.GetQuarantines()) == 0 {
			fmt.Fprintln(c.OutOrStdout(), "nobody is quarantined")
		}
		return nil
	}
	c := &cobra.Command{
		Use:   "quarantine",
		Short: "Show whose workers may not join any more, and why",
		Long: `quarantine lists the certificates whose workers a serving master has sent away for what no sound worker does: with --credentials all workers with a
certificate of that name, whatever they call themselves, and without certificates those of a name. It is kept in the store. "quarantine lift" lets
them join again.

` + cli.ExitHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return answer(c, func(ctx context.Context, client farmv1.ControlClient) (*farmv1.QuarantinesResponse,
				error) {
				return client.Quarantines(ctx, &farmv1.QuarantinesRequest{})
			}, "")
		},
	}
	lift := &cobra.Command{
		Use:   "lift NAME",
		Short: "Let the workers of a name join again",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return answer(c, func(ctx context.Context, client farmv1.ControlClient) (*farmv1.QuarantinesResponse,
				error) {
				return client.Release(ctx, &farmv1.ReleaseRequest{Name: args[0]})
			}, "released: ")
		},
	}
	for _, x := range []*cobra.Command{c, lift} {
		master.add(x)
		x.Flags().BoolVar(&asJSON, "json", false, "answer as JSON")
	}
	c.AddCommand(lift)
	return c
}
