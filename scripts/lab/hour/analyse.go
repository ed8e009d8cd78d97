package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"amazonsfarm/master/store/report"
)

const mib = 1 << 20

// What the documentation says things take, in bytes: the help of "master serve", tree.Config and
// SCHEMA.md. What is kept of a certificate is its name, twice, in a table.
const (
	bytesPerTreeNode    = 400
	bytesPerFact        = 150
	bytesPerCertificate = 128
	bytesPerProved      = 16 // at most, outside the Go heap (shared/proof/ledger.go)
	// at the worker that made it: 40 for a won position and 40 for a lost one, of which there are
	// fewer
	bytesPerEntry   = 80
	bytesRemembered = 40 * (8 << 20) // by a worker at most: maxEntries of package engine
	nodeRecord      = 16 + 25 + 4
	// at most, for each tree position: 10 in each parent's record, of which it has two on average
	// at most
	childNumbers      = 20
	factRecord        = 16 + 41 + 4
	certificateRecord = 32 + 21 + 4 // and who has verified it
	maxVerified       = 200
	hintRecords       = 64
	hintRecord        = 16 + mib + 4
)

// check is one thing that must hold.
type check struct {
	what string // must hold, with its tolerance
	got  string
	ok   bool
}

// analysis is what a run shows.
type analysis struct {
	run, before, after []sample
	checks             []check
	length             float64 // seconds
	short              bool    // too short for rates and slopes: their tolerances are wide
}

func (a *analysis) failed() (n int) {
	for _, c := range a.checks {
		if !c.ok {
			n++
		}
	}
	return n
}

func (a *analysis) check(ok bool, what, format string, args ...any) {
	a.checks = append(a.checks, check{what, fmt.Sprintf(format, args...), ok})
}

// column takes one figure out of samples, or of those of a worker.
func column[S sample | worker](from []S, f func(S) float64) []float64 {
	out := make([]float64, len(from))
	for i, s := range from {
		out[i] = f(s)
	}
	return out
}

// span returns the samples of the run between two shares of its time.
func (a *analysis) span(from, to float64) (out []sample) {
	for _, s := range a.run {
		if s.Seconds >= from*a.length && s.Seconds <= to*a.length {
			out = append(out, s)
		}
	}
	return out
}

// done is what workers have searched, also what they have not brought in yet.
func done(s sample) float64 { return s.Nodes + s.Running }

// rate returns by how much a figure grew for each processor second that the workers got between the
// first and the last sample.
func rate(span []sample, f func(sample) float64) float64 {
	if len(span) < 2 {
		return math.NaN()
	}
	first, last := span[0], span[len(span)-1]
	return (f(last) - f(first)) / (last.WorkersCPU - first.WorkersCPU)
}

// explained is the part of the Go heap that what the master has to know takes, by the
// documentation. The table of proved positions lies outside.
func explained(s sample) float64 {
	return bytesPerTreeNode*s.Tree + bytesPerFact*s.Facts + bytesPerCertificate*s.Certificates
}

// named returns the samples of one worker.
func named(from []sample, name string) (out []worker) {
	for _, s := range from {
		for _, w := range s.Workers {
			if w.Name == name && w.Seen {
				out = append(out, w)
			}
		}
	}
	return out
}

// analyse goes over a run. The error says that there is too little of it.
func analyse(r run) (*analysis, error) {
	a := &analysis{}
	for _, s := range r.Samples {
		switch s.Phase {
		case "before":
			a.before = append(a.before, s)
		case "after":
			a.after = append(a.after, s)
		default:
			a.run = append(a.run, s)
		}
	}
	if len(a.before) == 0 || len(a.run) < 12 {
		return nil, errors.New("there are too few samples for a report")
	}
	a.length = a.run[len(a.run)-1].Seconds
	a.short = r.Setup.Minutes < 20
	a.ending(r)
	a.leaks()
	a.memory()
	a.throughput()
	a.steady(r)
	a.store(r)
	return a, nil
}

