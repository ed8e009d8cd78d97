package agent

import "time"

// PrefetchPercent is how much of a lease's time the wait for the next one may take before the next
// one is asked for early, unless Config says otherwise. Sixteen simulated workers did not do better
// with less: they rarely went on with the position they had searched (deploy/docs/results/simulate.md).
const PrefetchPercent = 10

// waits is how long the worker waited for its leases, on average over the last ones. The zero value
// knows of none.
//
// A lease that is asked for early is chosen with less knowledge. It cannot be for the position that
// the worker is at, whose table is warm. So a worker asks as late as it can, and only where it
// would otherwise wait for a part of its time that counts. With leases of seconds and a master
// nearby it never does.
type waits struct {
	mean  time.Duration
	known bool
}

// waitsAveraged is the number of waits that the average is over, about.
const waitsAveraged = 4

// longestWait is the most that counts of one wait: a master that was away, or had no room, is not
// always so.
const longestWait = 5 * time.Second

// saw counts a wait for a lease: from the question, or the moment without work, until the lease
// came. Waits for work that the master did not have are not counted.
func (w *waits) saw(wait time.Duration) {
	wait = min(wait, longestWait)
	if !w.known {
		w.mean, w.known = wait, true
		return
	}
	w.mean += (wait - w.mean) / waitsAveraged
}

// lead returns how long before the end of a lease of this length the next one is to be asked for:
// half as long again as the average wait, at most the whole lease. It returns 0, only at the end,
// when waiting takes less than percent of the lease's time, or nothing is known. With a percent of
// 0 or less nothing is ever asked for early.
func (w *waits) lead(lease time.Duration, percent int) time.Duration {
	if percent <= 0 || w.mean.Seconds()*100 < lease.Seconds()*float64(percent) {
		return 0
	}
	return max(0, min(w.mean+w.mean/2, lease))
}

// planAhead plans when to ask for the next lease although one is running: when the running one has
// as long to go as it takes to get another, if that is worth it. It may be now.
func (m *Machine) planAhead() {
	m.stream.early, m.stream.aheadAt = false, never
	l := m.running
	if l == nil || m.rate == 0 {
		return
	}
	takes := func(nodes uint64) time.Duration {
		return time.Duration(min(float64(nodes)/m.rate, 1e6) * float64(time.Second))
	}
	lead := m.waits.lead(takes(l.job.Budget), m.c.PrefetchPercent)
	if lead == 0 {
		return
	}
	left := takes(l.job.Budget-min(l.job.Budget, l.nodes)) - (m.now - l.at)
	if m.stream.early = left <= lead+lead/4; !m.stream.early {
		m.stream.aheadAt = m.now + left - lead
	}
}
