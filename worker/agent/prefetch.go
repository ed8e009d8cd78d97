package agent

import "time"

// giveBack hands back the lease that was to be searched next.
func (a *agent) giveBack(s *stream) {
	a.Log.Debug("handing back the lease in hand", "lease", a.next.id)
	s.send(a.next.handBack())
	a.next = nil
}

// planAhead plans when the next lease is asked for, although one is running: when that has as long
// to go as it takes to get one, if that is worth it (shared/prefetch). It sets early if that is
// now.
func (s *stream) planAhead(a *agent) {
	s.early = false
	l := a.lease
	if l == nil || a.rate == 0 {
		return
	}
	takes := func(nodes uint64) time.Duration {
		return time.Duration(min(float64(nodes)/a.rate, 1e6) * float64(time.Second))
	}
	lead := a.waits.Lead(takes(l.job.Budget), a.PrefetchPercent)
	if lead == 0 {
		return
	}
	left := takes(l.job.Budget-min(l.job.Budget, l.nodes.Load())) - time.Since(l.begun) + time.Duration(l.at.Load())
	if s.early = left <= lead+lead/4; !s.early {
		s.ahead.Reset(left - lead)
	}
}
