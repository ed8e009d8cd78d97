package loop

import (
	"fmt"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
)

// Still is what a loop knows of a campaign while it stands still.
type Still struct {
	View
	Whole *tree.Tree // nil: it was put away
}

// Still returns what the loop knows of all campaigns. full says why the store takes no writes, nil if it takes them.
// Still reads without a turn of the loop: Run has ended, or waits, as in a test with virtual time.
func (l *Loop) Still() (all []Still, full error) {
	views := l.views()
	for i, c := range l.campaigns() {
		all = append(all, Still{views[i], c.Tree})
	}
	return all, l.full
}

// Standings returns what is known of parties that are not in quarantine. The loop stands still, as for
// Still.
func (l *Loop) Standings() []trust.Standing { return l.book.Standings() }

// Audit returns the first invariant that does not hold, nil if all do. The loop stands still, as for
// Still, and nothing is on its way to the store.
func (l *Loop) Audit() error {
	l.noteSaved()
	for _, c := range l.campaigns() {
		if c.Tree != nil {
			if err := c.Tree.Audit(); err != nil {
				return fmt.Errorf("campaign %d: %w", c.Number, err)
			}
		}
		if n := c.learned.Len(); n > l.cfg.Limits.Recent {
			return fmt.Errorf("campaign %d keeps %d facts for people", c.Number, n)
		}
	}
	waiting := map[*Session]int{}
	for _, e := range l.waiting {
		waiting[e.Session]++
	}
	for s, n := range waiting {
		if n > l.cfg.Limits.Waiting || n != s.waiting {
			return fmt.Errorf("%d messages of %s wait, %d are counted", n, s.Name, s.waiting)
		}
	}
	if n := len(l.crew.byName); n > l.cfg.MaxWorkers || n != len(l.crew.byToken) {
		return fmt.Errorf("%d workers, %d sessions", n, len(l.crew.byToken))
	}
	quarantines, err := l.store.Quarantines()
	if err != nil {
		return err
	}
	standings, err := l.store.Standings()
	if err != nil {
		return err
	}
	return l.book.Audit(quarantines, standings)
}
