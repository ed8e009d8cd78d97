// Package tree is the master's part of the proof: the top of the game tree as
// an explicit graph, the leases on its leaves, and the facts that workers have
// proved. It is a pure state machine: Step takes one event and returns its
// effects. It holds no goroutine, clock, random source, file or socket, and
// nothing in it depends on the order of a map, so the same events always give
// the same effects. Time is the Tick event.
//
// The graph is keyed by canonical positions, so transpositions and mirror
// images are one node with several parents. Every move burns one square, so
// the number of burnt squares orders the graph and it has no cycles.
//
// # Numbers
//
// Phi is the proof number of "the side to move wins", delta its disproof
// number. A node that the side to move wins has phi 0 and delta Infinity; one
// that it loses has phi Infinity and delta 0; every other number lies strictly
// between. From the children c of a node:
//
//	phi   = min delta(c)
//	delta = max phi(c) + 20/256 * (the sum of the other phi(c)), rounded up
//
// The plain sum counts transposed work many times over; this form needs far
// fewer nodes. The factor is that of the workers' own search.
//
// # Locks
//
// A leased leaf is locked, and so is an inner node whose unsolved children are
// all locked. Locks never change numbers: a locked child is passed over when a
// leaf is selected, and counts in its parent's numbers as before. They follow
// from the leases alone, so they are kept up to date along the ancestors and
// never stored.
//
// # Many workers
//
// Which free leaf is next depends on how useful it is. The most proving one is
// worth 1. Each step of the way from the root that leads to another child than
// the best one makes a leaf worth less. It is hardly less at a node that is likely
// lost, since then all children have to be searched anyway. It is much less at one that
// is likely won, if the child looks worse than the best. So workers spread over the replies
// of a position that seems lost before they try the second moves of one that
// seems won. With nothing leased the choice is that of plain proof-number search.
// The more workers there are, the less the numbers at the root count. Otherwise
// hundreds of workers would search below one first move, mostly what no proof needs.
//
// Where the best free leaf is worth little, work is scarce: what comes back is
// split at once, and when workers starve, several of the largest leases are called back.
// master/simulate shows what that brings.
// Where results would be more than the master takes in, leases get longer (Config.ResultsPerTick).
//
// # What survives
//
// Persist comes first among the effects of a step and must be durable before
// the others are acted upon. What it has carried since the campaign began makes
// a Snapshot, and New makes of that a tree with the same facts, numbers,
// expansions and counters. Leases do not survive: the new tree has another
// epoch, and what returns under an older one is refused, all but its facts.
//
// # Where to read
//
//   - tree.go: [New], [Tree.Step], and what the store keeps; events.go and effects.go: what goes in and out.
//   - assign.go, lease.go, split.go: who gets which leaf, how a lease ends, when a leaf is split.
//   - result.go, facts.go: what a worker brings, and what follows from it.
//   - check.go, party.go, worker.go: whose numbers count, and what is known of workers and their owners.
//   - tick.go, pace.go: what time does, and how long leases are.
//   - pool.go: the campaigns beside this one.
//   - status.go, config.go, audit.go: what people see, the settings, and the same computed in the plainest way.
//
// Package graph computes the numbers, and package offers chooses the facts that workers get.
package tree
