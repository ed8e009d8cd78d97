package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amazonsfarm/master/document"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

// quarantineCommand shows the list, and "lift" takes a party off it. Both answer with the parties that
// they are about.
func quarantineCommand() *cobra.Command {
	c := calling(&cobra.Command{
		Use:   "quarantine",
		Short: "Show which parties may not join any more, and why",
		Long:  help.Long("quarantine"),
		Args:  cobra.NoArgs,
	}, farmv1.ControlClient.Quarantines,
		func([]string) *farmv1.QuarantinesRequest { return &farmv1.QuarantinesRequest{} }, quarantines(""))
	c.AddCommand(calling(&cobra.Command{Use: "lift NAME", Short: "Let a party join again", Args: cobra.ExactArgs(1)},
		farmv1.ControlClient.Release,
		func(args []string) *farmv1.ReleaseRequest { return &farmv1.ReleaseRequest{Name: args[0]} },
		quarantines("released: ")))
	return c
}

// quarantines shows a master's answer, a line for each party, which begins with a word.
func quarantines(word string) func(*farmv1.QuarantinesResponse) (any, string) {
	return func(r *farmv1.QuarantinesResponse) (any, string) {
		var s strings.Builder
		for _, q := range r.GetQuarantines() {
			since := time.Unix(q.GetSince(), 0).UTC().Format(time.RFC3339)
			fmt.Fprintf(&s, "%s%s since %s, for %s, the last of the kind %s by %s from %s: %s\n", word,
				trust.Party{Name: q.GetName(), Credential: q.GetCredential()}, since,
				cli.Counted(q.GetOffences(), "offence"), q.GetOffence(), q.GetWorker(), q.GetAddress(), q.GetWhy())
		}
		if s.Len() == 0 {
			s.WriteString("no party is quarantined\n")
		}
		return document.OfQuarantines(r), s.String()
	}
}
