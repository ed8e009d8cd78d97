package main

import (
	"fmt"
	"time"

	"amazonsfarm/scripts/lab/farm"
)

// gauges is what the master says of itself.
type gauges struct {
	at                     time.Time
	cpu                    float64 // seconds
	resident, heap, stacks float64 // bytes
	positions              float64 // in the tree
	commits, commitSeconds float64
	batches, events        float64
	allocated, objects     float64
}

// ask reads the metrics of a master.
func ask(master *farm.Process) (gauges, error) {
	figures, err := farm.Scrape(master.Pages)
	if err != nil {
		return gauges{}, fmt.Errorf("ask the master: %w", err)
	}
	return readGauges(figures)
}

// readGauges picks the figures out. A figure that is missing is an error.
func readGauges(figures farm.Metrics) (gauges, error) {
	g := gauges{at: time.Now()}
	want := map[string]*float64{
		"process_cpu_seconds_total": &g.cpu, "process_resident_memory_bytes": &g.resident,
		"go_memstats_heap_inuse_bytes": &g.heap, "go_memstats_stack_inuse_bytes": &g.stacks,
		"go_memstats_alloc_bytes_total": &g.allocated, "go_memstats_mallocs_total": &g.objects,
		"amazons_master_tree_positions":                      &g.positions,
		"amazons_master_store_commit_duration_seconds_count": &g.commits,
		"amazons_master_store_commit_duration_seconds_sum":   &g.commitSeconds,
		"amazons_master_batch_events_count":                  &g.batches, "amazons_master_batch_events_sum": &g.events,
	}
	for name, field := range want {
		sum, ok := figures.Sum(name)
		if !ok {
			return gauges{}, fmt.Errorf("the master has no metric %s", name)
		}
		*field = sum // there is one campaign
	}
	return g, nil
}
