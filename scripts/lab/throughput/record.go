package main

import (
	"slices"
	"sync"
	"time"
)

// record gathers what the workers see.
type record struct {
	mu sync.Mutex
	tally
	refusal string // the first
}

// tally is what was seen in some time.
type tally struct {
	results uint64          // acknowledged
	nodes   uint64          // in them
	refused uint64          // of results
	leases  []time.Duration // from a worker's request to its lease, while others ask as well
	acks    []time.Duration // from a result to its acknowledgement, the upload of its part included
	uploads []time.Duration // of parts
	bytes   uint64          // of parts
	full    uint64          // uploads for which there was no place
	checked uint64          // parts that workers have checked
	failed  uint64          // among them, those that did not hold or did not come
}

func (r *record) granted(after time.Duration) {
	r.mu.Lock()
	r.leases = append(r.leases, after)
	r.mu.Unlock()
}

func (r *record) acknowledged(after time.Duration, nodes uint64, refused string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acks = append(r.acks, after)
	if refused != "" {
		r.refused++
		if r.refusal == "" {
			r.refusal = refused
		}
		return
	}
	r.results++
	r.nodes += nodes
}

func (r *record) uploaded(after time.Duration, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.uploads = append(r.uploads, after)
	r.bytes += uint64(bytes)
}

func (r *record) fullUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full++
}

func (r *record) examined(holds bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked++
	if !holds {
		r.failed++
	}
}

// take returns what was seen since the last time.
func (r *record) take() tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tally
	r.tally = tally{}
	return t
}

// add joins two times.
func (t *tally) add(o tally) {
	t.results += o.results
	t.nodes += o.nodes
	t.refused += o.refused
	t.leases = append(t.leases, o.leases...)
	t.acks = append(t.acks, o.acks...)
	t.uploads = append(t.uploads, o.uploads...)
	t.bytes += o.bytes
	t.full += o.full
	t.checked += o.checked
	t.failed += o.failed
}

// quantile returns the time within which a part of them came; it sorts them. 0: there are none.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(part*float64(len(times))))]
}
