package command

import (
	"github.com/spf13/cobra"

	"amazonsfarm/master/document"
	"amazonsfarm/master/store"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
)

// campaignCommand adds, lists and changes the campaigns of a serving master.
func campaignCommand() *cobra.Command {
	return group("campaign", "Add campaigns to a serving master, list them, and divide the work among them",
		campaignAdd(), campaignSet(),
		calling(&cobra.Command{Use: "list", Short: "List the campaigns of a serving master", Args: cobra.NoArgs},
			farmv1.ControlClient.Status, func([]string) *farmv1.StatusRequest { return &farmv1.StatusRequest{} },
			func(r *farmv1.StatusResponse) (any, string) {
				return document.OfCampaigns(r.GetCampaigns()), campaignTable(r.GetCampaigns())
			}),
		control(&cobra.Command{Use: "pause CAMPAIGN", Args: oneName,
			Short: "Grant no new leases of a campaign; running ones go on"},
			farmv1.ControlClient.Pause,
			func(args []string) *farmv1.PauseRequest { return &farmv1.PauseRequest{Campaign: args[0]} }),
		control(&cobra.Command{Use: "resume CAMPAIGN", Short: "End the pause of a campaign", Args: oneName},
			farmv1.ControlClient.Resume,
			func(args []string) *farmv1.ResumeRequest { return &farmv1.ResumeRequest{Campaign: args[0]} }),
		control(&cobra.Command{Use: "end CAMPAIGN", Args: oneName,
			Short: "End a campaign for good and cancel its leases; its facts stay in the store"},
			farmv1.ControlClient.EndCampaign,
			func(args []string) *farmv1.EndCampaignRequest { return &farmv1.EndCampaignRequest{Campaign: args[0]} }))
}

// oneName accepts one name. An empty one would stand for all campaigns.
func oneName(c *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] == "" {
		return cli.Usagef("name a campaign")
	}
	return cobra.ExactArgs(1)(c, args)
}

// campaignAdd checks the question here, so that a wrong position is refused without a master.
func campaignAdd() *cobra.Command {
	r := new(farmv1.AddCampaignRequest)
	var check func(amazons.Position) error
	c := control(&cobra.Command{
		Use:   "add BOARD|POSITION",
		Short: "Add a campaign to a serving master",
		Args:  cobra.ExactArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			_, err := parseQuestion("", args[0], r.FirstMoves, check)
			return err
		},
	}, farmv1.ControlClient.AddCampaign, func(args []string) *farmv1.AddCampaignRequest {
		r.Position = args[0]
		return r
	})
	c.Flags().StringVar(&r.Name, "name", "", "call it `NAME`, of letters, digits, . - _ (default: its board)")
	c.Flags().StringArrayVar(&r.FirstMoves, "first-move", nil, "try only this `MOVE` at the root; may be repeated")
	c.Flags().BoolVar(&r.RulesOnly, "rules-only", false, "prove by the rules alone, without the counting lemma")
	check = cli.AnyPosition(c.Flags())
	weightFlags(c, &r.Priority, &r.Share, "0", "100")
	return c
}

// weightFlags defines how the work is divided: strictly by priority, then by shares. usual and even are the
// priority and the share where none is given, in words. The master says which values it accepts.
func weightFlags(c *cobra.Command, priority *int32, share *uint32, usual, even string) {
	c.Flags().Int32Var(priority, "priority", 0,
		"serve campaigns of a higher priority `N` first; may be negative (default: "+usual+")")
	cli.Ranged(c.Flags(), c.Flags().Uint32Var, "share", share, 0, 1, store.MaxShare,
		"weigh it with `N` among the campaigns of its priority (default: "+even+")")
}

// campaignSet sends only what was given: a flag that is left out changes nothing.
func campaignSet() *cobra.Command {
	var priority int32
	var share uint32
	c := &cobra.Command{Use: "set CAMPAIGN", Short: "Change the priority or the share of a campaign", Args: oneName,
		PreRunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("priority") && !c.Flags().Changed("share") {
				return cli.Usagef("give --priority or --share: without them nothing changes")
			}
			return nil
		}}
	weightFlags(c, &priority, &share, "as it is", "as it is")
	return control(c, farmv1.ControlClient.SetCampaign, func(args []string) *farmv1.SetCampaignRequest {
		r := &farmv1.SetCampaignRequest{Campaign: args[0]}
		if c.Flags().Changed("priority") {
			r.Priority = &priority
		}
		if c.Flags().Changed("share") {
			r.Share = &share
		}
		return r
	})
}
