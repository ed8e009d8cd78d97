package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

// quarantineCommand shows the list, and "lift" takes a party off it. Both answer with the parties that
// they are about.
func quarantineCommand() *cobra.Command {
	c := quarantineCall(&cobra.Command{
		Use:   "quarantine",
		Short: "Show which parties may not join any more, and why",
		Long:  long("quarantine"),
		Args:  cobra.NoArgs,
	}, "", func(ctx context.Context, client farmv1.ControlClient, _ []string) (*farmv1.QuarantinesResponse, error) {
		return client.Quarantines(ctx, &farmv1.QuarantinesRequest{})
	})
	c.AddCommand(quarantineCall(&cobra.Command{
		Use:   "lift NAME",
		Short: "Let a party join again",
		Args:  cobra.ExactArgs(1),
	}, "released: ", func(ctx context.Context, client farmv1.ControlClient, args []string) (*farmv1.QuarantinesResponse,
		error) {
		r, err := client.Release(ctx, &farmv1.ReleaseRequest{Name: args[0]})
		if status.Code(err) == codes.NotFound { // the name is wrong
			err = cli.Usagef("%s", status.Convert(err).Message())
		}
		return r, err
	}))
	return c
}

// quarantineCall makes a command call a master and print the quarantines that it answers with, each
// after a word.
func quarantineCall(c *cobra.Command, word string, do func(context.Context, farmv1.ControlClient,
	[]string) (*farmv1.QuarantinesResponse, error)) *cobra.Command {
	var master remote
	var asJSON bool
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := ask(c.Context(), &master, func(ctx context.Context,
			client farmv1.ControlClient) (*farmv1.QuarantinesResponse, error) {
			return do(ctx, client, args)
		})
		if err != nil {
			return err
		}
		var s strings.Builder
		for _, q := range r.GetQuarantines() {
			since := time.Unix(q.GetSince(), 0).UTC().Format(time.RFC3339)
			fmt.Fprintf(&s, "%s%s since %s, for %s, the last of the kind %s by %s from %s: %s\n", word,
				document.PartyOf(q), since, counted(q.GetOffences(), "offence"), q.GetOffence(), q.GetWorker(),
				q.GetAddress(), q.GetWhy())
		}
		if s.Len() == 0 {
			s.WriteString("no party is quarantined\n")
		}
		return answer(c, asJSON, document.OfQuarantines(r), s.String())
	}
	master.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "answer as JSON")
	return c
}
