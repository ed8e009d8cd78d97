package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/document"
	"amazonsfarm/master/explore"
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
		Long:    help.Long("explore"),
		Example: "  master explore --store 6x5.db B1-B4xB3 --top 50",
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, moves []string) error {
			if storeGiven(c) && given(c, "master", "AMAZONS_MASTER") {
				return cli.Usagef("--master and --store: choose one")
			}
			var r *farmv1.ExploreResponse
			var err error
			if storeGiven(c) || storeFile != "" && !c.Flags().Changed("master") {
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
			var last *amazons.Move
			if len(moves) > 0 {
				m, err := amazons.ParseMove(p.Board, moves[len(moves)-1])
				if err != nil {
					return cli.Usagef("move %d: %w", len(moves), err)
				}
				last = &m
			}
			d := document.OfPosition(p, r)
			return view.show(c, p, last, d, exploreReport(p, last, d, view.top))
		}),
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
	way, _, err := explore.Follow(r.Root, moves)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return r.Explore(way), nil
}

// exploreReport is the position in text: the board, what is known, and a table of its moves.
func exploreReport(p amazons.Position, last *amazons.Move, d document.Position, top int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s\nposition       %s\n", boardText(p, last), p)
	fmt.Fprintf(&s, "value          %s", d.Verdict)
	if d.Verdict != eval.Open.String() {
		fmt.Fprintf(&s, " for the side to move, by %s", d.Basis)
	}
	fmt.Fprintf(&s, "\nproof number   %s, disproof number %s\n", numberText(d.Phi), numberText(d.Delta))
	fmt.Fprintf(&s, "nodes          %s\n", atLeast(d.Nodes, d.AtLeast))
	if len(d.Line) > 0 {
		fmt.Fprintf(&s, "play           %s\n", strings.Join(d.Line, " "))
	}
	s.WriteString(movesReport(top, "proof number|disproof number|nodes|state", d.Moves,
		func(m document.Move[document.Known]) []any {
			k := m.Then
			return []any{numberText(k.Phi), numberText(k.Delta), atLeast(k.Nodes, k.AtLeast), stateText(k)}
		}))
	return s.String()
}

// stateText says what is being done about a position.
func stateText(k document.Known) string {
	switch {
	case k.Verdict != eval.Open.String():
		return "by " + k.Basis
	case k.Leased:
		return "leased"
	case k.SetAside:
		return "set aside"
	case k.Expanded:
		return "expanded"
	case k.Claimed:
		return "claimed"
	case k.Nodes > 0:
		return "searched"
	}
	return "untouched"
}
