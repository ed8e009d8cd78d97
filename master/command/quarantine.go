package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

// quarantineCommand shows the list, and "lift" takes a party off it. Both answer with the parties that
// they are about.
func quarantineCommand() *cobra.Command {
	c := calling(&cobra.Command{
		Use:   "quarantine",
		Short: "Show which parties may not join any more, and why",
		Long:  long("quarantine"),
		Args:  cobra.NoArgs,
	}, farmv1.ControlClient.Quarantines,
		func([]string) *farmv1.QuarantinesRequest { return &farmv1.QuarantinesRequest{} }, quarantines(""))
	c.AddCommand(calling(&cobra.Command{Use: "lift NAME", Short: "Let a party join again", Args: cobra.ExactArgs(1)},
		release, func(args []string) *farmv1.ReleaseRequest { return &farmv1.ReleaseRequest{Name: args[0]} },
		quarantines("released: ")))
	return c
}

// release calls a master. A name that is not quarantined is a wrong input.
func release(client farmv1.ControlClient, ctx context.Context, r *farmv1.ReleaseRequest,
	options ...grpc.CallOption) (*farmv1.QuarantinesResponse, error) {
	list, err := client.Release(ctx, r, options...)
	if status.Code(err) == codes.NotFound {
		err = cli.Usagef("%s", status.Convert(err).Message())
	}
	return list, err
}

// quarantines shows a master's answer, a line for each party, which begins with a word.
func quarantines(word string) func(*farmv1.QuarantinesResponse) (any, string) {
	return func(r *farmv1.QuarantinesResponse) (any, string) {
		var s strings.Builder
		for _, q := range r.GetQuarantines() {
			since := time.Unix(q.GetSince(), 0).UTC().Format(time.RFC3339)
			fmt.Fprintf(&s, "%s%s since %s, for %s, the last of the kind %s by %s from %s: %s\n", word,
				document.PartyOf(q), since, cli.Counted(q.GetOffences(), "offence"), q.GetOffence(), q.GetWorker(),
				q.GetAddress(), q.GetWhy())
		}
		if s.Len() == 0 {
			s.WriteString("no party is quarantined\n")
		}
		return document.OfQuarantines(r), s.String()
	}
}
