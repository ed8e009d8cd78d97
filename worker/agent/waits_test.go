package agent

import (
	"testing"
	"time"
)

func TestLead(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name    string
		waits   []time.Duration
		lease   time.Duration
		percent int
		want    time.Duration
	}{
		{"nothing is known", nil, 100 * ms, 3, 0},
		{"a wait that counts", []time.Duration{40 * ms}, time.Second, 3, 60 * ms},
		{"just so", []time.Duration{30 * ms}, time.Second, 3, 45 * ms},
		{"one that does not", []time.Duration{29 * ms}, time.Second, 3, 0},
		{"a lease of minutes", []time.Duration{40 * ms}, time.Minute, 3, 0},
		{"never", []time.Duration{40 * ms}, time.Second, 0, 0},
		{"never, said otherwise", []time.Duration{40 * ms}, time.Second, -1, 0},
		{"a lease shorter than the wait", []time.Duration{40 * ms}, 10 * ms, 3, 10 * ms},
		{"no wait", []time.Duration{0}, time.Second, 3, 0},
		{"no time", []time.Duration{40 * ms}, 0, 3, 0},
		{"the last waits count most", []time.Duration{40 * ms, 80 * ms}, time.Second, 3, 75 * ms},
		{"a master that was away", []time.Duration{time.Hour}, time.Minute, 3, 7500 * ms},
	} {
		var w waits
		for _, d := range test.waits {
			w.saw(d)
		}
		if got := w.lead(test.lease, test.percent); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// TestLeadSettles has the waits change for good: after some leases the lead follows, both ways.
func TestLeadSettles(t *testing.T) {
	var w waits
	for _, wait := range []time.Duration{40 * time.Millisecond, 400 * time.Millisecond, 10 * time.Millisecond} {
		for range 20 {
			w.saw(wait)
		}
		if ahead := w.lead(100*time.Millisecond, 1); ahead < min(wait*3/2, 100*time.Millisecond)*9/10 ||
			ahead > wait*7/4 {
			t.Errorf("a lead of %v where waits are %v", ahead, wait)
		}
	}
}
