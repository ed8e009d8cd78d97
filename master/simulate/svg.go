package simulate

import (
	"fmt"
	"io"
	"math"
	"strings"

	"amazonsfarm/shared/svg"
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
	most := max(1024, c.Runs[len(c.Runs)-1].Workers) // runs are in the order of their workers
	x := func(workers int) float64 {
		return marginLeft + (pictureWidth-marginLeft-marginRight)*math.Log2(float64(workers))/math.Log2(float64(most))
	}
	top := 1.0
	for _, r := range c.Runs {
		top = max(top, Efficiency(c.Runs[0], r))
	}
	y := func(e float64) float64 { return pictureHeight - low - (pictureHeight-marginTop-low)*e/top }
	w := svg.Begin(out, pictureWidth, pictureHeight, "font-family", "sans-serif", "font-size", 12)
	w.Element("rect", "width", pictureWidth, "height", pictureHeight, "fill", "white")
	w.Label("text", title, "x", marginLeft, "y", 20, "font-size", 14)
	for e := 0.0; e <= top+1e-9; e += 0.25 {
		w.Element("path", "d", fmt.Sprintf("M%d %sH%d", marginLeft, svg.Number(y(e)), pictureWidth-marginRight),
			"stroke", "#ddd")
		w.Label("text", fmt.Sprintf("%.2f", e), "x", marginLeft-8, "y", y(e)+4, "text-anchor", "end")
	}
	for n := 1; n <= most; n *= 2 {
		w.Label("text", fmt.Sprint(n), "x", x(n), "y", pictureHeight-low+18, "text-anchor", "middle")
	}
	w.Label("text", "virtual workers", "x", pictureWidth/2, "y", pictureHeight-10, "text-anchor", "middle")
	w.Label("text", "parallel efficiency", "x", 14, "y", pictureHeight/2, "text-anchor", "middle",
		"transform", fmt.Sprintf("rotate(-90 14 %d)", pictureHeight/2))
	line := func(points []string, attributes ...any) {
		w.Element("polyline", append([]any{"points", strings.Join(points, " "), "fill", "none"}, attributes...)...)
	}
	point := func(workers int, e float64) string { return svg.Number(x(workers)) + "," + svg.Number(y(e)) }
	var points []string
	for _, g := range goals {
		points = append(points, point(g.workers, g.efficiency))
	}
	line(points, "stroke", "#2a2", "stroke-dasharray", "5 4")
	w.Label("text", "goal", "x", x(128)+6, "y", y(0.55)-6, "fill", "#2a2")
	for _, m := range reached {
		w.Element("circle", "cx", x(m.workers), "cy", y(m.efficiency), "r", 4, "fill", "#c33")
		w.Label("text", fmt.Sprintf("%s %.3g", m.name, m.efficiency), "x", x(m.workers)-8, "y", y(m.efficiency)+4,
			"text-anchor", "end", "fill", "#c33")
	}
	points = nil
	for _, r := range c.Runs {
		e := Efficiency(c.Runs[0], r)
		points = append(points, point(r.Workers, e))
		w.Open("circle", "cx", x(r.Workers), "cy", y(e), "r", 3.5, "fill", "#25a")
		w.Label("title", fmt.Sprintf("%d workers: %.3f", r.Workers, e))
		w.Close()
	}
	line(points, "stroke", "#25a", "stroke-width", 2)
	return w.End()
}
