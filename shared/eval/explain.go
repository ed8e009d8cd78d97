package eval

import (
	"fmt"
	"math/bits"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
	"amazonsfarm/shared/cgt"
	"amazonsfarm/shared/endgame"
)

// Explanation says how a position was judged. Numbers are seen by Black, as in the papers.
type Explanation struct {
	Position amazons.Position
	Verdict  Verdict // for the side to move
	Rule     string  // the winner rule that gave the verdict; empty where it is Open
	// Areas holds first the areas whose exact values the database knows, then what each side is sure
	// of in the others, then the results of local search in the others, where Searched has their sum.
	Areas []AreaBounds
	Sums  []SideSum // what each side is sure of in all, the side to move first; empty where nobody can move
	// Bounds holds the two sums as the papers write them. Black is sure of the lower bound, White of
	// the upper one.
	Bounds cgt.Bounds
	// Searched holds the bounds with local search in place of the rules, nil where none was needed, or
	// it would have taken too long.
	Searched *cgt.Bounds
}

// AreaBounds is one area of an explanation.
type AreaBounds struct {
	For     string      // "both", "black" or "white": whose bound it is
	Squares amazons.Set // all squares
	Kind    string      // simple, blocker or active
	Bounds  cgt.Bounds  // the bound of the side named; for the other side the number of squares
	Source  string      // database, plodding, safe move and its rule, local search
	Queens  amazons.Set // queens of that side that the bound uses here and nowhere else
}

// SideSum is the sum of one side's bounds.
type SideSum struct {
	For   string    // "black" or "white"
	Bound cgt.Bound // a lower one for Black, an upper one for White
	Wins  bool
}

// Text returns the bound in words.
func (s SideSum) Text() string {
	form := [3]string{"%s or more", "more than %s", "%s or more, but for an infinitesimal"}
	if s.For == "white" {
		form = [3]string{"%s or less", "less than %s", "%s or less, but for an infinitesimal"}
	}
	return fmt.Sprintf(form[s.Bound.Strength], s.Bound.N)
}

// trace records the steps of a judge. A nil trace records nothing.
type trace struct {
	p       amazons.Position
	colour  amazons.Colour // of the side at work
	stops   int            // Settings.Stops
	both    []AreaBounds
	sides   [2]attempt // by who was at work: the side to move, the other
	at      int
	begun   amazons.Set // empty squares of the area in which a first move wins
	extra   string      // rule of local search
	verdict Verdict
	// Where local search was needed: how many of the last areas of both are its own, and the sum of
	// all areas with its bounds.
	played   int
	searched *cgt.Bounds
}

// attempt is one way of using blockers.
type attempt struct {
	areas []AreaBounds
	total tally
	why   rule
	wins  bool
	kept  *attempt // the first attempt, while others are tried
}

// turn goes on to the other side.
func (t *trace) turn() {
	if t != nil {
		t.at, t.colour = 1, t.colour.Other()
	}
}

// again begins another attempt of the side at work.
func (t *trace) again() {
	if t == nil {
		return
	}
	a := &t.sides[t.at]
	first := a.kept
	if first == nil {
		c := *a
		first = &c
	}
	*a = attempt{kept: first}
}

// begins records the area of a winning first move.
func (t *trace) begins(empty amazons.Set) {
	if t != nil {
		t.begun = empty
	}
}

// sum records the end of an attempt. A failed second attempt leaves the first one.
func (t *trace) sum(total *tally, why rule, wins bool) {
	if t == nil {
		return
	}
	a := &t.sides[t.at]
	if !wins && a.kept != nil {
		*a = attempt{areas: a.kept.areas, total: a.kept.total, kept: a.kept}
		return
	}
	a.total, a.why, a.wins = *total, why, wins
}

// found records the area c, whose value is in the database.
func (t *trace) found(j *Judge, s amazons.State, c amazons.Set) {
	if t == nil {
		return
	}
	black, white := t.p.Black&c, t.p.White&c
	v, _ := j.db.Value(black, white, c&s.Empty)
	kind := "active"
	if black == 0 || white == 0 {
		kind = "simple"
	}
	source := "database, " + v.Kind().String()
	if tail := v.Tail(); tail != cgt.Zero && tail != cgt.NoTail {
		source += ", " + tail.String()
	}
	t.both = append(t.both, AreaBounds{For: "both", Squares: c, Kind: kind, Bounds: v.Bounds(), Source: source,
		Queens: black | white})
}

