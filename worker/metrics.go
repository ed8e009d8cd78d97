package main

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"amazonsfarm/worker/agent"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newHandler returns the pages of a worker: /metrics, /healthz (200 while the process lives) and /readyz (200 while
// a master is connected, otherwise 503).
func newHandler(stats *agent.Stats) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, c := range []struct {
		name, help string
		value      *atomic.Uint64
	}{
		{"joins_total", "Sessions with a master begun.", &stats.Joins},
		{"leases_total", "Leases begun.", &stats.Leases},
		{"results_total", "Results that the master acknowledged.", &stats.Results},
		{"refused_total", "Results, facts and fragments that the master refused.", &stats.Refused},
		{"facts_total", "Facts sent with their evidence.", &stats.Facts},
		{"fragment_bytes_total", "Bytes of certificate fragments uploaded.", &stats.FragmentBytes},
		{"fragment_entries_total", "Entries in the certificate fragments uploaded.", &stats.Entries},
		{"nodes_total", "Positions expanded by the search, counted when a slice of a lease ends.", &stats.Nodes},
		{"evaluations_total", "Positions evaluated by the search, counted when a slice of a lease ends.", &stats.Evaluations},
	} {
		registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "worker", Name: c.name, Help: c.help},
			func() float64 { return float64(c.value.Load()) }))
	}
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"connected", "1 while a stream to the master stands.", func() float64 { return truth(stats.Connected.Load()) }},
		{"searching", "1 while a lease is being searched.", func() float64 { return truth(stats.Lease.Load() != 0) }},
		{"table_fill_ratio", "Share of the transposition table in use.", stats.TableFill},
	} {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "amazons", Subsystem: "worker", Name: g.name, Help: g.help}, g.value))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !stats.Connected.Load() {
			http.Error(w, "no connection to the master", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
