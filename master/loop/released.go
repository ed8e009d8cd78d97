package loop

import (
	"context"
	"fmt"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// The tree of a campaign that is over would be the largest part of a master's memory that nobody
// needs: it is put away once the campaign is concluded, or given up and all of its leases are back.
// Its last status stays. For people who explore it, it is read from the store again, one tree at a
// time, and kept for as long as somebody looks. A campaign that was stopped keeps its tree: a person
// has to look at it.
//
// Facts of other campaigns of its pool cannot contradict the facts of a released one without the
// others noticing it: the others have all of its facts that may come after their own roots. A fact
// that contradicts what the released tree knew by the rules or by children, which no verified
// certificate does, is found when its tree is read again.

// release puts away the trees of campaigns that are over, unless something is still to be written or
// done.
func (l *Loop) release() {
	for _, c := range l.campaigns() {
		if l.cfg.Campaigns == nil || l.pending.unwritten() || len(l.pending.after) > 0 {
			return
		}
		if c.Tree == nil || c.stopped != nil || !c.over() || c.leased() > 0 {
			continue
		}
		c.rest = c.Tree.Status()
		c.rest.Workers, c.rest.Unchecked, c.rest.Stretch = nil, 0, 1
		l.take(nil, 0, l.plan.Remove(c.Number), nil)
		c.Tree, c.evidence, c.counted.expired = nil, Evidence{}, nil
		l.cfg.Log.Info("the campaign is over; its tree left the memory", "campaign", c.Name, "positions", c.rest.Nodes)
	}
}

// stopReleased stops the campaigns without a tree whose facts are among those that contradict each
// other, also for later masters.
func (l *Loop) stopReleased(pool uint32, e tree.Contradiction) {
	for _, c := range l.campaigns() {
		if c.Pool == pool && c.Tree == nil && c.stopped == nil {
			l.pending.persist = append(l.pending.persist, tree.Persist{Campaign: c.Number, Spent: c.rest.Spent,
				Contradiction: &e})
			l.pending.after = append(l.pending.after, consequence{c, e})
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

// regrown is a tree that was read again.
type regrown struct {
	campaign uint32 // whose it is
	tree     *tree.Tree
	idle     int // ticks since somebody looked
}

// exploreReleased explores a campaign whose tree was put away. Errors are those of ctx, and of reading
// the store.
func (l *Loop) exploreReleased(ctx context.Context, c *campaign, way []amazons.Position) (explore.Explored, error) {
	done := make(chan answered[explore.Explored], 1)
	select {
	case shown := <-l.shown:
		// Reading takes the longer the larger the tree is; if nobody waits so long, the next person
		// who asks has it.
		go func() {
			var a answered[explore.Explored]
			if shown.tree == nil || shown.campaign != c.Number {
				*shown = regrown{}
				var grown Campaign
				grown, a.err = l.cfg.Campaigns.Grow(c.Number)
				*shown = regrown{campaign: c.Number, tree: grown.Tree}
			}
			if a.err == nil {
				a.value = explore.Tree(shown.tree, way)
			}
			shown.idle = 0
			l.shown <- shown
			done <- a
		}()
	case <-ctx.Done():
		return explore.Explored{}, ctx.Err()
	}
	select {
	case a := <-done:
		if a.err != nil {
			return explore.Explored{}, fmt.Errorf("the tree of campaign %s cannot be read from the store: %v", c.Name,
				a.err)
		}
		return a.value, nil
	case <-ctx.Done():
		return explore.Explored{}, ctx.Err()
	}
}

// hide lets go of a tree that nobody has looked at for a while.
func (l *Loop) hide() {
	select {
	case shown := <-l.shown:
		if shown.idle++; shown.idle > l.cfg.Limits.ShownTicks {
			*shown = regrown{}
		}
		l.shown <- shown
	default: // somebody looks
	}
}

// Explore asks the loop about the last position of a way (each after a move from the one before, all of
// the campaign's board) and its moves. Below positions that are decided it goes on in their
// certificates. Its cost does not grow with the size of the tree, with one exception: the tree of a campaign that is
// over, and that nobody has explored for a while, is read from the store first.
func (h *Handle) Explore(ctx context.Context, way []amazons.Position) (explore.Explored, error) {
	released := false
	e, err := ask(ctx, h.loop, func() explore.Explored {
		if released = h.c.Tree == nil; released {
			return explore.Explored{}
		}
		return explore.Tree(h.c.Tree, way)
	})
	if err == nil && released {
		e, err = h.loop.exploreReleased(ctx, h.c, way)
	}
	if err != nil {
		return explore.Explored{}, err
	}
	return e.Proving(h.Look), nil
}
