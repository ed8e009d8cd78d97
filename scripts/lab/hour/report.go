package main

import (
	"fmt"
	"strings"
	"time"
)

// rows cuts the run into twelve parts; each begins with the last sample of the one before.
func (a *analysis) rows() (out [][]sample) {
	const parts = 12
	from := 0
	for i := 1; i <= parts; i++ {
		to := from
		for to+1 < len(a.run) && a.run[to+1].Seconds <= a.length*float64(i)/parts {
			to++
		}
		if to > from {
			out = append(out, a.run[from:to+1])
		}
		from = to
	}
	return out
}

// parts writes one row for each part of the run.
func (a *analysis) parts(line func(format string, args ...any)) {
	for _, part := range a.rows() {
		first, end := part[0], part[len(part)-1]
		most := func(f func(sample) float64) float64 { return greatest(column(part, f)) }
		few := func(f func(sample) float64) float64 { return least(column(part, f)) }
		stays := named(part, "steady")
		routines := column(stays, func(w worker) float64 { return w.Goroutines })
		live := column(stays, func(w worker) float64 { return w.Live / mib })
		files := func(s sample) float64 { return float64(s.FDs) }
		line("| %.1f | %.1f | %.0f | %.2f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f-%.0f | %.0f-%.0f | %.0f-%.0f | "+
			"%.1f | %.1f | %.1f | %.1f | %.0f-%.0f | %.1f |", end.Seconds/60, end.WorkersCPU-first.WorkersCPU,
			rate(part, done), rate(part, func(s sample) float64 { return s.Results }), end.Results-first.Results,
			end.Expired-first.Expired, end.Tree, end.Facts, end.Proved,
			few(func(s sample) float64 { return s.Goroutines }), most(func(s sample) float64 { return s.Goroutines }),
			few(files), most(files),
			few(func(s sample) float64 { return s.Streams }), most(func(s sample) float64 { return s.Streams }),
			few(func(s sample) float64 { return s.Live })/mib, explained(end)/mib,
			most(func(s sample) float64 { return s.Anon })/mib, end.Store/mib, least(routines), greatest(routines),
			least(live))
	}
}

// layouts writes what the store was made of at each look into it.
func layouts(r run, line func(format string, args ...any)) {
	if len(r.Layouts) == 0 {
		return
	}
	line("## What the store is made of")
	line("")
	line("Bytes of keys and values, and of the pages that hold them. A fact and a certificate take 61 and 57 " +
		"bytes, a tree position that has been searched or split 45, and what its children began with; the bytes " +
		"of certificates lie beside the file; hints are what")
	line("workers' tables knew of unsolved positions, %d at most. Each record takes 16 bytes more in its page, "+
		"and pages are partly empty.", hintRecords)
	line("")
	head, rule := "| minute | file | in pages |", "| --- | --- | --- |"
	for _, p := range r.Layouts[0].Info.Layout.Parts {
		head, rule = head+" "+p.Kind+" |", rule+" --- |"
	}
	line("%s", head+" free | beyond | other |")
	line("%s", rule+" --- | --- | --- |")
	for _, l := range r.Layouts {
		in := l.Info.Layout
		text, pages := "", int64(0)
		for _, p := range in.Parts {
			text += fmt.Sprintf(" %d: %d in %d |", p.Records, p.Bytes, p.Pages)
			pages += p.Pages
		}
		line("| %.0f | %d | %d |%s %d | %d | %d |", l.Seconds/60, l.Info.FileBytes, pages, text, in.FreeBytes,
			in.BeyondBytes, in.HeaderBytes+in.ListBytes)
	}
	line("")
}

// report writes everything down as Markdown.
func (a *analysis) report(r run) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	question := r.Setup.Board
	if len(r.Setup.FirstMoves) > 0 {
		question += " after " + strings.Join(r.Setup.FirstMoves, " or ")
	}
	last := a.run[len(a.run)-1]
	line("# A campaign with workers coming and going: %s", question)
	line("")
	line("`scripts/hour --minutes %g --seed %d`, %s, %d cores that other work shared: %g minutes in which workers "+
		"got %.0f s of processor time. One worker stayed;", r.Setup.Minutes, r.Setup.Seed,
		r.Setup.Began.Format(time.DateOnly), r.Setup.Cores, r.Setup.Minutes, last.WorkersCPU)
	joins := 0
	for _, e := range r.Events {
		if e.What == "join" {
			joins++
		}
	}
	line("%d others came, %d at a time, each with one core and a table of %s, one going and one coming every %v, "+
		"by SIGTERM, SIGKILL or two signals. First leases of %d nodes, and positions", joins-1,
		r.Setup.Passing, r.Setup.Table, r.Setup.Period, firstBudget)
	line("split after %d, make many results and a tree that grows. Build: %s.", splitAfter, r.Setup.Build)
	if r.Final != nil && r.Final.Stood > 0 {
		line("For %.0f s more the machine had all its processes stopped; that time is not counted.", r.Final.Stood)
	}
	line("")
	line("| minute | workers' s | nodes/s | results/s | results | expired | tree | facts | proved | goroutines | " +
		"files | streams | live heap | explained | resident | store | steady: goroutines | live heap |")
	line("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | " +
		"--- | --- |")
	a.parts(line)
	line("")
	line("Each line is about the time since the line before. Nodes and results are for each processor second that " +
		"the workers got. Sizes are in MiB: the smallest live heap that a collection found, what of it the tree,")
	line("facts and certificates take by the documentation, and the most resident memory without maps of files: "+
		"proved positions are in that, with %d bytes each at most.", bytesPerProved)
	line("")
	if len(a.after) > 0 {
		before, after := a.before[len(a.before)-1], a.after[len(a.after)-1]
		line("| master without workers | goroutines | files | threads | live heap | explained | resident | store |")
		line("| --- | --- | --- | --- | --- | --- | --- | --- |")
		for _, s := range []struct {
			name string
			sample
		}{{"before", before}, {"afterwards", after}} {
			line("| %s | %.0f | %d | %.0f | %.1f | %.1f | %.1f | %.1f |", s.name, s.Goroutines, s.FDs, s.Threads,
				s.Live/mib, explained(s.sample)/mib, s.Anon/mib, s.Store/mib)
		}
		line("")
	}
	layouts(r, line)
	line("## What must hold")
	line("")
	line("| | what, with its tolerance | found |")
	line("| --- | --- | --- |")
	for _, c := range a.checks {
		mark := "yes"
		if !c.ok {
			mark = "**NO**"
		}
		line("| %s | %s | %s |", mark, c.what, strings.ReplaceAll(strings.TrimSpace(c.got), "\n", " "))
	}
	return b.String()
}
