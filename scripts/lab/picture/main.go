// Command picture draws the picture of a campaign that the README shows: proof and disproof
// number of the root over time, and the winning move. scripts/picture runs a campaign and calls it
// with what the master's /api/status and /api/history said.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"amazonsfarm/master/document"
	"amazonsfarm/shared/amazons"
)

// history is what /api/history says, columns of equal length.
type history struct {
	Seconds []float64 `json:"seconds_ago"`
	Phi     []uint32  `json:"proof_number"`
	Delta   []uint32  `json:"disproof_number"`
	Nodes   []uint64  `json:"nodes"`
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "picture: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("give the files with the answers of /api/status and /api/history")
	}
	var s document.Status
	var h history
	for i, into := range []any{&s, &h} {
		data, err := os.ReadFile(args[i])
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("%s: %w", args[i], err)
		}
	}
	text, err := picture(s, h)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// The picture's measures.
const (
	width, height           = 840, 330
	left, right, top, below = 88, 568, 64, 44 // the curves' edges; below is from the lower one
)

// picture draws a campaign that is settled.
func picture(s document.Status, h history) (string, error) {
	if s.Certificate == nil || len(h.Seconds) < 2 || len(h.Phi) != len(h.Seconds) || len(h.Delta) != len(h.Seconds) {
		return "", errors.New("there is no settled campaign with a history in these files")
	}
	root, err := amazons.ParsePosition(s.Root)
	if err != nil {
		return "", err
	}
	// Points after the answer say nothing.
	end := slices.IndexFunc(h.Phi, func(x uint32) bool { return x == 0 })
	if other := slices.IndexFunc(h.Delta, func(x uint32) bool { return x == 0 }); end < 0 || other >= 0 && other < end {
		end = other
	}
	if end < 1 {
		end = len(h.Seconds) - 1
	}
	begin, span := h.Seconds[0], h.Seconds[0]-h.Seconds[end]
	if span <= 0 {
		return "", errors.New("the campaign was over before its second moment")
	}
	most := 10.0
	for i := range end {
		most = max(most, float64(h.Phi[i]), float64(h.Delta[i]))
	}
	x := func(ago float64) float64 { return left + (right-left)*(begin-ago)/span }
	y := func(v float64) float64 {
		return height - below - (height-below-top)*math.Log10(max(v, 1))/math.Ceil(math.Log10(most))
	}
	var b strings.Builder
	title := fmt.Sprintf("%s: the %s player wins", s.Board, s.Winner)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", width, height, html.EscapeString(title))
	fmt.Fprintf(&b, `<title>%s</title><rect width="%d" height="%d" fill="white"/>`+"\n", html.EscapeString(title),
		width, height)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="17">%s</text>`+"\n", left, html.EscapeString(title))
	fmt.Fprintf(&b, `<text x="%d" y="44" fill="#555">%s positions expanded; certificate of %s positions, %.1f MB, verified</text>`+"\n",
		left, thousands(s.Nodes), thousands(s.Certificate.Positions), float64(s.Certificate.Bytes)/1e6)
	for power := 0; power <= int(math.Ceil(math.Log10(most))); power++ {
		v := math.Pow10(power)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#555">%s</text>`+"\n", left, y(v), right, left-8, y(v)+4, thousands(uint64(v)))
	}
	for i := range 5 {
		at := span * float64(i) / 4
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%.0f s</text>`+
			"\n", x(begin-at), height-below+18, at)
	}
	for _, c := range []struct {
		name, colour string
		values       []uint32
		at           int
	}{{"proof number: what a win of the first player seems to cost", "#1d5fa8", h.Phi, 0},
		{"disproof number: the same of a loss", "#c2321f", h.Delta, 1}} {
		var line []string
		for i := range end {
			line = append(line, fmt.Sprintf("%.1f,%.1f", x(h.Seconds[i]), y(float64(c.values[i]))))
		}
		// At the end the one falls to zero, which has no place on this scale, and the other has no
		// bound.
		last := height - below
		if c.values[end] != 0 {
			last = top
		}
		line = append(line, fmt.Sprintf("%.1f,%d", x(h.Seconds[end]), last))
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+
			"\n", strings.Join(line, " "), c.colour)
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+8, height-below-26+
			16*c.at, c.colour, c.name)
	}
	shown, options := root, amazons.SVGOptions{Bare: true}
	caption := "the root"
	for _, f := range s.FirstMoves {
		if f.Verdict == "wins" {
			m, err := root.ParseMove(f.Move)
			if err != nil {
				return "", err
			}
			shown, options.Last, caption = root.After(m), &m, f.Move+" wins"
			break
		}
	}
	board := shown.SVG(options)
	place := fmt.Sprintf(`<svg x="%d" y="%d" width="%d" height="%d" `, right+24, top-12, width-right-48,
		height-top-below+24)
	_, body, ok := strings.Cut(board, " viewBox=")
	if !ok {
		return "", errors.New("a board's picture has no viewBox")
	}
	b.WriteString(place + "viewBox=" + strings.TrimRight(body, "\n"))
	fmt.Fprintf(&b, "\n"+`<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n</svg>\n", (right+width)/2, height-12,
		html.EscapeString(caption))
	return b.String(), nil
}

// thousands writes a number with commas.
func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