// black converts a lower bound of the side at work, and the other bound upper, into bounds for Black.
func (t *trace) black(lower cgt.Bound, upper int) cgt.Bounds {
	b := cgt.Bounds{Lower: lower, Upper: cgt.Bound{N: cgt.Int(int64(upper))}}
	if t.colour == amazons.White {
		b = b.Neg()
	}
	return b
}

// bound returns the tally as one bound.
func (t *tally) bound() cgt.Bound {
	n, _ := cgt.NewDyadic(int64(t.n), 16) // always in range
	b := cgt.Bound{N: n}
	switch {
	case t.relaxed > 0 || t.odd && !t.spare:
		b.Strength = cgt.Relaxed
	case t.tightened && !t.odd:
		b.Strength = cgt.Tightened
	}
	return b
}

// add records an area of the side at work.
func (t *trace) add(a AreaBounds) {
	a.For = t.colour.String()
	t.sides[t.at].areas = append(t.sides[t.at].areas, a)
}

// walked records the territories of the side at work.
func (t *trace) walked(j *Judge, mine, near, blockers, inside amazons.Set) {
	if t == nil {
		return
	}
	before := amazons.Set(0)
	for todo := inside; todo != 0; {
		squares, moves, used, known := j.territory(todo, mine&^near, blockers, inside, before)
		todo &^= squares
		before |= used
		kind, source := "simple", "plodding"
		absent := amazons.Grow(squares) &^ squares & t.own() // blockers that are spared or used elsewhere
		if squares&blockers|absent != 0 {
			kind = "blocker"
		}
		upper := bits.OnesCount64(squares & inside)
		if known {
			source = "database"
			if absent == 0 {
				upper = moves
			}
		}
		t.add(AreaBounds{Squares: squares, Kind: kind, Source: source, Queens: squares & mine &^ (blockers &^ used),
			Bounds: t.black(cgt.Bound{N: cgt.Int(int64(moves))}, upper)})
	}
}

// own returns the queens of the side at work.
func (t *trace) own() amazons.Set {
	if t.colour == amazons.White {
		return t.p.White
	}
	return t.p.Black
}

// contested records a contested area of the side at work.
func (t *trace) contested(mine, theirs, empty amazons.Set, total tally, source string, queens amazons.Set) {
	if t == nil {
		return
	}
	a := AreaBounds{Squares: mine | theirs | empty, Kind: "active", Source: source, Queens: queens}
	if amazons.Grow(a.Squares)&t.own() == 0 {
		a.Kind = "simple"
	}
	a.Bounds = t.black(total.bound(), bits.OnesCount64(empty))
	t.add(a)
}

// safeSource names the rule behind the bound of a contested area, and the queens that the rule needs.
// Rules 2 to 4 are those of Müller 2001, section 2.3, rules 5 and 6 those of Song and Müller 2014,
// section IV.A.5.
func safeSource(mine, theirs, empty amazons.Set, safe bool) (source string, queens amazons.Set) {
	switch {
	case mine == 0:
		return "the number of squares", 0
	case !safe:
		return "no safe move", mine
	}
	// One queen by itself, the one with the most adjacent empty squares.
	most := 0
	for q := mine; q != 0; q &= q - 1 {
		if n := bits.OnesCount64(amazons.Grow(q&-q) & empty); n > most && safeMove(q&-q, theirs, empty) {
			most, queens = n, q&-q
		}
	}
	switch most {
	case 0: // several queens: the other side would free a square for one of them
	case 1:
		return "safe move, 1 empty square beside it (paper's rule 4)", queens
	case 2:
		return "safe move, 2 empty squares beside it (paper's rule 3)", queens
	default:
		return "safe move, 3 empty squares beside it (paper's rule 2)", queens
	}
	switch bits.OnesCount64(amazons.Grow(mine) & empty) {
	case 1:
		return "safe move of several queens, 1 empty square beside them (paper's rule 5)", mine
	case 2:
		return "safe move of several queens, 2 empty squares beside them (paper's rule 6)", mine
	}
	return "safe move of several queens, 3 empty squares beside them", mine
}

