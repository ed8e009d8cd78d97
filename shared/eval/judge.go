package eval

import (
	"math/bits"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/endgame"
)

// Settings say which rules a Judge uses beside those of [Evaluate], so that the worth of each can be
// measured (deploy/docs/results/ablation.md). The zero Settings use none.
type Settings struct {
	Databases    bool // values of areas from the database
	Guarded      bool // the improved partition: territories behind blockers
	Territories  bool // moves in territories from the database; without it the greedy walk counts them
	Retract      bool // spare a blocker in its territory where it is worth more in a contested area
	SafeMoves    bool // safe moves in contested areas (rules 2 to 6)
	FirstMove    bool // the side to move begins in a contested area (rule 1)
	HotLookahead bool // the side to move begins in a hot area
	Stars        bool // the side to move begins in a star or another fuzzy infinitesimal
	Closing      bool // a first move that closes squares off

	// LocalSearch is the number of empty squares, in all areas together that are not known to be
	// whole numbers, up to which these areas are played out. 0: never.
	LocalSearch int
	// GuardedSearch is the number of squares that the other side can use up to which the contested
	// areas of a side with territories are played out. 0: never.
	GuardedSearch int
	// Stops is the number of areas and sums that Explain may search, to tell the stops of the areas that
	// were played out. 0: as many as it takes. A million take a minute or two.
	Stops int
}

// DefaultSettings returns the settings with every rule that pays in a search.
func DefaultSettings() Settings {
	return Settings{Databases: true, Guarded: true, Territories: true, Retract: true, SafeMoves: true, FirstMove: true,
		HotLookahead: true, Stars: true, Closing: true, LocalSearch: 5}
}

// FullSettings returns the settings for people who look at one position: every rule, whatever it
// costs.
func FullSettings() Settings {
	s := DefaultSettings()
	s.LocalSearch, s.GuardedSearch = 6, 6
	return s
}

// Judge evaluates positions by all static rules: those of [Evaluate], then the sum of the areas'
// values or bounds, as far as each side is sure of them (Song and Müller 2014, section IV). The side
// to move is Left. A judge keeps nothing from one position to the next but buffers, so each thread
// needs a judge of its own ([Judge.Clone]).
type Judge struct {
	set     Settings
	db      *endgame.DB
	values  []value // by endgame.ID
	largest int     // squares of the largest areas in the database

	open  [64]contest // contested areas of the side at work that are not in the database
	opens int

	memory []played // of local search, made when it is first needed
	stack  []fight  // moves of local search

	trace *trace // nil but in Explain, which makes hopeless attempts, too
}

// NewJudge returns a judge with the database db, which may be nil. The caller closes db afterwards.
func NewJudge(db *endgame.DB, s Settings) *Judge {
	j := &Judge{set: s}
	if db == nil || !s.Databases && !s.Territories {
		return j
	}
	j.db, j.largest = db, db.Squares()
	if !s.Databases {
		return j
	}
	j.values = make([]value, db.Values())
	for i := range j.values {
		if e := db.Entry(endgame.ID(i)); e != nil {
			j.values[i] = valueOf(e.Part)
		} else { // damaged: the database finds nothing from now on
			j.db, j.largest = nil, 0
			break
		}
	}
	return j
}

// Clone returns a judge for another thread. Both share what they know of the database.
func (j *Judge) Clone() *Judge {
	return &Judge{set: j.set, db: j.db, values: j.values, largest: j.largest}
}

// Evaluate decides more positions than the function [Evaluate] and sets f to the same features. A nil
// Judge is that function.
func (j *Judge) Evaluate(s amazons.State, f *Features) Verdict {
	v, own, opp := f.evaluate(s)
	if v != Open || j == nil {
		return v
	}
	if v = j.sum(s, own, opp); v == Open && 12*f.Territory >= closingLead*bits.OnesCount64(s.Empty) {
		if _, ok := j.Closing(s); ok {
			v = Won
		}
	}
	return v
}

// Verdict returns what Evaluate returns, and no features.
func (j *Judge) Verdict(s amazons.State) Verdict {
	var f Features
	return j.Evaluate(s, &f)
}

// closingLead is the lead in territory, in twelfths of the empty squares, from which Evaluate looks
// for a closing move. At this lead three of four positions have one. A smaller lead saves nodes and
// takes longer.
const closingLead = 5

// find returns the value of an area with left as Left.
func (j *Judge) find(left, right, empty amazons.Set) (*value, bool) {
	if bits.OnesCount64(left|right|empty) > j.largest || !j.set.Databases {
		return nil, false
	}
	id, ok := j.db.Find(left, right, empty)
	if !ok {
		return nil, false
	}
	return &j.values[int(id)], true
}

