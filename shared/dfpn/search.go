package dfpn

import (
	"math/bits"
	"slices"
	"unsafe"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/estimate"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/memory"
)

// child is a reply to a position that a thread is searching.
type child struct {
	hash       uint64
	phi, delta uint32
	move       amazons.Move
	busy       uint8 // threads that were searching it when this one last looked, 255 at most
	tried      uint8 // models that were tried on it
}

// thread is one thread of a search, with counters and stacks of its own over the shared table.
type thread struct {
	s      *Searcher
	b      amazons.Board
	table  *Table
	judge  *eval.Judge  // nil: eval.Evaluate
	stack  []child      // children of all nodes on the path, the deepest last
	models []model      // refuted children of all nodes on the path, the deepest last
	recent *recent      // the latest evaluations
	guess  amazons.Move // the likest sibling's answer to the position that is expanded next

	nodes, evaluations uint64
	published          counters // what the searcher already knows of the two
	limit              uint64   // of nodes of this thread, when it is alone

	way, resume []step            // where an interrupted search was, and where the running one begins; the root's last
	ways        map[uint64][]step // of interrupted searches, by the hashes of their roots

	// Only with several threads.
	path []uint64 // hashes of the nodes being searched, the root first
	cut  int      // length of the path whose last node another thread has solved; noCut if none
}

const noCut = 1 << 30

// numbers are phi and delta of a position.
type numbers struct{ phi, delta uint32 }

func (n numbers) solved() bool { return n.phi == 0 || n.delta == 0 }

var (
	won  = numbers{0, Infinity}
	lost = numbers{Infinity, 0}
)

// search is multiple iterative deepening (df-pn, Nagai 2002, in the form with phi and delta). It
// searches below st until phi or delta reaches its limit, st is solved or the search is stopped.
// Then it stores the numbers and returns them. nodes is the number of nodes that the table knows
// behind st. If there are none, this is the first visit: the judge looks for a closing move, and if
// it finds one, st is won without an expansion and without counting as a node.
func (t *thread) search(st amazons.State, hash uint64, limit numbers, nodes uint64) numbers {
	if nodes == 0 {
		if m, ok := t.judge.Closing(st); ok {
			t.put(st, hash, won, m, 1)
			return won
		}
	}
	before := t.nodes
	t.count()
	if t.s.parallel {
		t.enter(hash)
		defer t.leave(hash)
	}
	base, models := len(t.stack), len(t.models)
	n, m := t.expand(st)
	if !n.solved() {
		n, m = t.deepen(st, hash, base, models, limit)
	}
	t.stack, t.models = t.stack[:base], t.models[:models]
	t.put(st, hash, n, m, nodes+t.nodes-before)
	return n
}

// count counts a node, and now and then looks what else there is to do.
func (t *thread) count() {
	t.nodes++
	if t.nodes%publishPeriod == 0 {
		t.publish()
		if t.table.crowded() {
			t.s.crowded.Store(true)
		}
	}
}

// put stores the numbers of st with the nodes behind them and, if st is won, the winning move m. It
// reports solved positions.
func (t *thread) put(st amazons.State, hash uint64, n numbers, m amazons.Move, nodes uint64) {
	data := pack(n.phi, n.delta, nodes)
	if n == won && m != noMove {
		_, symmetry := st.Canonical(t.b)
		data = packWon(t.b.ApplyMove(symmetry, m), nodes)
	}
	t.table.put(hash, data)
	if o := &t.s.o; n.solved() && o.OnSolved != nil && nodes >= o.MinSolvedNodes {
		o.OnSolved(st, n.verdict(), nodes)
	}
}

// noMove stands for an unknown winning move. A real move leaves its square.
var noMove amazons.Move

