package checker

import (
	"fmt"
	"math/bits"
)

// entry is one position of the certificate, won by the side to move with the move.
type entry struct {
	position
	move move
}

// verifier checks positions. Each worker has its own.
type verifier struct {
	*board
	rules     int  // so many leaf rules may be used, in their order
	rootBlack bool // black is to move in layers with the parity of rootArrows
	rootLayer int
	evidence  string   // what a part may have of a position: "an entry", or "an entry or citation"
	counts    Counts   // but those of leaf rules
	leaves    [5]int64 // positions that a leaf rule decided; 0: that none did

	// For the arrow square c of a reply: the smallest word a that any symmetry gives, and the set
	// of those symmetries.
	smallest [64]uint64
	ties     [64]uint8

	hints hints     // for rule 4
	batch [64]reply // replies that wait to be looked up together
	touch uint64    // keeps the reads of table.touch from being optimised away
}

// total returns all counts.
func (v *verifier) total() Counts {
	c := v.counts
	c.LeafRule1, c.LeafRule2, c.LeafRule3, c.LeafRule4 = v.leaves[1], v.leaves[2], v.leaves[3], v.leaves[4]
	return c
}

// reply is a move and the canonical position after it.
type reply struct {
	after position
	home  uint64 // its slot in the table
	move  move
}

// blackToMove is the side to move that the first root implies for positions with this many arrows.
func (v *verifier) blackToMove(arrows int) bool { return v.rootBlack != ((arrows-v.rootLayer)&1 != 0) }

// misplaced says why a position cannot stand in a layer, and the kind of that fault; "" if it can.
func (v *verifier) misplaced(p position, arrows int) (FaultKind, string) {
	if (p.a|p.b)&^v.full != 0 {
		return FaultPosition, fmt.Sprintf("the position has bits beyond the %d squares of the board", v.squares)
	}
	if n := p.arrows(); n != arrows {
		return FaultLayer, fmt.Sprintf("the position has %d burnt squares, its layer says %d", n, arrows)
	}
	if c := v.canonical(p); c != p {
		return FaultCanonical, "the position is not canonical, its canonical image is " +
			v.positionText(c, v.blackToMove(arrows))
	}
	return "", ""
}

// check verifies entry number index of a layer, against the table of the layer two arrows deeper
// and the positions cited as lost one arrow deeper. It returns nil if the entry holds.
func (v *verifier) check(e entry, index int64, arrows int, deeper, cited *table) *Fault {
	v.counts.Entries++
	if kind, why := v.misplaced(e.position, arrows); why != "" {
		return v.fault(kind, e, index, arrows, why)
	}
	if why := v.illegal(e.position, e.move); why != "" {
		return v.fault(FaultMove, e, index, arrows, "the move is not legal: "+why)
	}
	// The heart of the check: after the entry's move the other side is to move, and has to lose.
	// That is so if a leaf rule says it, if it is cited, or if each of its replies is won: by a leaf
	// rule, or as an entry two arrows deeper.
	after := e.play(e.move)
	if reply, lost := v.lost(after, deeper, cited); !lost {
		return v.fault(FaultReply, e, index, arrows, "the move is not shown to win, because the reply "+
			v.unproved(after, reply))
	}
	return nil
}

// fault describes what is wrong with an entry, with the position as people read it.
func (v *verifier) fault(kind FaultKind, e entry, index int64, arrows int, reason string) *Fault {
	return &Fault{Kind: kind, Layer: arrows, Entry: index, Position: v.positionText(e.position, v.blackToMove(arrows)),
		Move: v.moveText(e.move), Reason: reason}
}

// unproved describes a reply to the position p that is not shown to lose, as the end of a sentence.
func (v *verifier) unproved(p position, reply move) string {
	q := v.canonical(p.play(reply))
	n := q.arrows()
	s := fmt.Sprintf("%s leads to %s (canonical), which is neither %s of layer %d nor won by a leaf rule",
		v.moveText(reply), v.positionText(q, v.blackToMove(n)), v.evidence, n)
	for more := v.rules + 1; more <= 4; more++ {
		if v.verdict(q, more) == Won {
			return s + fmt.Sprintf(" while only leaf rules up to %d are in use; leaf rule %d wins it, so this takes a "+
				"proof that was made for fewer rules", v.rules, more)
		} else if v.verdict(v.canonical(p), more) == Lost {
			return s + fmt.Sprintf(" while only leaf rules up to %d are in use; leaf rule %d decides the position "+
				"before that reply", v.rules, more)
		}
	}
	return s
}

// won reports whether p is an entry in t or won by a leaf rule.
func (v *verifier) won(p position, t *table) bool {
	p = v.canonical(p)
	v.counts.Lookups++
	return t.has(p) || v.wonByLeaf(p) || v.wonByClosing(p)
}

// wonByLeaf looks at rules 2 and 3 (rule 1 wins nothing for the side to move). p is canonical.
func (v *verifier) wonByLeaf(p position) bool {
	rule := v.winning(p, v.rules)
	v.leaves[rule]++
	return rule != 0
}

