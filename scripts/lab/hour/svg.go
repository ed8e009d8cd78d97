package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// curve is a line of a panel.
type curve struct {
	name, colour string
	x, y         []float64
}

// panel is one of the pictures above each other.
type panel struct {
	title  string
	curves []curve
}

// The picture's measures.
const (
	pictureWidth, panelHeight = 840, 150
	edgeLeft, edgeRight       = 76, 170
	panelTop, panelLow        = 26, 22
)

// picture draws what went on over time.
func picture(r run, a *analysis) string {
	var minutes []float64
	for _, s := range a.run {
		minutes = append(minutes, s.Seconds/60)
	}
	of := func(name, colour string, f func(sample) float64) curve {
		return curve{name: name, colour: colour, x: minutes, y: column(a.run, f)}
	}
	const blue, red, green, grey, brown = "#1d5fa8", "#c2321f", "#2a7d2a", "#777", "#8a5a00"
	// Rates are over a twelfth of the run.
	window := max(2, len(a.run)/12)
	var x, nodes []float64
	for i := window; i < len(a.run); i++ {
		part := a.run[i-window : i+1]
		x = append(x, (part[0].Seconds+part[window].Seconds)/120)
		nodes = append(nodes, rate(part, done))
	}
	stays, at := named(a.run, "steady")
	steady := func(name, colour string, f func(worker) float64) curve {
		c := curve{name: name, colour: colour}
		for i, w := range stays {
			c.x, c.y = append(c.x, at[i]/60), append(c.y, f(w))
		}
		return c
	}
	parts := func(name, colour string, f func(layout) float64) curve {
		c := curve{name: name, colour: colour}
		for _, l := range r.Layouts {
			c.x, c.y = append(c.x, min(l.Seconds/60, a.length/60)), append(c.y, f(l)/mib)
		}
		return c
	}
	kinds := func(want ...string) func(layout) float64 {
		return func(l layout) (total float64) {
			for _, p := range l.Info.Layout.Parts {
				for _, k := range want {
					if p.Kind == k {
						total += float64(p.Pages)
					}
				}
			}
			return total
		}
	}
	panels := []panel{
		{"nodes for each processor second of the workers", []curve{{name: "nodes", colour: blue, x: x, y: nodes}}},
		{"the master's goroutines, files and workers",
			[]curve{of("goroutines", blue, func(s sample) float64 { return s.Goroutines }),
				of("open files", green, func(s sample) float64 { return float64(s.FDs) }),
				of("workers", red, func(s sample) float64 { return s.Connected })}},
		{"the master's memory, MiB", []curve{of("resident", grey, func(s sample) float64 { return s.Anon / mib }),
			of("live heap", blue, func(s sample) float64 { return s.Live / mib }),
			of("explained", red, func(s sample) float64 { return explained(s) / mib })}},
		{"what the master knows, thousands", []curve{of("tree positions", blue,
			func(s sample) float64 { return s.Tree / 1000 }),
			of("proved positions / 100", green, func(s sample) float64 { return s.Proved / 1e5 }),
			of("results", red, func(s sample) float64 { return s.Results / 1000 })}},
		{"the store, MiB", []curve{of("file", grey, func(s sample) float64 { return s.Store / mib }),
			parts("certificates", green, kinds("chunks", "certificates")),
			parts("memories", brown, kinds("memories")), parts("tree and facts", blue, kinds("nodes", "facts")),
			parts("free", red, func(l layout) float64 {
				return float64(l.Info.Layout.FreeBytes +
					l.Info.Layout.BeyondBytes)
			})}},
		{"the worker that stays: goroutines, and MiB of live heap",
			[]curve{steady("goroutines", blue, func(w worker) float64 { return w.Goroutines }),
				steady("live heap", red, func(w worker) float64 { return w.Live / mib })}},
	}
	var b strings.Builder
	height := len(panels)*panelHeight + 40
	title := "A campaign with workers coming and going: " + r.Setup.Board
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="Helvetica, Arial, sans-serif" font-size="11">`+"\n", pictureWidth, height, html.EscapeString(title))
	fmt.Fprintf(&b, `<title>%s</title><rect width="%d" height="%d" fill="white"/>`+"\n", html.EscapeString(title),
		pictureWidth, height)
	for i, p := range panels {
		p.draw(&b, i*panelHeight+8, a.length/60)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="#555">minutes</text>`+
		"\n</svg>\n", (edgeLeft+pictureWidth-edgeRight)/2, height-10)
	return b.String()
}

// draw draws a panel whose upper edge is at top, over so many minutes.
func (p panel) draw(b *strings.Builder, top int, minutes float64) {
	most := 0.0
	for _, c := range p.curves {
		most = max(most, greatest(c.y))
	}
	most = roundUp(most)
	upper, lower := float64(top+panelTop), float64(top+panelHeight-panelLow)
	x := func(m float64) float64 { return edgeLeft + (pictureWidth-edgeLeft-edgeRight)*m/minutes }
	y := func(v float64) float64 { return lower - (lower-upper)*max(0, v)/most }
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13">%s</text>`+"\n", edgeLeft, top+16, html.EscapeString(p.title))
	for i := range 3 {
		v := most * float64(i) / 2
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end" fill="#555">%g</text>`+"\n", edgeLeft, y(v), pictureWidth-edgeRight, edgeLeft-6, y(v)+4, v)
	}
	for i := range 7 {
		m := minutes * float64(i) / 6
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555">%.3g</text>`+"\n", x(m), lower+14, m)
	}
	for i, c := range p.curves {
		var line []string
		for j := range c.x {
			if !math.IsNaN(c.y[j]) && !math.IsInf(c.y[j], 0) {
				line = append(line, fmt.Sprintf("%.1f,%.1f", x(c.x[j]), y(c.y[j])))
			}
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.4"/>`+
			"\n", strings.Join(line, " "), c.colour)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", pictureWidth-edgeRight+8, upper+10+
			float64(15*i), c.colour, html.EscapeString(c.name))
	}
}

// roundUp returns the next number above v of the form 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= v {
			return f * power
		}
	}
	return 10 * power
}