// ending looks at how workers and the master ended, and what the master held against workers.
func (a *analysis) ending(r run) {
	ends, wrong, joined, slow, late, stopped := map[string]int{}, []string{}, map[string]float64{}, 0.0, 0, 0
	for _, e := range r.Events {
		if e.What == "join" {
			joined[e.Name] = e.Seconds
			continue
		}
		way, _, _ := strings.Cut(e.What, " ")
		ends[way]++
		if a.stopped(e) {
			stopped++
			continue
		}
		slow = max(slow, e.Took)
		young := e.Seconds-joined[e.Name] < 5 // it may not have known yet what to do with a signal
		switch {
		case e.What == "kill" || e.Code == -1 && young:
		case e.What == "term" && e.Code == 0, e.What == "interrupt" && (e.Code == 130 || e.Code == 0):
		case e.What == "term" && e.Code == 1 && e.Took >= drainPatience:
			late++
		default:
			wrong = append(wrong, fmt.Sprintf("%s by %s with %d", e.Name, e.What, e.Code))
		}
	}
	a.check(len(wrong) == 0, fmt.Sprintf("a worker ends with 0 after one signal, or with 1 when it cannot deliver "+
		"within %d s what it has (it gets too little of the processor), and with 130 after two (0 where it was "+
		"done before)", drainPatience),
		"%d by one signal, %d of them too late, %d by two, %d by SIGKILL; the slowest took %.1f s; %d more were "+
			"stopped by somebody else (SIGSTOP) when they were to end; wrong: %s",
		ends["term"], late, ends["interrupt"], ends["kill"], slow, stopped, nothing(wrong))
	last := r.Samples[len(r.Samples)-1]
	a.check(last.Offences == 0, "the master holds nothing against any worker",
		"%.0f offences; others contradicted %.0f of %.0f results", last.Offences, last.Doubts, last.Compared)
	most := 2 * float64(ends["kill"]+ends["interrupt"])
	a.check(last.Expired <= most+0.1*last.Granted,
		"leases expire for workers that were killed, two each, and at most one in ten beside (a worker without a "+
			"processor is silent, too)",
		"%.0f of %.0f leases expired; %.0f results and facts came too late or twice", last.Expired, last.Granted,
		last.Refused)
	if r.Final == nil {
		a.check(false, "the run ends", "there is no end of it in the file")
		return
	}
	a.check(r.Final.Code == 130, "the master ends with 130 after one SIGINT", "%d", r.Final.Code)
	a.check(r.Final.Checked == "", "master store check finds nothing", "%s", nothing([]string{r.Final.Checked}))
	a.check(len(r.Missed) <= len(a.run)/20, "at most one look in twenty finds no answer in time", "%d of %d",
		len(r.Missed), len(a.run)+len(r.Missed))
}

// drainPatience is how long a worker tries to deliver what it has after a first signal, in seconds
// (agent.Config.DrainTimeout).
const drainPatience = 30

// stopped reports whether a worker that did not end had no processor time at all meanwhile:
// somebody had stopped it.
func (a *analysis) stopped(e event) bool {
	if !strings.HasSuffix(e.What, unending) {
		return false
	}
	var cpu []float64
	for _, s := range a.run {
		for _, w := range s.Workers {
			if w.Name == e.Name && s.Seconds >= e.Seconds && s.Seconds <= e.Seconds+e.Took {
				cpu = append(cpu, w.CPU)
			}
		}
	}
	return len(cpu) > 1 && least(cpu) == greatest(cpu)
}

func nothing(list []string) string {
	if text := strings.Join(list, ", "); text != "" {
		return text
	}
	return "nothing"
}

