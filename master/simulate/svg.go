package simulate

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// mark is a point of a picture that is not of a run.
type mark struct {
	workers    int
	efficiency float64
	name       string
}

// reached is what others measured: JL-PNS on 16 cores, SPDFPN on 16 threads, SPOTS (2025) on 1,024
// cores.
var reached = []mark{{16, 0.54, "JL-PNS"}, {16, 0.74, "SPDFPN"}, {1024, 0.325, "SPOTS"}}

// goals are what a curve should reach.
var goals = []mark{{16, 0.75, ""}, {128, 0.55, ""}, {1024, 0.40, ""}}

// The picture's measures.
const (
	pictureWidth, pictureHeight             = 640, 400
	marginLeft, marginRight, marginTop, low = 56, 24, 40, 48
)

// WriteSVG draws efficiency over the number of workers, on a logarithmic scale, with what others
// reached and the goals.
func (c Curve) WriteSVG(out io.Writer, title string) error {
	most := 1024
	for _, r := range c.Runs {
		most = max(most, r.Workers)
	}
	x := func(workers int) float64 {
		return marginLeft + (pictureWidth-marginLeft-marginRight)*math.Log2(float64(workers))/math.Log2(float64(most))
	}
	top := 1.0
	for _, r := range c.Runs {
		top = max(top, Efficiency(c.Runs[0], r))
	}
	y := func(e float64) float64 { return pictureHeight - low - (pictureHeight-marginTop-low)*e/top }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", pictureWidth, pictureHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", pictureWidth, pictureHeight)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">%s</text>`+"\n", marginLeft, html.EscapeString(title))
	for e := 0.0; e <= top+1e-9; e += 0.25 {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.2f</text>`+"\n",
			marginLeft, y(e), pictureWidth-marginRight, marginLeft-8, y(e)+4, e)
	}
	for n := 1; n <= most; n *= 2 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(n), pictureHeight-low+18, n)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">virtual workers</text>`+
		"\n", pictureWidth/2, pictureHeight-10)
	fmt.Fprintf(&b, `<text x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">parallel efficiency</text>`+
		"\n", pictureHeight/2, pictureHeight/2)
	var line []string
	for _, g := range goals {
		line = append(line, fmt.Sprintf("%.1f,%.1f", x(g.workers), y(g.efficiency)))
	}
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#2a2" stroke-dasharray="5 4"/><text x="%.1f" y="%.1f" fill="#2a2">goal</text>`+"\n",
		strings.Join(line, " "), x(128)+6, y(0.55)-6)
	for _, m := range reached {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="4" fill="#c33"/><text x="%.1f" y="%.1f" text-anchor="end" fill="#c33">%s %.3g</text>`+"\n",
			x(m.workers), y(m.efficiency), x(m.workers)-8, y(m.efficiency)+4, m.name, m.efficiency)
	}
	line = nil
	for _, r := range c.Runs {
		e := Efficiency(c.Runs[0], r)
		line = append(line, fmt.Sprintf("%.1f,%.1f", x(r.Workers), y(e)))
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="#25a"><title>%d workers: %.3f</title></circle>`+
			"\n", x(r.Workers), y(e), r.Workers, e)
	}
	fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="#25a" stroke-width="2"/>`+
		"\n</svg>\n", strings.Join(line, " "))
	_, err := io.WriteString(out, b.String())
	return err
}
