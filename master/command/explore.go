package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/document"
	"amazonsfarm/master/loop"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
)

// exploreCommand looks at a position from two sides with one answer: a serving master builds the
// message from its tree, and campaign.OpenReader builds the same message from a store.
func exploreCommand() *cobra.Command {
	var (
		master              remote
		storeFile, campaign string
		view                view
	)
	c := &cobra.Command{
		Use:     "explore [MOVE...]",
		Short:   "Show a position of a campaign and its moves: values, proof numbers, nodes",
		Long:    long("explore"),
		Example: "  master explore --store 6x5.db B1-B4xB3 --top 50",
		RunE: func(c *cobra.Command, moves []string) error {
			if storeGiven(c) && c.Flags().Changed("master") {
				return cli.Usagef("--master and --store: choose one")
			}
			ctx, _, stop := cli.Signals(c.Context())
			defer stop()
			var r *farmv1.ExploreResponse
			var err error
			if storeFile != "" && !c.Flags().Changed("master") {
				r, err = exploreStore(storeFile, campaign, moves)
			} else {
				r, err = ask(ctx, &master, farmv1.ControlClient.Explore,
					&farmv1.ExploreRequest{Moves: moves, Campaign: campaign})
			}
			if err != nil {
				return err
			}
			p, err := amazons.ParsePosition(r.GetPosition())
			if err != nil {
				return fmt.Errorf("the master's answer: %w", err)
			}
			return view.show(c, p, nil, document.OfPosition(p, r), exploreReport(p, r, view.top))
		},
	}
	master.add(c)
	c.Flags().StringVar(&storeFile, "store", "", "read the store in `FILE` instead of asking a master")
	c.Flags().StringVar(&campaign, "campaign", "", "look at the campaign `NAME` (default: the first)")
	view.add(c)
	return c
}

// exploreStore finds the position after some moves in a store that no master has open.
func exploreStore(file, name string, moves []string) (*farmv1.ExploreResponse, error) {
	r, err := campaign.OpenReader(file, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	way, _, err := loop.Follow(r.Root, moves)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return r.Explore(way), nil
}

// exploreReport is the position in text: the board, what is known, and a table of its moves.
func exploreReport(p amazons.Position, r *farmv1.ExploreResponse, top int) string {
	var s strings.Builder
	s.WriteString(p.Text())
	k := r.GetKnown()
	fmt.Fprintf(&s, "\nposition       %s\n", p)
	fmt.Fprintf(&s, "value          %s", eval.Verdict(k.GetVerdict()))
	if k.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED {
		fmt.Fprintf(&s, " for the side to move, by %s", k.GetBasis())
	}
	fmt.Fprintf(&s, "\nproof number   %s, disproof number %s\n", numberText(k.GetPhi()), numberText(k.GetDelta()))
	fmt.Fprintf(&s, "nodes          %s\n", atLeast(k.GetNodes(), k.GetAtLeast()))
	if line := r.GetLine(); len(line) > 0 {
		fmt.Fprintf(&s, "play           %s\n", strings.Join(line, " "))
	}
	outcomes := make([]string, len(r.GetMoves()))
	for i, m := range r.GetMoves() {
		outcomes[i] = document.MoveWord(m)
	}
	s.WriteString(outcomesLine(outcomes) + "\n")
	if len(outcomes) == 0 {
		return s.String()
	}
	var rows [][]any
	for _, m := range r.GetMoves() {
		k := m.GetAfter()
		rows = append(rows, []any{m.GetMove(), document.MoveWord(m), numberText(k.GetPhi()), numberText(k.GetDelta()),
			atLeast(k.GetNodes(), k.GetAtLeast()), stateText(k)})
	}
	return s.String() + table(top, "move|outcome|proof number|disproof number|nodes|state", rows)
}

// stateText says what is being done about a position.
func stateText(k *farmv1.Known) string {
	switch {
	case k.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED:
		return "by " + k.GetBasis()
	case k.GetLeased():
		return "leased"
	case k.GetSetAside():
		return "set aside"
	case k.GetExpanded():
		return "expanded"
	case k.GetNodes() > 0:
		return "searched"
	}
	return "untouched"
}
