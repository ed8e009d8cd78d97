package rpc

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// The tree of a campaign that is over would be the largest part of a master's memory that nobody
// needs: it is put away once the campaign is concluded, or given up and all of its leases are back.
// Its last status stays. Who explores it has it read from the store again, one tree at a time, and
// for as long as somebody looks. A campaign that was stopped keeps its tree: a person has to look
// at it.
//
// Facts of other campaigns of its board cannot contradict the facts of a released one without the
// others noticing it: those that take them have all of its facts that may come after their own
// roots. One that contradicts what it knew by the rules or by children, which no certificate that
// was verified does, is found when its tree is read again.

// release puts away the trees of campaigns that are over, unless something is still to be written
// or done.
func (m *Master) release() {
	for _, c := range m.campaigns() {
		if m.cfg.Campaigns == nil || len(m.pending.persist)+len(m.pending.memories)+len(m.pending.after) > 0 {
			return
		}
		if c.Tree == nil || c.stopped != nil || !c.over() || c.leased() > 0 {
			continue
		}
		c.rest = c.Tree.Status()
		c.rest.Workers, c.rest.Unchecked, c.rest.Stretch = nil, 0, 1
		m.take(nil, 0, m.plan.Remove(c.Number))
		c.Tree, c.evidence, c.expired = nil, Evidence{}, nil
		m.cfg.Log.Info("the campaign is over, and its tree put away", "campaign", c.Name, "positions", c.rest.Nodes)
	}
}

// stopReleased stops the campaigns without a tree whose facts are among those that contradict each
// other, also for later masters.
func (m *Master) stopReleased(facts uint32, e tree.Contradiction) {
	for _, c := range m.campaigns() {
		if c.Facts == facts && c.Tree == nil && c.stopped == nil {
			m.pending.persist = append(m.pending.persist, tree.Persist{Campaign: c.Number, Spent: c.rest.Spent,
				Contradiction: &e})
			m.pending.after = append(m.pending.after, func() { m.act(c, e) })
		}
	}
}

// leased returns the leases that are out.
func (c *campaign) leased() int {
	if c.Tree == nil {
		return 0
	}
	return c.Tree.Leased()
}

// searched returns the nodes of all leases.
func (c *campaign) searched() uint64 {
	if c.Tree == nil {
		return c.rest.Spent
	}
	return c.Tree.AllNodes()
}

// status returns that of the tree, or its last one.
func (c *campaign) status() tree.Status {
	if c.Tree == nil {
		return c.rest
	}
	return c.Tree.Status()
}

// explore looks at what the tree knows, if there is one.
func (c *campaign) explore(way []amazons.Position) explored {
	if c.Tree == nil {
		return explored{released: true}
	}
	return explore(c.Tree, way)
}

// regrown is a tree that was read again.
type regrown struct {
	campaign uint32 // whose it is
	tree     *tree.Tree
	idle     int // ticks since somebody looked
}

// exploreReleased explores a campaign whose tree was put away. Errors are those of ctx, and of
// reading the store.
func (m *Master) exploreReleased(ctx context.Context, c *campaign, way []amazons.Position) (explored, error) {
	type answer struct {
		explored
		err error
	}
	done := make(chan answer, 1)
	select {
	case shown := <-m.shown:
		// Reading takes the longer the larger the tree is; if nobody waits so long, the next one
		// who asks has it.
		go func() {
			var a answer
			if shown.tree == nil || shown.campaign != c.Number {
				*shown = regrown{}
				var grown Campaign
				grown, a.err = m.cfg.Campaigns.Grow(Campaign{Number: c.Number, Name: c.Name, Root: c.Root,
					FirstMoves: c.FirstMoves, RulesOnly: c.RulesOnly, Facts: c.Facts})
				*shown = regrown{campaign: c.Number, tree: grown.Tree}
			}
			if a.err == nil {
				a.explored = explore(shown.tree, way)
			}
			shown.idle = 0
			m.shown <- shown
			done <- a
		}()
	case <-ctx.Done():
		return explored{}, status.FromContextError(ctx.Err()).Err()
	}
	select {
	case a := <-done:
		if a.err != nil {
			return explored{}, status.Errorf(codes.Internal,
				"the tree of campaign %s cannot be read from the store: %v", c.Name, a.err)
		}
		return a.explored, nil
	case <-ctx.Done():
		return explored{}, status.FromContextError(ctx.Err()).Err()
	}
}

// hide lets go of a tree that nobody has looked at for a while.
func (m *Master) hide() {
	select {
	case shown := <-m.shown:
		if shown.idle++; shown.idle > m.cfg.ShownTicks {
			*shown = regrown{}
		}
		m.shown <- shown
	default: // somebody looks
	}
}
