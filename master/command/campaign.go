package command

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

// campaignCommand adds, lists and changes the campaigns of a serving master. pause, resume and end are
// one call each and share control.
func campaignCommand() *cobra.Command {
	c := group("campaign", "Add campaigns to a serving master, list them, and divide the work among them",
		campaignAdd(), campaignList(), campaignSet())
	change := func(use, short string, do func(context.Context, farmv1.ControlClient, string) (*farmv1.StatusResponse,
		error)) {
		c.AddCommand(control(&cobra.Command{Use: use + " CAMPAIGN", Short: short, Args: cobra.ExactArgs(1)},
			func(ctx context.Context, client farmv1.ControlClient, args []string) (*farmv1.StatusResponse, error) {
				if args[0] == "" {
					return nil, status.Error(codes.InvalidArgument, "name a campaign")
				}
				return do(ctx, client, args[0])
			}))
	}
	change("pause", "Grant no new leases of a campaign; running ones go on",
		func(ctx context.Context, c farmv1.ControlClient, name string) (*farmv1.StatusResponse, error) {
			return c.Pause(ctx, &farmv1.PauseRequest{Campaign: name})
		})
	change("resume", "End the pause of a campaign", func(ctx context.Context, c farmv1.ControlClient,
		name string) (*farmv1.StatusResponse, error) {
		return c.Resume(ctx, &farmv1.ResumeRequest{Campaign: name})
	})
	change("end", "End a campaign for good and cancel its leases; its facts stay in the store",
		func(ctx context.Context, c farmv1.ControlClient, name string) (*farmv1.StatusResponse, error) {
			return c.EndCampaign(ctx, &farmv1.EndCampaignRequest{Campaign: name})
		})
	return c
}

// checkWeight refuses priorities and shares that do not fit in a message; the master says what else
// is wrong with them.
func checkWeight(priority, share int) error {
	switch {
	case priority != int(int32(priority)):
		return cli.Usagef("--priority %d: it must be from -1000000 to 1000000", priority)
	case share < 0 || share != int(uint32(share)):
		return cli.Usagef("--share %d: it must be from 1 to 1000000", share)
	}
	return nil
}

// campaignAdd checks the question here, so that a wrong position is refused without a master.
func campaignAdd() *cobra.Command {
	var (
		name            string
		moves           []string
		rulesOnly       bool
		priority, share int
	)
	c := &cobra.Command{
		Use:   "add BOARD|POSITION",
		Short: "Add a campaign to a serving master",
		Args:  cobra.ExactArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if _, err := parseQuestion(args[0], moves); err != nil {
				return err
			}
			return checkWeight(priority, share)
		},
	}
	control(c, func(ctx context.Context, client farmv1.ControlClient, args []string) (*farmv1.StatusResponse, error) {
		return client.AddCampaign(ctx, &farmv1.AddCampaignRequest{Name: name, Position: args[0], FirstMoves: moves,
			RulesOnly: rulesOnly,
			Priority:  int32(priority), Share: uint32(share)})
	})
	c.Flags().StringVar(&name, "name", "", "call it `NAME`, of letters, digits, . - _ (default: its board)")
	c.Flags().StringArrayVar(&moves, "first-move", nil, "try only this `MOVE` at the root; may be repeated")
	c.Flags().BoolVar(&rulesOnly, "rules-only", false, "prove by the rules alone, without the counting lemma")
	weightFlags(c, &priority, &share)
	return c
}

// weightFlags defines how the work is divided: strictly by priority, then by shares.
func weightFlags(c *cobra.Command, priority, share *int) {
	c.Flags().IntVar(priority, "priority", 0, "serve campaigns of a higher priority first; may be negative")
	c.Flags().IntVar(share, "share", 0, "give it `N` parts of the work of its priority (default 100)")
}

// campaignSet sends only what was given: a flag that is left out changes nothing.
func campaignSet() *cobra.Command {
	var priority, share int
	c := &cobra.Command{
		Use:     "set CAMPAIGN",
		Short:   "Change the priority or the share of a campaign",
		Args:    cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error { return checkWeight(priority, share) },
	}
	control(c, func(ctx context.Context, client farmv1.ControlClient, args []string) (*farmv1.StatusResponse, error) {
		r := &farmv1.SetCampaignRequest{Campaign: args[0]}
		if c.Flags().Changed("priority") {
			r.Priority = new(int32(priority))
		}
		if c.Flags().Changed("share") {
			r.Share = new(uint32(share))
		}
		return client.SetCampaign(ctx, r)
	})
	weightFlags(c, &priority, &share)
	return c
}

// campaignList shows the campaigns in the order in which they were added.
func campaignList() *cobra.Command {
	var master remote
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the campaigns of a serving master",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := ask(c.Context(), &master, func(ctx context.Context,
				client farmv1.ControlClient) (*farmv1.StatusResponse, error) {
				return client.Status(ctx, &farmv1.StatusRequest{})
			})
			if err != nil {
				return err
			}
			all := r.GetCampaigns()
			return answer(c, asJSON, document.OfCampaigns(all), campaignTable(all))
		},
	}
	master.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "answer as one JSON document")
	return c
}
