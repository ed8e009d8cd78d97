package agent

import (
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers the metrics of a worker, amazons_worker_*. Each scrape reads them from s.
// Register panics when r has some of them already.
func (s *Stats) Register(r prometheus.Registerer) {
	number := func(n *atomic.Uint64) func() float64 { return func() float64 { return float64(n.Load()) } }
	seconds := func(c *Clock) func() float64 { return func() float64 { return c.Total().Seconds() } }
	truth := func(is func() bool) func() float64 {
		return func() float64 {
			if is() {
				return 1
			}
			return 0
		}
	}
	for _, m := range []struct {
		name, help string
		value      func() float64
	}{
		{"joins_total", "Sessions with a master begun.", number(&s.Joins)},
		{"leases_total", "Leases begun.", number(&s.Leases)},
		{"leases_prefetched_total", "Leases that were in hand when the one before ended.", number(&s.Prefetched)},
		{"results_total", "Results that the master acknowledged.", number(&s.Results)},
		{"refused_total", "Results, facts and parts that the master refused.", number(&s.Refused)},
		{"facts_total", "Facts sent with their evidence.", number(&s.Facts)},
		{"parts_checked_total", "Parts of proofs that this worker checked for the master.", number(&s.Checked)},
		{"part_bytes_total", "Bytes of parts of proofs uploaded.", number(&s.PartBytes)},
		{"part_entries_total", "Positions with their moves in the parts uploaded.", number(&s.Entries)},
		{"nodes_total", "Positions expanded by the search, counted when a slice of a lease ends.", number(&s.Nodes)},
		{"evaluations_total", "Positions evaluated by the search, counted when a slice of a lease ends.",
			number(&s.Evaluations)},
		{"search_seconds_total", "Seconds in which leases were searched.", seconds(&s.Search)},
		{"extract_seconds_total", "Seconds in which parts of proofs were extracted from the table.",
			seconds(&s.Extract)},
		{"check_seconds_total", "Seconds in which parts of other workers were checked, beside the search.",
			seconds(&s.Check)},
		{"connected", "1 while a stream to the master stands.", truth(s.Connected.Load)},
		{"searching", "1 while a lease is being searched.", truth(func() bool { return s.Lease.Load() != 0 })},
		{"table_fill_ratio", "Share of the transposition table in use.", s.TableFill},
	} {
		o := prometheus.Opts{Namespace: "amazons", Subsystem: "worker", Name: m.name, Help: m.help}
		if strings.HasSuffix(m.name, "_total") {
			r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts(o), m.value))
		} else {
			r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts(o), m.value))
		}
	}
}
