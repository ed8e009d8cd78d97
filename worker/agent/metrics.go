package agent

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers the metrics of a worker, amazons_worker_*. Each scrape reads them from s.
// Register panics when r has some of them already.
func (s *Stats) Register(r prometheus.Registerer) {
	for _, c := range []struct {
		name, help string
		value      *atomic.Uint64
	}{
		{"joins_total", "Sessions with a master begun.", &s.Joins},
		{"leases_total", "Leases begun.", &s.Leases},
		{"leases_prefetched_total", "Leases that were in hand when the one before ended.", &s.Prefetched},
		{"results_total", "Results that the master acknowledged.", &s.Results},
		{"refused_total", "Results, facts and parts that the master refused.", &s.Refused},
		{"facts_total", "Facts sent with their evidence.", &s.Facts},
		{"parts_checked_total", "Parts of proofs that this worker checked for the master.", &s.Checked},
		{"part_bytes_total", "Bytes of parts of proofs uploaded.", &s.PartBytes},
		{"part_entries_total", "Positions with their moves in the parts uploaded.", &s.Entries},
		{"nodes_total", "Positions expanded by the search, counted when a slice of a lease ends.", &s.Nodes},
		{"evaluations_total", "Positions evaluated by the search, counted when a slice of a lease ends.",
			&s.Evaluations},
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "worker",
			Name: c.name, Help: c.help},
			func() float64 { return float64(c.value.Load()) }))
	}
	for _, c := range []struct {
		name, help string
		clock      *Clock
	}{
		{"search_seconds_total", "Seconds in which leases were searched.", &s.Search},
		{"extract_seconds_total", "Seconds in which parts of proofs were extracted from the table.", &s.Extract},
		{"check_seconds_total", "Seconds in which parts of other workers were checked, beside the search.", &s.Check},
	} {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "worker",
			Name: c.name, Help: c.help},
			func() float64 { return c.clock.Total().Seconds() }))
	}
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"connected", "1 while a stream to the master stands.", func() float64 { return truth(s.Connected.Load()) }},
		{"searching", "1 while a lease is being searched.", func() float64 { return truth(s.Lease.Load() != 0) }},
		{"table_fill_ratio", "Share of the transposition table in use.", s.TableFill},
	} {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "amazons", Subsystem: "worker",
			Name: g.name, Help: g.help}, g.value))
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
