package eval

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cgt"
)

// Explanation says how a position was judged. Numbers are seen by Black, as in the papers.
type Explanation struct {
	Position amazons.Position
	Verdict  Verdict // for the side to move
	Rule     string  // the winner rule that gave the verdict; empty where it is Open
	// Areas holds the areas whose exact values the database knows, then what each side is sure of in the others.
	Areas []AreaBounds
	Sums  []SideSum // what each side is sure of in all, the side to move first; missing where nobody can move
}

// AreaBounds is one area of an explanation.
type AreaBounds struct {
	For     string      // "both", "black" or "white": whose bound it is
	Squares amazons.Set // all squares
	Kind    string      // simple, blocker or active
	Bounds  string      // such as "[1, 3]"
	Source  string      // database, plodding, safe move and its rule, local search
	Queens  amazons.Set // queens of that side that the bound uses here: they are used nowhere else
}

// SideSum is the sum of one side's bounds.
type SideSum struct {
	For   string    // "black" or "white"
	Bound cgt.Bound // a lower one for Black, an upper one for White
	Wins  bool
}

// Text is the bound in words.
func (s SideSum) Text() string {
	if s.For == "white" {
		return s.Bound.N.String() + [3]string{"", ", less", ", but for an infinitesimal"}[s.Bound.Strength] + " or less"
	}
	return s.Bound.N.String() + [3]string{"", ", more", ", but for an infinitesimal"}[s.Bound.Strength] + " or more"
}

// trace records what a judge does. All methods do nothing on a nil trace.
type trace struct {
	p       amazons.Position
	colour  amazons.Colour // of the side at work
	both    []AreaBounds
	sides   [2]attempt // by who was at work: the side to move, the other
	at      int
	extra   string // rule of local search
	verdict Verdict
}

// attempt is one way of using blockers.
type attempt struct {
	areas []AreaBounds
	total tally
	why   rule
	wins  bool
	kept  *attempt // the first attempt, while others are tried
}

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
	t.both = append(t.both, AreaBounds{For: "both", Squares: c, Kind: kind, Bounds: v.Bounds().String(), Source: "database, " + v.Kind().String()})
}

// black turns a lower bound of the side at work into bounds seen by Black, the other bound being upper.
func (t *trace) black(lower cgt.Bound, upper int) string {
	b := cgt.Bounds{Lower: lower, Upper: cgt.Bound{N: cgt.Int(int64(upper))}}
	if t.colour == amazons.White {
		b = b.Neg()
	}
	return b.String()
}

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

func (t *trace) add(a AreaBounds) {
	a.For = t.colour.String()
	t.sides[t.at].areas = append(t.sides[t.at].areas, a)
}

// walked records the territories of the side at work.
func (t *trace) walked(j *Judge, mine, near, blockers, inside amazons.Set) {
	if t == nil {
		return
	}
	j.eachTerritory(mine, near, blockers, inside, func(squares amazons.Set, moves int, used amazons.Set, source string) {
		kind := "simple"
		if squares&blockers != 0 || amazons.Grow(squares)&^squares&(t.p.Black|t.p.White) != 0 { // one that is spared is not in squares
			kind = "blocker"
		}
		t.add(AreaBounds{Squares: squares, Kind: kind, Source: source, Queens: squares & mine &^ (blockers &^ used),
			Bounds: t.black(cgt.Bound{N: cgt.Int(int64(moves))}, bits.OnesCount64(squares&inside))})
	})
}

func (t *trace) contested(mine, bound, theirs, empty amazons.Set, total tally, source string) {
	if t == nil {
		return
	}
	a := AreaBounds{Squares: mine | theirs | empty, Kind: "active", Source: source, Queens: mine}
	if source == "database" {
		a.Queens &^= bound
	}
	if mine == 0 {
		a.Kind = "simple"
	}
	a.Bounds = t.black(total.bound(), bits.OnesCount64(empty))
	t.add(a)
}