// local records the result of local search: the stops of each area, relaxed, since a search does not
// tell infinitesimals (Song and Müller 2014, section IV.A.6). The judge itself plays the areas out
// together, which does.
func (t *trace) local(fight, rest amazons.Set, v Verdict) {
	if t == nil {
		return
	}
	t.extra, t.verdict = "local search", v
	var sum cgt.Bounds
	for _, a := range t.both {
		sum = sum.Add(a.Bounds)
	}
	var p area.Partition
	searched := 0
	solver := endgame.Solver{Stop: func() error {
		if searched++; t.stops > 0 && searched > t.stops {
			return endgame.ErrLarge
		}
		return nil
	}}
	known := len(t.both)
	fight &= rest
	p.Basic(t.p.Black&fight, t.p.White&fight, t.p.State().Empty&fight)
	for _, a := range p.Areas() {
		v, err := solver.Value(a.Black, a.White, a.Empty)
		if err != nil {
			t.both = t.both[:known] // too large, or a value out of range: the sum would say nothing
			return
		}
		b := v.Bounds()
		if a.Kind == area.Active {
			left, right := v.Stops()
			b = cgt.Bounds{Lower: cgt.Bound{N: right, Strength: cgt.Relaxed},
				Upper: cgt.Bound{N: left, Strength: cgt.Relaxed}}
		}
		sum = sum.Add(b)
		t.both = append(t.both, AreaBounds{For: "both", Squares: a.Squares(), Kind: a.Kind.String(), Bounds: b,
			Source: "local search", Queens: a.Black | a.White})
	}
	t.played, t.searched = len(p.Areas()), &sum
}

// guarded records the verdict of guarded search, which has no bounds.
func (t *trace) guarded(v Verdict) {
	if t != nil && v != Open {
		t.extra, t.verdict = "guarded search", v
	}
}

var ruleNames = map[rule]string{
	ruleBounds:    "sum of the bounds",
	ruleTightened: "sum of the bounds, tightened",
	ruleStar:      "first move in a star",
	ruleFuzzy:     "first move in a fuzzy infinitesimal",
	ruleHot:       "first move in a hot area",
	ruleFirst:     "first move in an active area (rule 1)",
}

// Explain judges p and returns the reasons: the areas with their bounds and sources, the sums, the
// verdict and its rule. It is much slower than Evaluate.
func (j *Judge) Explain(p amazons.Position) Explanation {
	if j == nil {
		j = NewJudge(nil, Settings{})
	}
	s := p.State()
	e := Explanation{Position: p}
	e.Verdict = j.Verdict(s)
	k := j.Clone()
	t := &trace{p: p, colour: p.ToMove, stops: j.set.Stops}
	k.trace = t
	own, opp := amazons.Flood(s.Own, s.Empty), amazons.Flood(s.Opp, s.Empty)
	if own|opp == 0 {
		e.Rule = "the side to move has no move"
		return e
	}
	sum := k.sum(s, own, opp)
	e.Searched = t.searched
	known := len(t.both) - t.played
	e.Areas = append(e.Areas, t.both[:known]...)
	for i, side := range []amazons.Colour{p.ToMove, p.ToMove.Other()} {
		a := &t.sides[i]
		e.Areas = append(e.Areas, a.areas...)
		b := a.total.bound()
		if side == amazons.White {
			b.N = b.N.Neg()
		}
		e.Sums = append(e.Sums, SideSum{For: side.String(), Bound: b, Wins: a.wins})
		if side == amazons.White {
			e.Bounds.Upper = b
		} else {
			e.Bounds.Lower = b
		}
		if a.wins && sum == e.Verdict {
			e.Rule = ruleNames[a.why]
			for i := len(e.Areas) - len(a.areas); a.why == ruleFirst && i < len(e.Areas); i++ {
				if e.Areas[i].Kind == "active" && e.Areas[i].Squares&t.begun == t.begun {
					e.Rule = "first move in area " + letter(i) + " (rule 1)"
				}
			}
		}
	}
	e.Areas = append(e.Areas, t.both[known:]...)
	base, _ := Evaluate(s)
	switch {
	case e.Verdict == Open:
		e.Rule = ""
	case own&amazons.Grow(s.Own) == 0:
		e.Rule = "the side to move has no move"
	case base == e.Verdict && e.Rule == "":
		e.Rule = "counting lemma"
	case e.Rule == "" && t.verdict == e.Verdict:
		e.Rule = t.extra
	case e.Rule == "":
		m, _ := j.Closing(s)
		e.Rule = "first move that closes squares off: " + m.String()
	}
	return e
}

// Winner returns the winner in words: white or black; empty where it is open.
func (e *Explanation) Winner() string { return e.Verdict.Winner(e.Position.ToMove) }