// sum judges s by the sum of its areas. ownReach and oppReach are the empty squares that each side
// can ever use.
func (j *Judge) sum(s amazons.State, ownReach, oppReach amazons.Set) Verdict {
	// First the areas that the database holds as they stand. The others are left in rest.
	var own, opp tally
	all := s.Own | s.Opp | s.Empty
	used := ownReach | oppReach
	rest := amazons.Set(0) // in no database
	open := amazons.Set(0) // not known to be whole numbers
	whole := 0             // the sum of the others
	if j.trace == nil && (len(j.values) == 0 || farOff(s.Own, ownReach, oppReach, 3) &&
		farOff(s.Opp, oppReach, ownReach, 2)) {
		rest, open = all, all
	}
	for todo := used &^ rest; todo != 0; {
		c := amazons.Fill(todo&-todo, all)
		todo &^= c
		v, ok := j.find(c&s.Own, c&s.Opp, c&s.Empty)
		if !ok {
			rest |= c
			open |= c
			continue
		}
		j.trace.found(j, s, c)
		own.add(v.own)
		opp.add(v.opp)
		if v.own.flags|v.opp.flags == 0 && v.own.n == -v.opp.n && v.own.n&(one-1) == 0 {
			whole += int(v.own.n / one)
		} else {
			open |= c
		}
	}
	verdict := Open
	if j.side(s.Own&rest, s.Opp&rest, s.Empty&rest&used, oppReach&rest, own, true) {
		verdict = Won
	}
	if verdict == Open || j.trace != nil {
		j.trace.turn()
		if j.side(s.Opp&rest, s.Own&rest, s.Empty&rest&used, ownReach&rest, opp, false) {
			verdict = Lost
		}
	}
	if verdict != Open {
		return verdict
	}
	if n := bits.OnesCount64(s.Empty & open & used); n <= j.set.LocalSearch {
		verdict = j.local(fight{amazons.State{Own: s.Own & open, Opp: s.Opp & open, Empty: s.Empty & open & used}, 0},
			whole)
		j.trace.local(open, rest, verdict)
	}
	if verdict == Open && j.set.GuardedSearch > 0 {
		empty := s.Empty & rest & used
		switch {
		case j.guarded(s.Own&rest, s.Opp&rest, empty, oppReach&rest, own, true):
			verdict = Won
		case j.guarded(s.Opp&rest, s.Own&rest, empty, ownReach&rest, opp, false):
			verdict = Lost
		}
		j.trace.guarded(verdict)
	}
	return verdict
}

// safeMoves reports whether safe moves are all that P can be sure of in contested areas.
func (j *Judge) safeMoves() bool { return len(j.values) == 0 }

// farOff reports whether P has far fewer squares than the other side, even with a safe move for each
// of its queens.
func farOff(mine, reach, theirReach amazons.Set, slack int) bool {
	return bits.OnesCount64(reach&^theirReach)+2*bits.OnesCount64(mine)+slack < bits.OnesCount64(theirReach)
}

// side reports whether P, with the queens mine, wins. t holds what P is sure of in other areas.
// theirReach holds the squares of empty that the other side, O, can ever use while P's queens stand
// still.
//
// P promises that each of its blockers shoots back at its origin with its first move. Then O never
// enters P's territories. A blocker moves in one area only, its territory or a contested one.
// Elsewhere it is a burnt square.
func (j *Judge) side(mine, theirs, empty, theirReach amazons.Set, t tally, begins bool) bool {
	if !j.set.Guarded {
		theirReach = empty // P promises nothing
	}
	inside := empty &^ theirReach

	reach := theirs | theirReach
	near := amazons.Grow(reach)
	if j.trace == nil && j.hopeless(mine&near, theirs, theirReach, inside, &t, begins) {
		return false
	}
	blockers := mine & near & amazons.Grow(inside|mine&^near)

	used, n, wins := j.promise(mine, 0, near, blockers, inside, theirs, theirReach, &t, begins)
	if wins {
		return true
	}
	if !j.set.Retract || j.trace == nil && (n < -one && !begins || n < -3*one) {
		return false
	}
	// One blocker may be worth more in a contested area than in its territory.
	for ; used != 0; used &= used - 1 {
		j.trace.again()
		if _, _, wins := j.promise(mine, used&-used, near, blockers, inside, theirs, theirReach, &t, begins); wins {
			return true
		}
	}
	return false
}

// promise reports whether P wins when the spared blockers move in no territory. It also returns the
// blockers used in territories, and the sum that P is sure of without a first move. The other
// arguments are those of side and what side finds.
func (j *Judge) promise(mine, spared, near, blockers, inside, theirs, theirReach amazons.Set, t *tally,
	begins bool) (used amazons.Set, n int32, wins bool) {
	moves, used := j.territories(mine&^spared, near, blockers&^spared, inside)
	u := *t
	u.n += int32(moves) * one
	free := mine & near &^ used
	if j.trace != nil {
		j.trace.walked(j, mine&^spared, near, blockers&^spared, inside)
	} else if j.safeMoves() {
		// A safe move for each queen may still be too little.
		best := u.n + int32(2*bits.OnesCount64(free)-bits.OnesCount64(theirReach))*one
		if best < -3*one || best < -one && !begins {
			return used, best, false
		}
	}
	j.contests(free, blockers, theirs, theirReach, &u)
	return used, u.n, j.wins(&u, begins)
}

// hopeless reports whether P loses even with all squares inside and a safe move in each contested
// area. free holds P's queens that may move there.
func (j *Judge) hopeless(free, theirs, theirReach, inside amazons.Set, t *tally, begins bool) bool {
	n := t.n + int32(bits.OnesCount64(inside)-bits.OnesCount64(theirReach))*one
	if begins {
		n += one
		if j.set.HotLookahead {
			n += t.width
		}
	}
	queens := int32(bits.OnesCount64(free))
	if n >= 0 || n+queens*2*one < 0 {
		return n < 0
	}
	if !j.safeMoves() || n+min(queens, 1)*2*one >= 0 {
		return false
	}
	return !safeMovesMay(free, theirs, theirReach, int(-n)/one, begins)
}