// expand pushes the children of st that the opponent is not yet known to win. It returns won and the
// move when it meets a child that the opponent loses, lost when no child remains, and otherwise
// numbers that are not solved. It remembers refuted children that the table has.
//
// It passes over the children several times and does one thing each time. Most of the time goes to
// waiting for memory, and cache lines that are requested together arrive together.
func (t *thread) expand(st amazons.State) (numbers, amazons.Move) {
	base, models := len(t.stack), len(t.models)
	guess := t.guess
	t.guess = noMove
	t.generate(st)

	// What the table knows. Children that the opponent wins are dropped; phi 0 marks those of which
	// the table knows nothing.
	kept := base
	for i := base; i < len(t.stack); i++ {
		c := &t.stack[i]
		data := t.table.get(c.hash)
		phi, delta, _ := unpack(data)
		switch {
		case data == 0:
			phi, delta = 0, 0
		case delta == 0:
			return won, c.move
		case phi == 0:
			t.remember(st, c.move, models)
			continue
		}
		t.keep(kept, i, numbers{phi, delta})
		kept++
	}
	t.stack = t.stack[:kept]

	// The static evaluation of the others.
	kept = base
	for i := base; i < len(t.stack); i++ {
		c := &t.stack[i]
		n := numbers{c.phi, c.delta}
		if n.phi == 0 {
			n = t.evaluate(st.After(c.move), c.hash)
			if n.delta == 0 {
				return won, c.move
			}
			if n.phi == 0 {
				continue
			}
			if c.move == guess {
				n.delta = max(1, uint32(uint64(n.delta)*siblingFavour/8))
			}
			if t.s.o.FirstNumbers != nil {
				_, f := eval.Evaluate(st.After(c.move))
				n.phi, n.delta = t.s.o.FirstNumbers(st, c.move, f)
			}
		}
		t.keep(kept, i, n)
		kept++
	}
	t.stack = t.stack[:kept]
	if kept == base {
		return lost, noMove
	}
	return numbers{1, 1}, noMove
}

// keep moves the child at i down to an index not above it, and gives it numbers there. To copy a child that has just
// been given numbers would take longer: a processor waits for the copy of what it has just written.
func (t *thread) keep(at, i int, n numbers) {
	c := &t.stack[at]
	if at != i {
		*c = t.stack[i]
	}
	c.phi, c.delta = n.phi, n.delta
}

// generate pushes a child for every legal move of st, without numbers. Where st is symmetric, moves
// to the same canonical state are pushed once. The processor loads the table's line and the latest evaluation of each
// child while the next ones are made: to wait for these loads takes an eighth of the search.
func (t *thread) generate(st amazons.State) {
	base := len(t.stack)
	symmetric := st.Symmetric(t.b)
	for queens := st.Own; queens != 0; queens &= queens - 1 {
		from := amazons.Square(bits.TrailingZeros64(queens))
		open := st.Empty | from.Bit()
		for targets := amazons.QueenTargets(from, st.Empty); targets != 0; targets &= targets - 1 {
			to := amazons.Square(bits.TrailingZeros64(targets))
			for arrows := amazons.QueenTargets(to, open); arrows != 0; arrows &= arrows - 1 {
				m := amazons.Move{From: from, To: to, Arrow: amazons.Square(bits.TrailingZeros64(arrows))}
				hash := st.After(m).Hash(t.b)
				memory.Prefetch(t.table.home(hash), unsafe.Pointer(&t.recent[hash&recentMask]))
				if !symmetric || !slices.ContainsFunc(t.stack[base:], func(c child) bool { return c.hash == hash }) {
					t.stack = append(t.stack, child{})
					c := &t.stack[len(t.stack)-1]
					c.hash, c.move = hash, m
				}
			}
		}
	}
}

// look returns the numbers of a position: from the table, or by the static evaluation.
func (t *thread) look(st amazons.State, hash uint64) numbers {
	if data := t.table.get(hash); data != 0 {
		phi, delta, _ := unpack(data)
		return numbers{phi, delta}
	}
	return t.evaluate(st, hash)
}

// static returns the numbers of a position by the static evaluation.
func static(judge *eval.Judge, st amazons.State) numbers {
	var f eval.Features
	verdict := judge.Evaluate(st, &f)
	if verdict != eval.Open {
		return numbersOf(verdict)
	}
	phi, delta := estimate.Numbers(st, &f)
	return numbers{phi, delta}
}

// deepen searches the most promising child, again and again, until the numbers of st reach limit.
func (t *thread) deepen(st amazons.State, hash uint64, base, models int, limit numbers) (numbers, amazons.Move) {
	lean := even
	for {
		if t.s.parallel {
			if n, m := t.refresh(hash, base); n.solved() {
				return n, m
			}
		}
		sel := t.choose(t.stack[base:], lean)
		if sel.best < 0 {
			return lost, noMove
		}
		n := numbers{sel.least, weigh(sel.largest, sel.sum-uint64(sel.largest))}
		lean = n.leaning()
		if n.phi >= limit.phi || n.delta >= limit.delta || t.stopped() {
			return n, noMove
		}
		at, next := t.resumed(t.stack[base:])
		if at < 0 {
			at = sel.best
			phi := t.stack[base+at].phi
			next = numbers{
				phi:   childLimit(limit.delta, sel.largestRest, sel.sum-uint64(phi)-uint64(sel.largestRest)),
				delta: min(limit.phi, slack(sel.second)),
			}
		}
		i := base + at
		c := t.stack[i]
		// A busy child, or one whose numbers ran into their limit, may be chosen beyond its
		// thresholds. It must still get somewhere.
		next = numbers{max(next.phi, c.phi+1), max(next.delta, c.delta+1)}
		_, _, nodes := unpack(t.table.get(c.hash))
		t.guess = noMove
		// Models that were tried on it before are not tried again.
		if known := len(t.models) - models; nodes < siblingNodes && int(c.tried) < known {
			t.stack[i].tried = uint8(known)
			if t.refuteLike(st, c.move, c.hash, t.models[models+int(c.tried):]) {
				t.remember(st, c.move, models)
				t.drop(i)
				continue
			}
		}
		r := t.search(st.After(c.move), c.hash, next, nodes)
		t.resume = nil
		switch {
		case r.delta == 0:
			return won, c.move
		case r.phi == 0:
			t.remember(st, c.move, models)
			t.drop(i)
		default:
			t.stack[i].phi, t.stack[i].delta = r.phi, r.delta
			t.leaveOff(step{c.hash, next})
		}
	}
}

