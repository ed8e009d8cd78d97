package tree

// pace keeps the results of a tree at what its master takes in (Config.ResultsPerTick), by how much
// longer than planned leases are. With more workers, or faster ones, more leases end in a tick;
// where they are more than the master can take, workers wait for it, and longer leases serve
// better.
//
// How many results there would be without stretching follows from the nodes that all workers search
// in a tick and those of a lease as it was planned. Neither depends on how long leases are now, nor
// on how many end at the same time: where all began together their results come in waves. So it
// does not swing.
type pace struct {
	searched uint64  // Tree.Searched at the last tick
	nodes    float64 // searched in a tick, an average over the last ones
	ended    float64 // leases, the lately ended ones counting most
	used     float64 // nodes of those, had they been as planned
	demand   float64 // results a tick, if leases were as planned
	stretch  float64 // how much longer leases are that are granted now, at least 1
}

// paceTicks is the number of ticks over which averages are.
const paceTicks = 4

// end counts a lease that came back.
func (p *pace) end(l *lease) {
	p.ended++
	p.used += float64(float64(l.nodes) / float64(l.budget) * float64(l.planned))
}

// tick ends a tick, in which so many results were welcome, with the nodes that were searched until
// now and the demand of the other trees of the same master: all stretch their leases alike.
func (p *pace) tick(searched uint64, elsewhere float64, welcome int) {
	p.nodes += float64((float64(searched-min(searched, p.searched)) - p.nodes) / paceTicks)
	p.searched = searched
	p.demand = 0
	if p.used > 0 {
		p.demand = p.nodes * p.ended / p.used
	}
	p.stretch = max(1, (p.demand+elsewhere)/float64(welcome))
	p.ended *= 1 - 1.0/paceTicks
	p.used *= 1 - 1.0/paceTicks
}

// Demand returns how many results a tick there would be if leases were as long as planned, whatever
// the master can take in (Config.ResultsPerTick).
func (t *Tree) Demand() float64 { return t.pace.demand }

// stretched returns the nodes of a lease for which so many are planned.
func (t *Tree) stretched(planned uint64) uint64 {
	if t.pace.stretch <= 1 {
		return planned
	}
	return uint64(min(float64(planned)*t.pace.stretch, float64(max(planned, t.cfg.MaxBudget))))
}
