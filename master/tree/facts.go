package tree

import (
	"slices"

	"amazonsfarm/shared/proof"
)

// learn enters the facts of a worker's event, as far as they are in order. received are the
// certificates that the store holds whole.
func (t *Tree) learn(name string, facts []proof.Fact, received []proof.ID) {
	w := t.workers[name]
	for _, f := range facts {
		if t.graph.Contradiction != nil {
			t.refuseFact(name, "facts are not accepted: a contradiction stopped the campaign")
			return
		}
		why := t.graph.Flaw(f)
		if why == "" && !t.reach.Has(f.Key) {
			// Such a fact of another campaign is not in this tree, so nothing here would notice a contradiction.
			why = "its position cannot come after the root"
		}
		if why != "" {
			t.refuseFact(name, "fact refused: "+why)
			continue
		}
		if !slices.Contains(received, f.Certificate) {
			t.refuseFact(name, "fact refused: its certificate "+f.Certificate.String()+
				" is not among those that were received")
			continue
		}
		leased := w != nil && slices.ContainsFunc(w.leases, func(l *lease) bool {
			return l.node.Key == f.Key && !l.node.Solved()
		})
		dropped := t.graph.FactsDropped
		entered := t.enter(f, name, true)
		if t.graph.FactsDropped > dropped {
			t.refuseFact(name, "fact refused: there is no room for more facts about positions outside the tree")
			continue
		}
		if entered && leased && t.cfg.CheckFirst > 0 {
			w.party.solved++
		}
		if w != nil {
			t.offers.Mark(&w.known, f.Key)
		}
	}
}

func (t *Tree) refuseFact(worker, why string) { t.emit(Refused{Worker: worker, Why: why, Facts: true}) }

// enter adds a fact that is in order to the graph and to the offers, and reports whether it is new. It
// is persisted unless another campaign does so.
func (t *Tree) enter(f proof.Fact, from string, persist bool) bool {
	if !t.graph.Enter(f, from) {
		return false
	}
	t.offers.Add(f)
	if persist {
		t.newFacts = append(t.newFacts, f)
	}
	return true
}

// inform tells workers of facts that have come since the last tick and that may lie below what they
// search. Otherwise they would find them out again before their next lease.
func (t *Tree) inform() {
	if t.graph.Contradiction == nil && !t.graph.Root.Solved() {
		for _, w := range t.roll {
			var facts []proof.Fact
			for _, l := range w.leases {
				if !l.cancelled {
					facts = t.offers.Fresh(facts, &w.known, l.node.Key, t.cfg.policy.factsPerLease)
				}
			}
			if len(facts) > 0 {
				t.emit(Inform{w.name, facts})
			}
		}
	}
	t.offers.Settle()
}