// leaks looks at what each worker costs while it is there, and whether the master is afterwards
// what it was before.
func (a *analysis) leaks() {
	figures := []struct {
		name    string
		of      func(sample) float64
		each    float64 // at most for a connected worker
		forLoad float64 // beside it, in the samples before and after
	}{
		{"goroutines", func(s sample) float64 { return s.Goroutines }, 8, 2},
		{"open files", func(s sample) float64 { return float64(s.FDs) }, 2, 2},
	}
	for _, f := range figures {
		x := make([][]float64, len(a.run))
		for i, s := range a.run {
			x[i] = []float64{s.Connected, s.Seconds / 3600}
		}
		b, most, err := fit(x, column(a.run, f.of))
		if err != nil {
			a.check(false, f.name+" by connected workers and time", "%v", err)
			continue
		}
		drift := b[2] * a.length / 3600
		a.check(b[1] <= f.each && drift <= f.forLoad,
			fmt.Sprintf("%s of the master: at most %.0f for a connected worker, and no more than %.0f more at the "+
				"end of the run", f.name, f.each, f.forLoad),
			"%.1f + %.2f a worker %+.2f an hour, at most %.1f off", b[0], b[1], b[2], most)
		if len(a.after) > 0 {
			before, after := median(column(a.before, f.of)), least(column(a.after, f.of))
			a.check(after <= before+f.forLoad, fmt.Sprintf(
				"%s of the master without workers: afterwards as before, +%.0f", f.name, f.forLoad),
				"%.0f before, %.0f afterwards", before, after)
		}
	}
	off := 0
	for _, s := range a.run {
		if math.Abs(s.Streams-s.Connected) > 1 {
			off++
		}
	}
	a.check(off <= len(a.run)/50+1, "open work streams are those of connected workers, but for one that comes or "+
		"goes in a sample", "%d of %d samples differ by more", off, len(a.run))
	if len(a.after) > 0 {
		last := a.after[len(a.after)-1]
		a.check(last.Streams == 0 && last.Connected == 0 &&
			last.Leases == 0, "without workers no stream, no worker and no lease is left", "%.0f, %.0f, %.0f",
			last.Streams, last.Connected, last.Leases)
	}
}

// Allowances of the memory checks, in bytes: claims of the 256 certificates named last, buffers of
// streams, and what is not documented.
const (
	heapAllowance     = 16 * mib
	residentAllowance = 48 * mib
	driftAllowance    = 8 * mib
)

// memory compares the master's heap with what it must know. The heap after a collection holds
// certificates that are just being verified, too; the smallest of some samples is without them.
func (a *analysis) memory() {
	live := func(s sample) float64 { return s.Live }
	tail := a.span(0.9, 1)
	if len(a.after) > 0 {
		tail = a.after
	}
	growth, known := least(column(tail, live))-median(column(a.before, live)), explained(tail[0])-explained(a.before[0])
	allowance := float64(heapAllowance)
	if a.short {
		allowance *= 8 // collections are rare, and the last one may have met a certificate that was being verified
	}
	a.check(growth <= known+allowance, fmt.Sprintf(
		"the master's heap grows by no more than what it has to know takes (%d bytes a tree node, %d a fact, %d a "+
			"certificate), +%d MiB",
		bytesPerTreeNode, bytesPerFact, bytesPerCertificate, int(allowance)/mib), "by %.1f MiB; explained are %.1f MiB",
		growth/mib, known/mib)
	a.resident()
	if a.short {
		return
	}
	// What is left when the explained part is taken away must not grow with time.
	var x [][]float64
	var y []float64
	for from := 0.2; from < 0.99; from += 0.05 {
		span := a.span(from, from+0.05)
		if len(span) == 0 {
			continue
		}
		x = append(x, []float64{span[len(span)-1].Seconds / a.length})
		y = append(y, least(column(span, func(s sample) float64 { return s.Live - explained(s) })))
	}
	if b, most, err := fit(x, y); err != nil {
		a.check(false, "the unexplained part of the heap over time", "%v", err)
	} else {
		a.check(b[1] <= driftAllowance, fmt.Sprintf(
			"the unexplained part of the heap grows by no more than %d MiB in the run (its smallest in each "+
				"twentieth of the time)", driftAllowance/mib),
			"%+.1f MiB in the run, at most %.1f MiB off the line", b[1]/mib, most/mib)
	}
}