// safeSource names the rule behind a bound of a contested area (Song and Müller 2014, section IV.A.5, with the four rules of Müller
// 2001, section 2.3, in their order there).
func safeSource(mine, empty amazons.Set, safe, n int32) string {
	if n != (2*safe-int32(bits.OnesCount64(empty)))*one {
		return "safe move, and the other side's moves alone from the database"
	}
	if safe == 2 {
		return "two safe moves"
	}
	if safe == 0 {
		return "no safe move"
	}
	switch bits.OnesCount64(amazons.Grow(mine) & empty) {
	case 1:
		return "safe move, 1 AES (rules 4 and 5)"
	case 2:
		return "safe move, 2 AES (rules 3 and 6)"
	}
	return "safe move, 3 AES (rule 2)"
}

func (t *trace) local(s amazons.State, fight amazons.Set, v Verdict) {
	if t == nil {
		return
	}
	t.both = append(t.both, AreaBounds{For: "both", Squares: fight & (s.Own | s.Opp | s.Empty), Kind: "active", Bounds: "not computed", Source: "local search: " + v.String() + " for the side to move"})
	t.extra, t.verdict = "local search", v
}

var ruleNames = map[rule]string{
	ruleBounds:    "sum of the bounds",
	ruleTightened: "sum of the bounds, tightened",
	ruleStar:      "first move in a star",
	ruleFuzzy:     "first move in a fuzzy infinitesimal",
	ruleHot:       "first move in a hot area",
	ruleFirst:     "first move in a contested area (rule 1)",
}

// Explain says how p is judged: its areas, what is known of them and from where, the sums, the verdict and its rule. It takes its
// time.
func (j *Judge) Explain(p amazons.Position) Explanation {
	if j == nil {
		j = NewJudge(nil, Settings{})
	}
	s := p.State()
	e := Explanation{Position: p}
	e.Verdict, _ = j.Evaluate(s)
	k := j.Clone()
	t := &trace{p: p, colour: p.ToMove}
	k.trace = t
	own, opp := amazons.Flood(s.Own, s.Empty), amazons.Flood(s.Opp, s.Empty)
	if own|opp == 0 {
		e.Rule = "the side to move has no move"
		return e
	}
	sum := k.sum(s, own, opp)
	e.Areas = append(e.Areas, t.both...)
	for i, side := range []amazons.Colour{p.ToMove, p.ToMove.Other()} {
		a := &t.sides[i]
		e.Areas = append(e.Areas, a.areas...)
		b := a.total.bound()
		if side == amazons.White {
			b.N = b.N.Neg()
		}
		e.Sums = append(e.Sums, SideSum{For: side.String(), Bound: b, Wins: a.wins})
		if a.wins && sum == e.Verdict {
			e.Rule = ruleNames[a.why]
		}
	}
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
	}
	return e
}

// Winner returns who wins, in words.
func (e *Explanation) Winner() string {
	switch e.Verdict {
	case Won:
		return e.Position.ToMove.String()
	case Lost:
		return e.Position.ToMove.Other().String()
	}
	return "unknown"
}

func names(x amazons.Set) []string {
	out := []string{}
	for ; x != 0; x &= x - 1 {
		out = append(out, amazons.Square(bits.TrailingZeros64(x)).String())
	}
	return out
}

