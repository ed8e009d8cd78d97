package tree

import (
	"cmp"
	"iter"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// learn takes the facts of an event, as far as they are in order.
func (t *Tree) learn(name string, w *worker, facts []proof.Fact, vouched []proof.ID) {
	for _, f := range facts {
		if t.stopped != nil {
			t.refuse(name, 0, "facts are not taken: a contradiction stopped the campaign")
			return
		}
		if why := t.flaw(f); why != "" {
			t.refuse(name, 0, "fact refused: "+why)
			continue
		}
		if !slices.Contains(vouched, f.Certificate) {
			t.refuse(name, 0, "fact refused: its certificate "+f.Certificate.String()+
				" is not among those that were received")
			continue
		}
		leased := w != nil && slices.ContainsFunc(w.leases, func(l *lease) bool {
			return l.node.key == f.Key &&
				!l.node.solved()
		})
		if t.take(f, name, true) && w != nil {
			w.facts++
			if leased && t.cfg.CheckFirst > 0 {
				w.party.solved++
			}
		}
		if w != nil {
			t.shelf.mark(w, f.Key)
		}
	}
}

// flaw says what is wrong with the form of a fact; "" if nothing.
func (t *Tree) flaw(f proof.Fact) string {
	if f.Verdict != eval.Won && f.Verdict != eval.Lost {
		return "its outcome is neither won nor lost"
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

// take enters a fact that is in order, and reports whether it is new. It is persisted unless
// another campaign does so.
func (t *Tree) take(f proof.Fact, from string, persist bool) bool {
	if old, ok := t.facts[f.Key]; ok {
		if old.Verdict != f.Verdict {
			t.contradict(f.Key, Claim{Verdict: old.Verdict, Basis: ByFact, Fact: old},
				Claim{f.Verdict, ByFact, f, from})
		}
		return false
	}
	n := t.nodes.get(f.Key)
	if n == nil && len(t.facts) >= t.cfg.MaxFacts {
		t.dropped++
		return false
	}
	if n != nil && !t.believe(n, f, from) {
		return false
	}
	t.enter(f)
	if persist {
		t.newFacts = append(t.newFacts, f)
	}
	return true
}

// enter notes a fact that contradicts nothing.
func (t *Tree) enter(f proof.Fact) {
	t.facts[f.Key] = f
	if f.Verdict == eval.Won {
		t.factsWon++
	} else {
		t.factsLost++
	}
	t.shelf.put(f)
}

// believe lets a fact solve its node. It returns false if the node is known
// otherwise.
func (t *Tree) believe(n *node, f proof.Fact, from string) bool {
	if n == t.root && t.restricted() {
		if f.Verdict == eval.Lost && n.verdict() == eval.Won {
			t.contradict(n.key, t.claimOf(n), Claim{f.Verdict, ByFact, f, from})
			return false
		}
		return true
	}
	if n.solved() {
		if n.verdict() != f.Verdict {
			t.contradict(n.key, t.claimOf(n), Claim{f.Verdict, ByFact, f, from})
			return false
		}
		return true
	}
	t.solve(n, f.Verdict, ByFact)
	return true
}

// claimOf returns what is known of a solved node.
func (t *Tree) claimOf(n *node) Claim {
	c := Claim{Verdict: n.verdict(), Basis: n.basis}
	if n.basis == ByFact {
		c.Fact = t.facts[n.key]
	}
	return c
}

// contradict stops the campaign. Only the first contradiction is kept: what
// follows may rest on it.
func (t *Tree) contradict(k amazons.Key, known, claim Claim) {
	if t.stopped != nil {
		return
	}
	t.stopped = &Contradiction{Key: k, Known: known, Claim: claim}
	t.newStop = t.stopped
}

// shelf holds the facts that are offered to leases: those with most work, ties
// by key, so that it depends on the set of facts alone. Each has a slot, and
// each worker an array of what it knows by slot; the generation tells a fact
// from an earlier one in its slot.
type shelf struct {
	board  amazons.Board
	size   int
	gen    uint64
	boards [][]*shelved // most work first, each of 1 to boardLength-1
	byKey  map[amazons.Key]*shelved
	news   []*shelved // put since the last tick, in that order, at most size; some may have gone since
}

// boardLength is about the square root of the number of facts on a shelf of the default size.
const boardLength = 256

type shelved struct {
	fact  proof.Fact
	burnt uint64 // packed
	slot  int
	gen   uint64
}

func newShelf(b amazons.Board, size int) *shelf {
	return &shelf{board: b, size: size, byKey: map[amazons.Key]*shelved{}}
}

func (s *shelf) compare(a *shelved, f proof.Fact) int {
	if c := cmp.Compare(f.Nodes, a.fact.Nodes); c != 0 {
		return c
	}
	return a.fact.Key.Compare(f.Key)
}

// put offers a fact that is not on the shelf.
func (s *shelf) put(f proof.Fact) {
	slot := len(s.byKey)
	if slot == s.size {
		last := s.last()
		if s.compare(last, f) < 0 {
			return
		}
		slot = last.slot
		delete(s.byKey, last.fact.Key)
		s.removeLast()
	}
	s.gen++
	e := &shelved{fact: f, burnt: f.Key.A & f.Key.B, slot: slot, gen: s.gen}
	s.insert(e)
	s.byKey[f.Key] = e
	if len(s.news) < s.size {
		s.news = append(s.news, e)
	}
}

// insert puts an entry in its place. Moving all that come after it would cost more than all else a
// fact does, so they lie on boards of a bounded length.
func (s *shelf) insert(e *shelved) {
	i, _ := slices.BinarySearchFunc(s.boards, e.fact,
		func(b []*shelved, f proof.Fact) int { return s.compare(b[len(b)-1], f) })
	if i == len(s.boards) { // after all others
		if i == 0 {
			s.boards = append(s.boards, nil)
		}
		i = len(s.boards) - 1
	}
	at, _ := slices.BinarySearchFunc(s.boards[i], e.fact, s.compare)
	s.boards[i] = slices.Insert(s.boards[i], at, e)
	if b := s.boards[i]; len(b) == boardLength {
		s.boards = slices.Insert(s.boards, i+1, slices.Clone(b[boardLength/2:]))
		clear(b[boardLength/2:])
		s.boards[i] = b[:boardLength/2]
	}
}

func (s *shelf) last() *shelved {
	b := s.boards[len(s.boards)-1]
	return b[len(b)-1]
}

func (s *shelf) removeLast() {
	i := len(s.boards) - 1
	b := s.boards[i]
	b[len(b)-1] = nil
	if s.boards[i] = b[:len(b)-1]; len(b) == 1 {
		s.boards = s.boards[:i]
	}
}

// all yields the facts of the shelf, most work first.
func (s *shelf) all(yield func(*shelved) bool) {
	for _, b := range s.boards {
		for _, e := range b {
			if !yield(e) {
				return
			}
		}
	}
}

// mark notes that w knows the fact about k, if it is on the shelf.
func (s *shelf) mark(w *worker, k amazons.Key) {
	if e := s.byKey[k]; e != nil {
		s.markEntry(w, e)
	}
}

func (s *shelf) markEntry(w *worker, e *shelved) {
	for len(w.knows) <= e.slot {
		w.knows = append(w.knows, 0)
	}
	w.knows[e.slot] = e.gen
}

func (s *shelf) knows(w *worker, e *shelved) bool {
	return e.slot < len(w.knows) && w.knows[e.slot] == e.gen
}

// pick returns at most limit facts that w lacks and that may lie below k, those with most work, and
// marks them.
func (s *shelf) pick(w *worker, k amazons.Key, limit int) []proof.Fact {
	return s.choose(nil, s.all, w, k, limit)
}

// choose appends to out, up to limit, those of some facts that w lacks and that may lie below k,
// and marks them. Squares once burnt stay burnt, so a position below k has, in some orientation,
// all burnt squares of k and more. That is a necessary condition only, and cheap.
func (s *shelf) choose(out []proof.Fact, from iter.Seq[*shelved], w *worker, k amazons.Key, limit int) []proof.Fact {
	burnt := s.board.Unpack(k.A & k.B)
	var images [8]uint64
	symmetries := s.board.Symmetries()
	for i := range symmetries {
		images[i] = s.board.Pack(s.board.Apply(amazons.Symmetry(i), burnt))
	}
	for e := range from {
		if len(out) >= limit {
			break
		}
		if s.knows(w, e) || layerOf(e.fact.Key) <= layerOf(k) {
			continue
		}
		for _, image := range images[:symmetries] {
			if image&^e.burnt == 0 {
				out = append(out, e.fact)
				s.markEntry(w, e)
				break
			}
		}
	}
	return out
}

// inform tells workers of facts that have come since the last tick and that may lie below what they
// search, so that they need not find them out before their next lease.
func (t *Tree) inform() {
	s := t.shelf
	s.news = slices.DeleteFunc(s.news, func(e *shelved) bool { return s.byKey[e.fact.Key] != e })
	if len(s.news) > 0 && t.stopped == nil && !t.root.solved() {
		for _, w := range t.roll {
			var facts []proof.Fact
			for _, l := range w.leases {
				if !l.cancelled {
					facts = s.choose(facts, slices.Values(s.news), w, l.node.key, t.cfg.policy.factsPerLease)
				}
			}
			if len(facts) > 0 {
				t.emit(Inform{w.name, facts})
			}
		}
	}
	clear(s.news)
	s.news = s.news[:0]
}
