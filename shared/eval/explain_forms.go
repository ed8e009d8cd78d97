package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/svg"
)

// letter names an area: a to z, then A to Z. There are at most 16 areas known to both sides, twice,
// and 16 of each side.
func letter(i int) string {
	return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ????????????"[i&63 : i&63+1]
}

// line returns an area in words.
func (a *AreaBounds) line() string {
	text := fmt.Sprintf("%-5s %-7s %-12s %s", a.For, a.Kind, a.Bounds, a.Source)
	if a.Queens != 0 {
		text += "; queens " + strings.Join(amazons.Names(a.Queens), " ")
	}
	return text
}

// conclusion returns the sums and the verdict in words.
func (e *Explanation) conclusion() (lines []string) {
	for _, s := range e.Sums {
		lines = append(lines, s.For+" is sure that Black leads by "+s.Text())
	}
	if len(e.Sums) > 0 {
		lines = append(lines, "lead of Black in all "+e.Bounds.String())
	}
	if e.Searched != nil {
		lines = append(lines, "lead of Black with local search "+e.Searched.String())
	}
	verdict := e.Verdict.String() + " for the side to move"
	if e.Verdict != Open {
		verdict += ": " + e.Winner() + " wins: " + e.Rule
	}
	return append(lines, verdict)
}

// MarshalJSON writes the explanation as one object; squares are names such as "B4", and bounds are
// written as in the papers, with e for an infinitesimal.
func (e Explanation) MarshalJSON() ([]byte, error) {
	type jsonArea struct {
		Name    string   `json:"name"`
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
	for i, a := range e.Areas {
		areas = append(areas, jsonArea{letter(i), a.For, amazons.Names(a.Squares), a.Kind, a.Bounds.String(), a.Source,
			amazons.Names(a.Queens)})
	}
	for _, s := range e.Sums {
		sums = append(sums, jsonSum{s.For, s.Text(), s.Wins})
	}
	bounds, searched := "", ""
	if len(e.Sums) > 0 {
		bounds = e.Bounds.String()
	}
	if e.Searched != nil {
		searched = e.Searched.String()
	}
	return json.Marshal(struct {
		MessageType string     `json:"message_type"`
		Position    string     `json:"position"`
		Verdict     string     `json:"verdict"`
		Winner      string     `json:"winner"`
		Rule        string     `json:"rule"`
		Areas       []jsonArea `json:"areas"`
		Sums        []jsonSum  `json:"sums"`
		Bounds      string     `json:"bounds,omitempty"`
		Searched    string     `json:"searched,omitempty"`
	}{"eval", e.Position.String(), e.Verdict.String(), e.Winner(), e.Rule, areas, sums, bounds, searched})
}

// Text returns the explanation for people: the board, the board with the letters of the areas on its
// squares (once for each side, where they differ), the areas, the sums and the verdict.
func (e *Explanation) Text() string {
	var sb strings.Builder
	sb.WriteString(e.Position.Text())
	sides := []string{}
	for _, s := range e.Sums {
		if slices.ContainsFunc(e.Areas, func(a AreaBounds) bool { return a.For == s.For }) {
			sides = append(sides, s.For)
		}
	}
	if len(sides) == 0 && len(e.Areas) > 0 {
		sides = []string{"both"}
	}
	for _, side := range sides {
		e.marked(&sb, side)
	}
	for i, a := range e.Areas {
		fmt.Fprintf(&sb, "\n%s  %s\n   %s", letter(i), a.line(), strings.Join(amazons.Names(a.Squares), " "))
	}
	if len(e.Areas) > 0 {
		sb.WriteByte('\n')
	}
	sb.WriteByte('\n')
	for _, line := range e.conclusion() {
		sb.WriteString(line + "\n")
	}
	return sb.String()
}

// marks returns the letters of the areas of a square for the given sides ("both" is one).
func (e *Explanation) marks(square amazons.Square, sides ...string) (letters string) {
	for i, a := range e.Areas {
		if a.Squares&square.Bit() != 0 && slices.Contains(sides, a.For) {
			letters += letter(i)
		}
	}
	return letters
}

// marked draws the board with the letters of the areas.
func (e *Explanation) marked(sb *strings.Builder, side string) {
	b := e.Position.Board
	var cells [64]string
	width := 0
	for sq := range amazons.Squares(b.Mask()) {
		cells[sq&63] = string(e.Position.Letter(sq)) + e.marks(sq, "both", side)
		width = max(width, len(cells[sq&63]))
	}
	if side == "both" {
		fmt.Fprintf(sb, "\nareas\n")
	} else {
		fmt.Fprintf(sb, "\nareas as %s counts them\n", side)
	}
	for r := int(b.Height) - 1; r >= 0; r-- {
		row := fmt.Sprint(r+1, " ")
		for f := range int(b.Width) {
			row += fmt.Sprintf(" %-*s", width, cells[b.Square(f, r)&63])
		}
		sb.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	row := "  "
	for f := range int(b.Width) {
		row += fmt.Sprintf(" %-*c", width, 'A'+f)
	}
	sb.WriteString(strings.TrimRight(row, " ") + "\n")
}

// SVG is the board with the areas marked, and what Text says of each below it.
func (e *Explanation) SVG() string {
	// The picture of a position with its coordinates: squares of 48, 24 at the left, 6 at the top.
	const square, left, top = 48, 24, 6
	b := e.Position.Board
	width, height := max(left+square*int(b.Width)+top, 640), top+square*int(b.Height)+46
	colours := []string{"#1d5fa8", "#c2321f", "#2e7d32", "#8e24aa", "#ef6c00", "#00838f", "#6d4c41", "#c2185b"}
	var sb strings.Builder
	all := height + 20*(len(e.Areas)+len(e.conclusion())+1)
	w := svg.Begin(&sb, width, all, "width", width, "height", all, "font-family", "Helvetica, Arial, sans-serif",
		"font-size", 13)
	w.Picture(e.Position.SVG(nil))
	for i, a := range e.Areas {
		colour := colours[i%len(colours)]
		for sq := range amazons.Squares(a.Squares) {
			inset := 2 + 3*(i%5)
			w.Element("rect", "x", left+square*sq.File()+inset, "y", top+square*(int(b.Height)-1-sq.Rank())+inset,
				"width", square-2*inset, "height", square-2*inset, "fill", "none", "stroke", colour, "stroke-width", 2)
		}
	}
	// The letters: those of both and of Black at the upper left, those of White at the lower right.
	for sq := range amazons.Squares(b.Mask()) {
		at := [2]int{left + square*sq.File(), top + square*(int(b.Height)-1-sq.Rank())}
		mark := func(x, y int, anchor, text string) {
			if text != "" {
				w.Label("text", text, "x", x, "y", y, "font-size", 11, "stroke", "#ffffff", "stroke-width", 3,
					"paint-order", "stroke", "text-anchor", anchor)
			}
		}
		mark(at[0]+3, at[1]+12, "start", e.marks(sq, "both", "black"))
		mark(at[0]+square-3, at[1]+square-4, "end", e.marks(sq, "white"))
	}
	y := height
	line := func(colour, text string) {
		y += 20
		w.Label("text", text, "x", left, "y", y, "fill", colour)
	}
	for i, a := range e.Areas {
		line(colours[i%len(colours)], letter(i)+"  "+a.line())
	}
	for _, text := range e.conclusion() {
		line("#40362b", text)
	}
	_ = w.End() // a strings.Builder accepts everything
	return sb.String()
}
