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
	// AreaSearch is the number of empty squares up to which a single area is played out for its
	// bounds, where the database has none. 0: never.
	AreaSearch int
	// GuardedSearch is the number of squares that the other side can use up to which the contested
	// areas of a side with territories are played out. 0: never.
	GuardedSearch int
}

// DefaultSettings returns the settings with every rule that pays in a search. Playing out single
// areas decides many more positions, but the search decides these positions in less time.
func DefaultSettings() Settings {
	return Settings{Databases: true, Guarded: true, Territories: true, Retract: true, SafeMoves: true, FirstMove: true,
		HotLookahead: true, Stars: true, Closing: true, LocalSearch: 5}
}

// FullSettings returns the settings for people who look at one position: every rule, whatever it
// costs. Single areas are not played out (AreaSearch), or the rules would have nothing left to show.
func FullSettings() Settings {
	return Settings{Databases: true, Guarded: true, Territories: true, Retract: true,
		SafeMoves: true, FirstMove: true, HotLookahead: true, Stars: true,
		Closing: true, LocalSearch: 6, GuardedSearch: 6}
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

	trace *trace // nil but in Explain
}

// contest is an area in which side P is sure of few moves of its own, and the other side O makes all
// other moves.
type contest struct {
	// P's queens that may move here, none of which is used elsewhere; O's queens; O's squares
	mine, theirs, empty amazons.Set

	counted int32 // what the tally counts
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

// Evaluate decides more positions than the function [Evaluate] and returns the same features. A nil
// Judge is that function.
func (j *Judge) Evaluate(s amazons.State) (Verdict, Features) {
	v, f, own, opp := evaluate(s)
	if v != Open || j == nil {
		return v, f
	}
	if v = j.sum(s, own, opp); v == Open && 12*f.Territory >= closingLead*bits.OnesCount64(s.Empty) {
		if _, ok := j.Closing(s); ok {
			v = Won
		}
	}
	return v, f
}

// closingLead is the lead in territory, in twelfths of the empty squares, from which Evaluate looks
// for a closing move. At this lead three of four positions have one. A smaller lead saves nodes and
// takes longer.
const closingLead = 5

// fill returns the squares of open that are 8-connected to the squares of from, which are in open.
func fill(from, open amazons.Set) amazons.Set {
	for {
		y := amazons.Grow(from) & open
		y = amazons.Grow(y) & open
		if y == from {
			return y
		}
		from = y
	}
}

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
	if !j.thorough() && (len(j.values) == 0 || farOff(s.Own, ownReach, oppReach, 3) &&
		farOff(s.Opp, oppReach, ownReach, 2)) {
		rest, open = all, all
	}
	for todo := used &^ rest; todo != 0; {
		c := fill(todo&-todo, all)
		todo &^= c
		v, ok := j.find(c&s.Own, c&s.Opp, c&s.Empty)
		if ok {
			j.trace.found(j, s, c)
		} else if bits.OnesCount64(c&s.Empty) <= j.set.AreaSearch {
			searched := value{j.sure(c&s.Own, 0, c&s.Opp, c&s.Empty), j.sure(c&s.Opp, 0, c&s.Own, c&s.Empty)}
			v = &searched
			j.trace.sure(s, c, searched)
		} else {
			rest |= c
			open |= c
			continue
		}
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

// thorough reports whether hopeless attempts are made, too.
func (j *Judge) thorough() bool { return j.set.AreaSearch > 0 || j.trace != nil }

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
	if !j.thorough() && j.hopeless(mine&near, theirs, theirReach, inside, &t, begins) {
		return false
	}
	blockers := mine & near & amazons.Grow(inside|mine&^near)

	used, n, wins := j.promise(mine, 0, near, blockers, inside, theirs, theirReach, &t, begins)
	if wins {
		return true
	}
	if !j.set.Retract || !j.thorough() && (n < -one && !begins || n < -3*one) {
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
	j.trace.walked(j, mine&^spared, near, blockers&^spared, inside)
	u := *t
	u.n += int32(moves) * one
	free := mine & near &^ used
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
	if len(j.values) > 0 {
		return false
	}
	// Most of the time there is one area only.
	c := fill(theirReach&-theirReach, theirs|theirReach)
	return c&theirReach == theirReach && n+min(queens, 1)*2*one < 0
}

// contests adds to t what P is sure of in the squares theirReach of the other side. free holds P's
// queens that may move there.
func (j *Judge) contests(free, blockers, theirs, theirReach amazons.Set, t *tally) {
	j.opens = 0
	for todo := theirReach; todo != 0; {
		c := fill(todo&-todo, theirs|theirReach|free)
		todo &^= c
		j.contested(c&free, c&free&blockers, c&theirs, c&theirReach, t)
	}
}

// wins reports whether P wins by the tally and, if it begins, a first move.
func (j *Judge) wins(t *tally, begins bool) bool {
	if !begins {
		j.trace.sum(t, ruleBounds, t.second())
		return t.second()
	}
	why := t.first(&j.set)
	if why == ruleNone && j.begin(t) {
		why = ruleFirst
	}
	j.trace.sum(t, why, why != ruleNone)
	return why != ruleNone
}

// begin reports whether P, to move, wins by a first move in a contested area. After the move P must
// win the sum with the other side to begin.
func (j *Judge) begin(t *tally) bool {
	if !j.set.FirstMove {
		return false
	}
	for i := range j.opens {
		c := &j.open[i]
		// The move takes a square from the other side, and there may be a safe move after it.
		u := *t
		if u.n = t.n - c.counted + (1-int32(bits.OnesCount64(c.empty)))*one; u.second() &&
			amazons.Grow(c.mine)&c.empty != 0 {
			j.trace.begins(c.empty)
			return true
		}
		if u.n += 2 * one; j.set.SafeMoves && u.second() && c.keepsSafe() {
			j.trace.begins(c.empty)
			return true
		}
	}
	return false
}

// keepsSafe reports whether P has a plod after which it still has a safe move.
func (c *contest) keepsSafe() bool {
	for q := c.mine; q != 0; q &= q - 1 {
		from := q & -q
		for to := amazons.Neighbours[bits.TrailingZeros64(q)&63] & c.empty; to != 0; to &= to - 1 {
			step := to & -to
			if safeMove(c.mine&^from|step, c.theirs, c.empty&^step) {
				return true
			}
		}
	}
	return false
}

// contested adds to t what P is sure of in one area. empty holds its squares, all of which O can use,
// mine P's queens that may move there, and bound the blockers among them.
func (j *Judge) contested(mine, bound, theirs, empty amazons.Set, t *tally) {
	size := int32(bits.OnesCount64(empty))
	n := -size * one
	safe := mine != 0 && j.set.SafeMoves && safeMove(mine, theirs, empty)
	if safe {
		n += 2 * one
	}
	found, known := tally{}, false
	if int(size) < j.largest && j.set.Databases {
		// The area without its blockers may be in the database, in one or several parts.
		if found, known = j.parts(mine&^bound, theirs, empty); known {
			known = found.n > n || found.n == n && found.relaxed == 0 && !found.odd
		}
	}
	if int(size) <= j.set.AreaSearch {
		// Played out, P's blockers move too.
		l := j.sure(mine, bound, theirs, empty)
		if !known || l.n > found.n {
			t.add(l)
			j.trace.contested(mine, theirs, empty, tally{n: l.n}, "local search", mine)
			return
		}
		if !found.odd && !found.spare {
			// instead of what was found; had that a star, the sum would keep it
			found.gain = max(found.gain, l.n+l.gain-found.n)
		}
	}
	if known {
		t.join(found)
		j.trace.contested(mine, theirs, empty, found, "database", mine&^bound)
		return
	}
	t.n += n
	if j.trace != nil {
		source, queens := safeSource(mine, theirs, empty, safe)
		j.trace.contested(mine, theirs, empty, tally{n: n}, source, queens)
	}
	if mine != 0 {
		j.open[j.opens&63] = contest{mine, theirs, empty, n}
		j.opens++
	}
}

// parts adds up the values of the areas that the squares make, P being Left.
func (j *Judge) parts(mine, theirs, empty amazons.Set) (t tally, ok bool) {
	squares := mine | theirs | empty
	for todo := empty; todo != 0; {
		c := fill(todo&-todo, squares)
		todo &^= c
		v, ok := j.find(c&mine, c&theirs, c&empty)
		if !ok {
			return t, false
		}
		t.add(v.own)
	}
	return t, true
}

// safeMove reports whether P has a move in an area after every move of O there. Each of P's queens
// mine may step to a touching square and shoot back; O moves freely. Rules 2 to 6 are special cases
// (Müller 2001, section 2.3.2; Song and Müller 2014, section IV.A.5). A move of O takes two squares,
// where its queen and its arrow end. It frees one, unless the queen shot back.
func safeMove(mine, theirs, empty amazons.Set) bool {
	near := amazons.Grow(mine)
	steps := near & empty
	if steps == 0 {
		return false
	}
	a := steps & -steps
	rest := steps &^ a
	if rest == 0 {
		// O's queen ends on a and shoots back, or its arrow ends there.
		at := amazons.Square(bits.TrailingZeros64(a))
		for q := theirs; q != 0; q &= q - 1 {
			from := q & -q
			to := amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty)
			if to&a != 0 {
				return false
			}
			if near&from == 0 && to&amazons.QueenTargets(at, empty|from) != 0 {
				return false
			}
		}
		return true
	}
	if rest&(rest-1) != 0 {
		return true
	}
	b := rest
	at := amazons.Square(bits.TrailingZeros64(a))
	for q := theirs &^ near; q != 0; q &= q - 1 {
		from := q & -q
		if amazons.QueenTargets(at, empty|from)&b != 0 &&
			amazons.QueenTargets(amazons.Square(bits.TrailingZeros64(q)), empty)&steps != 0 {
			return false
		}
	}
	return true
}

// territories returns how many moves P is sure of on the squares inside, which only P can use, and
// the blockers that P needs for them. near holds what touches squares of the other side.
func (j *Judge) territories(mine, near, blockers, inside amazons.Set) (moves int, used amazons.Set) {
	normal := mine &^ near
	for todo := inside; todo != 0; {
		c, n, needed, _ := j.territory(todo, normal, blockers, inside, used)
		todo &^= c
		moves += n
		used |= needed
	}
	return moves, used
}

// eachTerritory calls tell with each term of the sum of territories.
func (j *Judge) eachTerritory(mine, near, blockers, inside amazons.Set,
	tell func(squares amazons.Set, moves int, used amazons.Set, source string)) {
	used := amazons.Set(0)
	for todo := inside; todo != 0; {
		c, n, needed, known := j.territory(todo, mine&^near, blockers, inside, used)
		todo &^= c
		used |= needed
		source := "plodding"
		if known {
			source = "database"
		}
		tell(c, n, needed, source)
	}
}

// territory returns the territory with the lowest square of todo: its squares, how many moves P is
// sure of there without the blockers used before, which blockers these moves need, and whether the
// database says so.
func (j *Judge) territory(todo, normal, blockers, inside, before amazons.Set) (c amazons.Set, moves int,
	used amazons.Set, known bool) {
	if j.db != nil && j.set.Territories {
		// Territories that share a blocker are one area of the database, if it is small enough.
		// None of these blockers was used before: a territory that was counted alone was too large,
		// and so is every union with it.
		c = fill(todo&-todo, inside|normal|blockers)
		if c&before == 0 {
			if n, needed, ok := j.db.Territory(c&normal, c&blockers, c&inside); ok {
				return c, n, needed, true
			}
		}
	}
	c = fill(todo&-todo, inside|normal)
	edge := amazons.Grow(c) & blockers &^ before
	if j.db != nil && j.set.Territories {
		// The others stand still: they are not in the area.
		if n, needed, ok := j.db.Territory(c&normal, edge, c&inside); ok {
			return c | edge, n, needed, true
		}
	}
	moves, used = walk(c&normal, edge, c&inside)
	return c | edge, moves, used, false
}

// walk returns how many plods the queens make in t by a greedy walk, and which blockers moved. The
// normal queens walk first.
func walk(normal, blockers, t amazons.Set) (moves int, used amazons.Set) {
	for _, group := range [2]amazons.Set{normal, blockers} {
		for ; group != 0 && t != 0; group &= group - 1 {
			at := bits.TrailingZeros64(group)
			for begun := false; ; begun = true {
				steps := amazons.Neighbours[at&63] & t
				if steps == 0 {
					break
				}
				if !begun {
					used |= group & -group & blockers
				}
				at = bits.TrailingZeros64(steps)
				if steps &= steps - 1; steps != 0 {
					fewest := bits.OnesCount64(amazons.Neighbours[at&63] & t)
					for ; steps != 0; steps &= steps - 1 {
						to := bits.TrailingZeros64(steps)
						if around := bits.OnesCount64(amazons.Neighbours[to&63] & t); around < fewest {
							at, fewest = to, around
						}
					}
				}
				t &^= 1 << (at & 63)
				moves++
			}
		}
	}
	return moves, used
}
