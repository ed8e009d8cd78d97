package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"amazonsfarm/master/store"
)

// window is what happened between two looks at the master.
type window struct {
	tally
	from, to gauges
	seconds  float64 // from the beginning to its end
	workers  float64 // seconds of processor time of this process
	store    int64   // bytes of the file at its end
}

// measured is what a run has found.
type measured struct {
	start       time.Duration // until the master served
	alone, idle gauges        // without workers; with all of them waiting
	windows     []window
	results     uint64 // acknowledged
	nodes       uint64
	refused     uint64
	refusal     string
	kept        store.Stats
}

// busy returns the windows that count: not those in which the tree was too small for all workers,
// nor the one after.
func (s *settings) busy(m measured) []window {
	for i, w := range m.windows {
		if w.from.positions > float64(s.workers) {
			return m.windows[min(i+1, len(m.windows)-1):]
		}
	}
	return nil
}

// total is what happened in several windows, one after the other.
func total(list []window) window {
	w := window{from: list[0].from, to: list[len(list)-1].to, seconds: list[len(list)-1].seconds,
		store: list[len(list)-1].store}
	for _, o := range list {
		w.tally.add(o.tally)
		w.workers += o.workers
	}
	return w
}

func (w *window) rate() float64 { return float64(w.results) / w.to.at.Sub(w.from.at).Seconds() }

// perResult divides by the results.
func (w *window) perResult(x float64) float64 { return x / max(1, float64(w.results)) }

// cost is the master's seconds of processor time a result.
func (w *window) cost() float64 { return w.perResult(w.to.cpu - w.from.cpu) }

// ends returns the first tenth of some windows and the last one, each at least a window.
func ends(list []window) (first, last window) {
	n := max(1, len(list)/10)
	if len(list) < 2*n {
		return first, last
	}
	return total(list[:n]), total(list[len(list)-n:])
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func mebibytes(x float64) float64 { return x / (1 << 20) }

// employed returns the share of the workers' time that they had a lease, as what came back tells.
func (s *settings) employed(w window) float64 {
	return float64(w.nodes) / budget * s.work.Seconds() / float64(s.workers) / w.to.at.Sub(w.from.at).Seconds()
}

// row writes one line of the table.
func (s *settings) row(out io.Writer, name string, w window) {
	from, to := w.from, w.to
	commits := max(1, to.commits-from.commits)
	fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.1f | %.1f | %.0f | "+
		"%.1f | %.0f | %.0f | %.0f |",
		name, w.results, w.rate(), 100*s.employed(w), to.positions, milliseconds(quantile(w.leases, 0.5)),
		milliseconds(quantile(w.leases, 0.99)), milliseconds(quantile(w.acks, 0.99)),
		1000*w.cost(), 1000*w.perResult(w.workers), commits/to.at.Sub(from.at).Seconds(),
		1000*(to.commitSeconds-from.commitSeconds)/commits,
		(to.events-from.events)/max(1, to.batches-from.batches), w.perResult(to.allocated-from.allocated)/1024,
		w.perResult(to.objects-from.objects), mebibytes(to.resident), mebibytes(float64(w.store)))
	if s.parts > 0 {
		fmt.Fprintf(out, " %d | %.0f | %.0f | %d | %d |", len(w.uploads), milliseconds(quantile(w.uploads, 0.99)),
			float64(w.bytes)/max(1, float64(len(w.uploads))), w.full, w.checked)
	}
	fmt.Fprintln(out)
}

// write prints the table.
func (s *settings) write(out io.Writer, m measured) {
	fmt.Fprintf(out, "%d workers on %d connections, %v for a lease, up to %d times as much if the master says so, "+
		"split after %d results\n\n", s.workers, s.connections, s.work, s.stretch, s.returns)
	evidence := ""
	if s.parts > 0 {
		evidence = " parts | stored ms, 99 of 100 | bytes a part | no place | parts checked |"
	}
	fmt.Fprintln(out, "| s | results | a second | workers with a lease, % | positions | lease ms, half | 99 of 100 "+
		"| acknowledged ms, 99 of 100 | master CPU ms a result | workers' | commits a second | ms a commit | "+
		"events a batch | KiB allocated a result | objects | resident MiB | store MiB |"+evidence)
	fmt.Fprintln(out, "|"+strings.Repeat(" --- |", 17+strings.Count(evidence, "|")))
	for _, w := range m.windows {
		s.row(out, fmt.Sprintf("%.0f", w.seconds), w)
	}
	busy := s.busy(m)
	if len(busy) > 0 {
		s.row(out, "**all but the start**", total(busy))
	}
	if first, last := ends(busy); first.results > 0 {
		fmt.Fprintf(out, "\nthe master's CPU a result in the last tenth of the time over that in the first: %.2f\n",
			last.cost()/first.cost())
	}
	n := float64(s.workers)
	fmt.Fprintf(out, "\na waiting worker: %.1f KiB resident, %.1f heap and %.1f stacks\n",
		(m.idle.resident-m.alone.resident)/n/1024, (m.idle.heap-m.alone.heap)/n/1024,
		(m.idle.stacks-m.alone.stacks)/n/1024)
	if len(m.windows) > 0 {
		last := m.windows[len(m.windows)-1].to
		fmt.Fprintf(out, "a position of the tree: %.0f bytes resident, %.0f bytes of store\n",
			(last.resident-(m.idle.resident-m.alone.resident))/last.positions, float64(m.kept.UsedBytes)/last.positions)
	}
	fmt.Fprintf(out, "the master served after %.1f s\n", m.start.Seconds())
	fmt.Fprintf(out, "%d results acknowledged, %d refused; killed then, the store holds %d of their %d nodes\n",
		m.results, m.refused, min(m.kept.Nodes, m.nodes), m.nodes)
}

// judge says what a run did not reach.
func (s *settings) judge(m measured) error {
	if m.kept.Nodes < m.nodes {
		return fmt.Errorf("acknowledged nodes are lost: the store holds %d of %d", m.kept.Nodes, m.nodes)
	}
	if 100*float64(m.refused) > s.refused*float64(m.results) {
		return fmt.Errorf("%d results were refused beside %d taken, the first because: %s", m.refused, m.results,
			m.refusal)
	}
	failed := uint64(0)
	for _, w := range m.windows {
		failed += w.failed
	}
	if failed > 0 {
		return fmt.Errorf("%d parts did not hold, or did not come to those who should check them", failed)
	}
	busy := s.busy(m)
	if len(busy) == 0 {
		return errors.New("the run ended before the tree had work for all workers")
	}
	if first, last := ends(busy); s.dearer > 0 && last.cost() > s.dearer*first.cost() {
		return fmt.Errorf("a result costs %.2f times as much in the last tenth of the time as in the first, where %v "+
			"is allowed", last.cost()/first.cost(), s.dearer)
	}
	w := total(busy)
	if rate := w.rate(); rate < s.floor {
		return fmt.Errorf("%.0f results a second, where at least %.0f are asked for", rate, s.floor)
	}
	if late := quantile(w.leases, 0.99); s.latest > 0 && late > s.latest {
		return fmt.Errorf("1 of 100 leases took more than %v, where at most %v is asked for", late, s.latest)
	}
	return nil
}
