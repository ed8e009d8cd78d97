// Package prefetch decides when a worker asks for its next lease while it still searches one, so
// that it does not wait for the network and the master between the two.
//
// A lease that is asked for early is chosen with less knowledge, and cannot be for the position
// that the worker is at, whose table is warm. So a worker asks as late as it can, and only where it
// would else wait for a part of its time that counts: with leases of seconds and a master nearby it
// never does.
package prefetch

import "time"

// Percent is how much of a lease's time the wait for the next one may take before it is asked for
// early, unless the worker is told otherwise. With less sixteen simulated workers did not do
// better, as none goes on at once with the position that it has searched
// (deploy/docs/results/simulate.md).
const Percent = 10

// Waits is how long a worker waited for its leases, on average over the last ones. The zero value
// knows of none. The methods of a Waits must not be called concurrently.
type Waits struct {
	mean  time.Duration
	known bool
}

// averaged is the number of waits that the average is over, about.
const averaged = 4

// longest is the most that counts of one wait: a master that was away, or had no room, is not
// always so.
const longest = 5 * time.Second

// Saw counts a wait for a lease, from when the worker asked for it, or had nothing to do, until it
// came. Waits for work that the master had not are not to be counted.
func (w *Waits) Saw(wait time.Duration) {
	wait = min(wait, longest)
	if !w.known {
		w.mean, w.known = wait, true
		return
	}
	w.mean += (wait - w.mean) / averaged
}

// Lead returns how long before the end of a lease that lasts so long the next one is to be asked
// for: half as long again as the average wait, at most all of the lease. 0: only when it has ended,
// since waiting takes less than percent of its time, or nothing is known. A percent of 0 or less
// means that nothing is ever asked for early.
func (w *Waits) Lead(lease time.Duration, percent int) time.Duration {
	if percent <= 0 || w.mean.Seconds()*100 < lease.Seconds()*float64(percent) {
		return 0
	}
	return max(0, min(w.mean+w.mean/2, lease))
}
