package tree

import (
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// learn enters the facts of a worker's event, as far as they are in order. received are the
// certificates that the store holds whole.
func (t *Tree) learn(name string, facts []proof.Fact, received []proof.ID) {
	w := t.workers[name]
	for _, f := range facts {
		if t.stopped != nil {
			t.refuse(name, 0, "facts are not accepted: a contradiction stopped the campaign")
			return
		}
		if why := t.flaw(f); why != "" {
			t.refuse(name, 0, "fact refused: "+why)
			continue
		}
		if !slices.Contains(received, f.Certificate) {
			t.refuse(name, 0, "fact refused: its certificate "+f.Certificate.String()+
				" is not among those that were received")
			continue
		}
		leased := w != nil && slices.ContainsFunc(w.leases, func(l *lease) bool {
			return l.node.key == f.Key && !l.node.solved()
		})
		if t.enter(f, name, true) && w != nil {
			w.facts++
			if leased && t.cfg.CheckFirst > 0 {
				w.party.solved++
			}
		}
		if w != nil {
			t.offers.Mark(&w.known, f.Key)
		}
	}
}

// flaw says what is wrong with the form of a fact; "" if nothing.
func (t *Tree) flaw(f proof.Fact) string {
	if f.Verdict != eval.Won && f.Verdict != eval.Lost {
		return "its verdict is neither won nor lost"
	}
	if f.Certificate == (proof.ID{}) {
		return "it names no certificate"
	}
	s, err := f.Key.State(t.board)
	if err != nil {
		return "its key is not a position of the board"
	}
	if s.CanonicalKey(t.board) != f.Key {
		return "its key is not canonical"
	}
	if layerOf(f.Key) < t.root.layer {
		return "its position cannot come after the root"
	}
	return ""
}

// enter adds a fact that is in order, and reports whether it is new. It is persisted unless another
// campaign does so.
func (t *Tree) enter(f proof.Fact, from string, persist bool) bool {
	if old, ok := t.facts[f.Key]; ok {
		if old.Verdict != f.Verdict {
			t.contradict(f.Key, claimOfFact(old, ""), claimOfFact(f, from))
		}
		return false
	}
	n := t.index.get(f.Key)
	if n == nil && len(t.facts) >= t.cfg.MaxFacts {
		t.dropped++
		return false
	}
	if n != nil && !t.believe(n, f, from) {
		return false
	}
	t.note(f)
	if persist {
		t.newFacts = append(t.newFacts, f)
	}
	return true
}

// note keeps a fact that contradicts nothing.
func (t *Tree) note(f proof.Fact) {
	t.facts[f.Key] = f
	if f.Verdict == eval.Won {
		t.factsWon++
	} else {
		t.factsLost++
	}
	t.offers.Add(f)
}

// believe lets a fact solve its node. It returns false if the node has the other verdict.
func (t *Tree) believe(n *node, f proof.Fact, from string) bool {
	known := n.verdict()
	if n == t.root && t.restricted() && known == eval.Lost {
		known = eval.Open // says nothing about the position: see restricted
	}
	switch {
	case known != eval.Open && known != f.Verdict:
		t.contradict(n.key, t.claimOf(n), claimOfFact(f, from))
		return false
	case known == eval.Open && (n != t.root || !t.restricted()):
		t.solve(n, f.Verdict, ByFact)
	}
	return true
}

// claimOf returns what the tree knows of a solved node.
func (t *Tree) claimOf(n *node) Claim {
	if n.basis == ByFact {
		return claimOfFact(t.facts[n.key], "")
	}
	return Claim{Verdict: n.verdict(), Basis: n.basis}
}

// claimOfFact returns a fact as a worker's claim; from is "" for what was known before.
func claimOfFact(f proof.Fact, from string) Claim { return Claim{f.Verdict, ByFact, f, from} }

// contradict stops the campaign. Only the first contradiction is kept: later ones may follow from it.
func (t *Tree) contradict(k amazons.Key, known, claim Claim) {
	if t.stopped != nil {
		return
	}
	t.stopped = &Contradiction{Key: k, Known: known, Claim: claim}
	t.newStop = t.stopped
}

// inform tells workers of facts that have come since the last tick and that may lie below what they
// search. Otherwise they would find them out again before their next lease.
func (t *Tree) inform() {
	if t.stopped == nil && !t.root.solved() {
		for _, w := range t.roll {
			var facts []proof.Fact
			for _, l := range w.leases {
				if !l.cancelled {
					facts = t.offers.Fresh(facts, &w.known, l.node.key, t.cfg.policy.factsPerLease)
				}
			}
			if len(facts) > 0 {
				t.emit(Inform{w.name, facts})
			}
		}
	}
	t.offers.Settle()
}