// resident compares what the system has given the master with its heap and its store.
func (a *analysis) resident() {
	live := func(s sample) float64 { return s.Live }
	anon := func(s sample) float64 { return s.Anon }
	peak := greatest(column(a.run, live))
	resident := greatest(column(a.span(0.5, 1), anon))
	table := bytesPerProved * greatest(column(a.run, func(s sample) float64 { return s.Proved }))
	a.check(resident <= 2*peak+table+residentAllowance,
		fmt.Sprintf("resident memory, without maps of files, at most twice the largest live heap (garbage "+
			"collection), %d bytes a proved position, +%d MiB", bytesPerProved, residentAllowance/mib),
		"%.1f MiB; the largest live heap %.1f MiB, the table %.1f MiB", resident/mib, peak/mib, table/mib)
	over := 0.0
	for _, s := range a.run {
		over = max(over, s.File-s.Store)
	}
	a.check(over <= residentAllowance, fmt.Sprintf("maps of files: the store's at most, and the program's %d MiB",
		residentAllowance/mib), "at most %.1f MiB beside the store", over/mib)
}

// throughput compares rates for each processor second that the workers really got.
func (a *analysis) throughput() {
	floor := 0.9
	if a.short {
		floor = 0.4
	}
	second, last := rate(a.span(0.25, 0.5), done), rate(a.span(0.75, 1), done)
	a.check(last >= floor*second, fmt.Sprintf("nodes for each processor second of workers: the last quarter at "+
		"least %.0f %% of the second", 100*floor), "%.0f, the second %.0f: %.0f %%", last, second, 100*last/second)
	// The master's own work for a result, which must not grow with its tree.
	cost := func(span []sample) float64 {
		first, last := span[0], span[len(span)-1]
		return 1000 * (last.CPU - first.CPU) / max(1, last.Results-first.Results+last.Certificates-first.Certificates)
	}
	if a.short {
		return // too few results
	}
	early, late := cost(a.span(0.25, 0.5)), cost(a.span(0.75, 1))
	a.check(late <= 2*early+5, "processor time of the master for each result or certificate: the last quarter at "+
		"most twice the second +5 ms", "%.1f ms, the second %.1f ms", late, early)
}

// steady looks at the worker that stayed.
func (a *analysis) steady(r run) {
	second := named(a.span(0.25, 0.5), "steady")
	last := named(a.span(0.75, 1), "steady")
	if len(second) == 0 || len(last) == 0 {
		a.check(false, "the worker that stays is seen", "it is not")
		return
	}
	of := func(f func(worker) float64) (early, late []float64) { return column(second, f), column(last, f) }
	early, late := of(func(w worker) float64 { return w.Goroutines })
	a.check(median(late) <= median(early)+1 && greatest(late) <= greatest(early)+
		4, "goroutines of the worker that stays: in the last quarter as in the second, +1, and the most +4",
		"%.0f, at most %.0f; the second %.0f, %.0f", median(late), greatest(late), median(early), greatest(early))
	early, late = of(func(w worker) float64 { return float64(w.FDs) })
	a.check(median(late) <= median(early)+1, "its open files: the same, +1", "%.0f; the second %.0f", median(late),
		median(early))
	known := min(bytesPerEntry*last[len(last)-1].Entries, bytesRemembered)
	early, late = of(func(w worker) float64 { return w.Live })
	a.check(least(late) <= known+heapAllowance, fmt.Sprintf(
		"its heap is no more than what it remembers to have proved takes (%d bytes an entry, won and lost; %d MiB "+
			"at most), +%d MiB", bytesPerEntry, bytesRemembered/mib, heapAllowance/mib),
		"%.1f MiB, the second quarter %.1f MiB; explained are %.1f MiB", least(late)/mib, least(early)/mib, known/mib)
	peak := greatest(column(append(second, last...), func(w worker) float64 { return w.Live }))
	_, late = of(func(w worker) float64 { return w.Anon })
	bound := float64(r.Setup.TableBytes) + 2*peak + residentAllowance
	a.check(greatest(late) <= bound, fmt.Sprintf("its resident memory: its table and twice its largest live "+
		"heap +%d MiB", residentAllowance/mib), "%.1f MiB of %.1f MiB", greatest(late)/mib, bound/mib)
	a.check(last[len(last)-1].Joins == 1, "it has joined once: it was never cut off", "%.0f times",
		last[len(last)-1].Joins)
}