// drop removes a child that the opponent wins.
func (t *thread) drop(i int) {
	last := len(t.stack) - 1
	t.stack[i] = t.stack[last]
	t.stack = t.stack[:last]
}

// selection is what a position needs to know of its children.
type selection struct {
	best        int    // index of the child to search, -1 if there is none
	least       uint32 // least delta: phi of the node
	second      uint32 // least delta among the others, with what busy threads add
	sum         uint64 // of all phi
	largest     uint32 // phi
	largestRest uint32 // largest phi among the children other than best
}

// leaning says which outcome the numbers of a position suggest for its side to move.
type leaning uint8

const (
	even    leaning = iota // or not looked at yet
	losing                 // delta is below phi
	winning                // delta is at least sure times phi
)

// sure is the ratio of delta to phi from which a position counts as winning. Million nodes with two
// threads, on 5x6 after B1-B4xD4 (means of some 30 runs) and on 6x4:
//
//	sure 3 or 4           3.00 (2.4 to 3.7)   2.73
//	no position winning   3.18 (2.8 to 4.3)   2.73
//	sure 1 or 2                               2.8 to 3.1
//	one thread            2.96                2.65
const sure = 3

func (n numbers) leaning() leaning {
	switch {
	case n.delta < n.phi:
		return losing
	case uint64(n.delta) >= sure*uint64(n.phi):
		return winning
	}
	return even
}

// choose finds the child with the least delta. With several threads, a child that other threads
// search counts as worse than it is (virtual numbers, see virtual), so that threads spread.
//
//   - Where the side to move seems to lose, threads should spread: the proof needs every child.
//   - Where it seems to win, one child is enough and the others are wasted: threads part only over
//     children that are about equally good, and stay together where the win seems sure.
//
// On 4x7 two threads searched 58 % more nodes than one with doubled numbers everywhere, and 3 % more
// with this rule. Of additions of 0 to 1/8, 1/128 was about the best on 6x4 and 5x6.
func (t *thread) choose(children []child, l leaning) selection {
	s := selection{best: -1, least: Infinity, second: Infinity}
	leading := uint32(Infinity) + 1 // delta of best, with what busy threads add
	for i := range children {
		c := &children[i]
		s.sum += uint64(c.phi)
		delta := c.delta
		s.least = min(s.least, delta)
		if c.busy > 0 {
			delta = virtual(delta, c.busy, l)
		}
		if delta < leading {
			if s.best >= 0 {
				s.second = leading
				s.largestRest = max(s.largestRest, children[s.best].phi)
			}
			s.best, leading = i, delta
		} else {
			s.second = min(s.second, delta)
			s.largestRest = max(s.largestRest, c.phi)
		}
	}
	if s.best >= 0 {
		s.largest = max(s.largestRest, children[s.best].phi)
	}
	return s
}

// virtual returns the delta with which a child counts while busy other threads search it. l is how
// its parent leans.
func virtual(delta uint32, busy uint8, l leaning) uint32 {
	v := uint64(delta)
	switch l {
	case losing:
		v += uint64(busy) * (1 + v + v>>7)
	case winning:
		v -= v >> 8
	default:
		v += uint64(busy) * (1 + v>>7)
	}
	return uint32(min(v, largestUnsolved))
}

// stopped reports whether the thread shall return: at the limit, at the end of the search, for the
// table to grow, or because another thread solved a position on the path.
func (t *thread) stopped() bool {
	if t.s.parallel {
		return t.s.stop.Load() || t.s.crowded.Load() || t.cut < len(t.path)
	}
	return t.nodes >= t.limit || t.s.stop.Load() || t.s.crowded.Load()
}