// MarshalJSON writes the explanation as one object; squares are names such as "B4".
func (e Explanation) MarshalJSON() ([]byte, error) {
	type jsonArea struct {
		For     string   `json:"for"`
		Squares []string `json:"squares"`
		Kind    string   `json:"kind"`
		Bounds  string   `json:"bounds"`
		Source  string   `json:"source"`
		Queens  []string `json:"queens"`
	}
	type jsonSum struct {
		For    string `json:"for"`
		Bounds string `json:"bounds"`
		Wins   bool   `json:"wins"`
	}
	areas, sums := []jsonArea{}, []jsonSum{}
	for _, a := range e.Areas {
		areas = append(areas, jsonArea{a.For, names(a.Squares), a.Kind, a.Bounds, a.Source, names(a.Queens)})
	}
	for _, s := range e.Sums {
		sums = append(sums, jsonSum{s.For, s.Text(), s.Wins})
	}
	return json.Marshal(struct {
		MessageType string     `json:"message_type"`
		Position    string     `json:"position"`
		Verdict     string     `json:"verdict"`
		Winner      string     `json:"winner"`
		Rule        string     `json:"rule"`
		Areas       []jsonArea `json:"areas"`
		Sums        []jsonSum  `json:"sums"`
	}{"eval", e.Position.String(), e.Verdict.String(), e.Winner(), e.Rule, areas, sums})
}

// Text is the explanation for people.
func (e *Explanation) Text() string {
	var sb strings.Builder
	sb.WriteString(e.Position.Text())
	for i, a := range e.Areas {
		fmt.Fprintf(&sb, "\n%c  %-5s %-8s %-14s %s\n   %s", 'a'+rune(i), a.For, a.Kind, a.Bounds, a.Source, strings.Join(names(a.Squares), " "))
		if a.Queens != 0 {
			fmt.Fprintf(&sb, "; queens %s", strings.Join(names(a.Queens), " "))
		}
	}
	sb.WriteByte('\n')
	for _, s := range e.Sums {
		fmt.Fprintf(&sb, "\n%s is sure of %s", s.For, s.Text())
	}
	fmt.Fprintf(&sb, "\n%s for the side to move", e.Verdict)
	if e.Verdict != Open {
		fmt.Fprintf(&sb, ": %s wins by %s", e.Winner(), e.Rule)
	}
	sb.WriteByte('\n')
	return sb.String()
}

// SVG is the board with the areas marked, and what Text says of each below it.
func (e *Explanation) SVG() string {
	// The picture of a position with its coordinates: squares of 48, 24 at the left, 6 at the top.
	const square, left, top = 48, 24, 6
	b := e.Position.Board
	board := e.Position.SVG(amazons.SVGOptions{})
	width, height := max(left+square*int(b.Width)+top, 640), top+square*int(b.Height)+46
	colours := []string{"#1d5fa8", "#c2321f", "#2e7d32", "#8e24aa", "#ef6c00", "#00838f", "#6d4c41", "#c2185b"}
	var sb strings.Builder
	fmt.Fprintf(&sb, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="Helvetica, Arial, sans-serif" font-size="13">`+"\n", width, height+20*(len(e.Areas)+len(e.Sums)+2))
	sb.WriteString(board)
	for i, a := range e.Areas {
		colour := colours[i%len(colours)]
		for x := a.Squares; x != 0; x &= x - 1 {
			sq := amazons.Square(bits.TrailingZeros64(x))
			inset := 2 + 3*(i%5)
			fmt.Fprintf(&sb, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="%s" stroke-width="2"/>`+"\n",
				left+square*sq.File()+inset, top+square*(int(b.Height)-1-sq.Rank())+inset, square-2*inset, square-2*inset, colour)
		}
	}
	y := height
	line := func(colour, text string) {
		y += 20
		text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
		fmt.Fprintf(&sb, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left, y, colour, text)
	}
	for i, a := range e.Areas {
		text := fmt.Sprintf("%c  %s, %s %s, %s", 'a'+rune(i), a.For, a.Kind, a.Bounds, a.Source)
		if a.Queens != 0 {
			text += "; queens " + strings.Join(names(a.Queens), " ")
		}
		line(colours[i%len(colours)], text)
	}
	for _, s := range e.Sums {
		line("#40362b", s.For+" is sure of "+s.Text())
	}
	text := e.Verdict.String() + " for the side to move"
	if e.Verdict != Open {
		text += ": " + e.Winner() + " wins by " + e.Rule
	}
	line("#40362b", text)
	sb.WriteString("</svg>\n")
	return sb.String()
}
