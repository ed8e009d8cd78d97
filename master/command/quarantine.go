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
			fmt.Fprintf(c.OutOrStdout(), "%s since %s, for %s, the last of the kind %s by %s from %s: %s\n",
				done+document.PartyOf(q),
				time.Unix(q.GetSince(), 0).UTC().Format(time.RFC3339), counted(q.GetOffences(), "offence"), q.GetOffence(), q.GetWorker(),
				q.GetAddress(), q.GetWhy())
		}
		if len(r.GetQuarantines()) == 0 {
			fmt.Fprintln(c.OutOrStdout(), "no party is quarantined")
		}
		return nil
	}
	c := &cobra.Command{
		Use:   "quarantine",
		Short: "Show which parties may not join any more, and why",
		Long:  long("quarantine"),
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return answer(c, func(ctx context.Context, client farmv1.ControlClient) (*farmv1.QuarantinesResponse,
				error) {
				return client.Quarantines(ctx, &farmv1.QuarantinesRequest{})
			}, "")
		},
	}
	lift := &cobra.Command{
		Use:   "lift NAME",
		Short: "Let a party join again",
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
