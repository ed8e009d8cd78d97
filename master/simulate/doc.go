// Package simulate runs a farm of any number of virtual workers in one process and in virtual time:
// the real master/tree, and jobs that are really searched, one after the other. It answers how much
// of N workers is put to use, and what a policy of the tree, a slow network or failures cost,
// without N machines.
//
// # The model
//
// Events wait in a queue ordered by virtual time. A virtual worker joins, asks for a lease,
// searches it in slices with the search of shared/dfpn on one thread, and sends its result with the
// facts it met, as worker/agent does; a slice of n nodes takes n over the worker's speed. Messages
// take a delay, keep their order on each link, and may break it; workers crash and come back empty.
// The memory of a table travels through the master as in master/rpc. Everything follows from the
// settings and one seed: the same run has the same trace, of which Result holds a hash.
//
// Each worker has a table of its own for the whole run, so that going on with a position is worth
// what it is worth in a real farm. Tables share a bounded memory, so those of many workers are
// small.
//
// Boards that can be searched here are small for a thousand workers. So Config has a scale: one
// node of the simulation stands for that many of a campaign that is as much longer, with budgets,
// thresholds and speed divided alike.
//
// # What it flatters
//
//   - The master takes no time for a step and none to make it durable.
//   - Evidence for facts is free and always accepted (a real worker spends 5 % of its time on it at most, beyond that for
//     the positions of its leases, and the same with one worker as with many).
//   - A small campaign has fewer transpositions than the long one it stands for.
//   - The facts and memories that go with a lease are as many as in reality while a scaled lease searches fewer nodes.
//
// # What it harms
//
//   - A worker notices messages between slices only: a cancelled lease searches on to the end of its slice.
//   - Every slice starts at the root of its job again, which costs a path of nodes. A scaled slice is short, so this weighs more than in reality.
//   - Tables of many workers are smaller than those of real machines.
//   - The start of a campaign, when there is one position to search, is as long as in a campaign scale times as short as the one
//     that is meant.
package simulate