// wonByClosing looks at rule 4, if it is allowed. p need not be canonical.
func (v *verifier) wonByClosing(p position) bool {
	if v.rules < 4 || !v.closes(p, &v.hints) {
		return false
	}
	v.leaves[4]++
	return true
}

// firstUnproved returns the number of the first of the replies to p that is neither in t nor won by rule 4,
// or -1. Rule 4 costs more than a look-up.
func (v *verifier) firstUnproved(p position, replies []reply, t *table) int {
	v.counts.Lookups += int64(len(replies))
	v.touch += t.touch(replies)
	for i := range replies {
		r := &replies[i] // its word a is not 0: the arrow of the reply is in it
		if (t == nil || !t.hasFrom(r.home, r.after)) && !v.wonByClosing(p.play(r.move)) {
			return i
		}
	}
	return -1
}

// lost reports whether the side to move loses p: by a leaf rule, because p is in cited, or because
// every legal move leads to a position that is in next or won by a leaf rule. Otherwise it returns
// the first move for which that is not so.
//
// A word a after a move holds the queens of the other side, which do not move, and the burnt
// squares: it depends on the arrow's square alone. So the symmetries that make it smallest are
// found once for each square, and the second word, which has the moved queen, is needed for those
// only: mostly one.
func (v *verifier) lost(p position, next, cited *table) (move, bool) {
	if v.stuck(p) {
		v.leaves[1]++
		return move{}, true
	}
	c := v.canonical(p)
	if cited.has(c) {
		v.counts.Lookups++
		return move{}, true
	}
	if rule := v.losing(c, v.rules); rule != 0 {
		v.leaves[rule]++
		return move{}, true
	}
	var others, mine [8]uint64 // images of the words of p: p.b becomes a, and p.a becomes b
	for s := range v.symmetries {
		others[s], mine[s] = v.imageOf(s, p.b), v.imageOf(s, p.a)
	}
	// An arrow may hit any square that is not the other side's or burnt. The squares of p's own
	// queens count too: the queen that moves shoots back at the square she left.
	for squares := v.full &^ p.b; squares != 0; squares &= squares - 1 {
		c := bits.TrailingZeros64(squares)
		least, ties := ^uint64(0), uint8(0)
		for s := range v.symmetries {
			switch a := others[s] | v.image[s][c]; {
			case ties == 0 || a < least:
				least, ties = a, 1<<s
			case a == least:
				ties |= 1 << s
			}
		}
		v.smallest[c], v.ties[c] = least, ties
	}
	n := 0
	for queens := p.own(); queens != 0; queens &= queens - 1 {
		from := bits.TrailingZeros64(queens)
		without := p.occupied() &^ (1 << from)
		for targets := v.queenLines(from, p.occupied()); targets != 0; targets &= targets - 1 {
			to := bits.TrailingZeros64(targets)
			for arrows := v.queenLines(to, without); arrows != 0; arrows &= arrows - 1 {
				c := bits.TrailingZeros64(arrows)
				q := position{a: v.smallest[c], b: ^uint64(0)}
				for ties := v.ties[c]; ties != 0; ties &= ties - 1 {
					image := &v.image[bits.TrailingZeros8(ties)&7]
					q.b = min(q.b, mine[bits.TrailingZeros8(ties)&7]^image[from]^image[to]|image[c])
				}
				// Rules 2 and 3 mostly decide. Other replies are looked up in batches: the first touch of
				// each slot is a miss in the cache of the machine, and sixty-four misses at a time take
				// hardly longer than one.
				v.counts.Replies++
				if v.wonByLeaf(q) {
					continue
				}
				if n == len(v.batch) {
					if i := v.firstUnproved(p, v.batch[:n], next); i >= 0 {
						return v.batch[i].move, false
					}
					n = 0
				}
				v.batch[n] = reply{after: q, move: move{uint8(from), uint8(to), uint8(c)}}
				n++
			}
		}
	}
	if i := v.firstUnproved(p, v.batch[:n], next); i >= 0 {
		return v.batch[i].move, false
	}
	return move{}, true
}

// checkRoot verifies root number index. Table t is that of layer root.needs. Nothing of the root's
// own layer can be cited.
func (v *verifier) checkRoot(r root, index int, t *table) *Fault {
	f := &Fault{Kind: FaultRoot, Layer: r.arrows(), Entry: int64(index), Position: v.positionText(r.position, r.black)}
	if r.win {
		if v.won(r.position, t) {
			return nil
		}
		f.Reason = fmt.Sprintf("%s to move is claimed to win, but the position is neither an entry nor won by "+
			"a leaf rule", sideName(r.black))
		return f
	}
	reply, lost := v.lost(r.position, t, nil)
	if lost {
		return nil
	}
	f.Reason = fmt.Sprintf("%s to move is claimed to lose, but the move %s", sideName(r.black),
		v.unproved(r.position, reply))
	return f
}
