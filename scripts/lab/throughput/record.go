package main

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// record gathers what the workers see.
type record struct {
	mu      sync.Mutex
	tally   tally
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

// note adds what a worker has seen.
func (r *record) note(seen func(*tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen(&r.tally)
}

func (r *record) acknowledged(after time.Duration, nodes uint64, refused string) {
	r.note(func(t *tally) {
		t.acks = append(t.acks, after)
		if refused != "" {
			t.refused++
			r.refusal = cmp.Or(r.refusal, refused)
			return
		}
		t.results++
		t.nodes += nodes
	})
}

// fullUp notes that the master had no place.
func (r *record) fullUp() { r.note(func(t *tally) { t.full++ }) }

// take returns what was seen since the last time.
func (r *record) take() (seen tally) {
	r.note(func(t *tally) { seen, *t = *t, tally{} })
	return seen
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