// store says what the file is made of.
func (a *analysis) store(r run) {
	if len(r.Layouts) == 0 {
		a.check(false, "the store was looked into", "it was not")
		return
	}
	for i, l := range r.Layouts {
		in, parts := l.Info, int64(0)
		records := map[string]int{}
		for _, p := range in.Layout.Parts {
			parts += p.Pages
			records[p.Kind] = p.Records
		}
		sum := parts + in.Layout.HeaderBytes + in.Layout.ListBytes + in.Layout.FreeBytes + in.Layout.BeyondBytes
		if bad := a.records(in.Layout); sum != in.FileBytes || len(bad) > 0 {
			a.check(false, "each look into the store: its parts add up to its size, and records are as large as "+
				"SCHEMA.md says", "look %d: %d of %d bytes; %s", i+1, sum, in.FileBytes, nothing(bad))
			return
		}
	}
	last := r.Layouts[len(r.Layouts)-1].Info
	a.check(true, "each look into the store: its parts add up to its size, and records are as large as SCHEMA.md says",
		"%d looks, the last one: %d bytes", len(r.Layouts), last.FileBytes)
	var wide []string
	for _, p := range last.Layout.Parts {
		if p.Records == 0 || p.Pages < 64<<10 {
			continue
		}
		if over := float64(p.Pages) / float64(p.Bytes+16*int64(p.Records)); over > 2.2 {
			wide = append(wide, fmt.Sprintf("%s %.2f", p.Kind, over))
		}
	}
	a.check(len(wide) == 0, "pages take at most 2.2 times their records (a B+ tree's pages are half full at least, "+
		"and those above them some percent)", "more: %s", nothing(wide))
	// What is free was hints and pages on the way to others; it must not grow with the campaign.
	free := last.Layout.FreeBytes + last.Layout.BeyondBytes
	bound := int64(3*hintRecords*256<<10 + 32*mib)
	a.check(free <= max(bound, last.FileBytes/3), fmt.Sprintf(
		"free and not yet used: at most a third of the file or %d MiB (hints are replaced all the time, and the "+
			"file grows by up to 16 MiB at once)", bound/mib),
		"%.1f of %.1f MiB", float64(free)/mib, float64(last.FileBytes)/mib)
}

// records compares the bytes of each kind with the size of its records.
func (a *analysis) records(l report.Layout) (bad []string) {
	for _, p := range l.Parts {
		n, ok := int64(p.Records), true
		switch p.Kind {
		case "nodes":
			ok = p.Bytes >= n*nodeRecord && float64(p.Bytes) <= float64(n*nodeRecord)+
				childNumbers*greatest(column(a.run, func(s sample) float64 { return s.Tree }))
		case "facts":
			ok = p.Bytes == n*factRecord
		case "certificates":
			ok = p.Bytes >= n*certificateRecord && p.Bytes <= n*(certificateRecord+maxVerified)
		case "memories":
			ok = n <= hintRecords && p.Bytes <= n*hintRecord
		}
		if !ok {
			bad = append(bad, fmt.Sprintf("%s: %d bytes in %d records", p.Kind, p.Bytes, n))
		}
	}
	return bad
}
