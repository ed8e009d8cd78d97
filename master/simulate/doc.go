// Package simulate runs a farm of any number of virtual workers in one process and in virtual time.
// The tree is the real one (master/tree), the workers speak the real protocol (worker/agent), and
// leases are really searched, one after the other. It answers how much of N workers is put to use, and
// what a policy of the tree, a slow network or failures cost, without N machines.
//
// # The model
//
// Events wait in a queue ordered by virtual time. Each virtual worker has the Machine of
// worker/agent. This package carries the machine's effects out: messages travel with a delay and in
// order, and may break their link; a search of n nodes lasts n over the worker's speed, and the
// extraction of its evidence a share of that. When the root is solved, all workers together check
// the parts, for another share. Workers crash and come back with an empty table. Hints travel through the master
// as in master/rpc. Everything follows from the settings and one seed: the same run has the same
// trace, and Result holds its hash.
//
// Each worker has a table of its own for the whole run, so that going on with a position is worth
// as much as in a real farm. Tables share a bounded memory, so the tables of many workers are small.
//
// Boards that can be searched here are small for a thousand workers. So Config has a scale: one node
// of the simulation stands for that many nodes of a longer campaign, and budgets, thresholds and
// speed are divided by the scale.
//
// # What it flatters
//
//   - The master needs no time for a step and none to make it durable.
//   - Evidence is always accepted, takes no time to travel, and is checked at the end by all workers
//     alike, however few parts there are. A real farm checks a sample before.
//   - A small campaign has fewer transpositions than the long one it stands for.
//   - As many facts and hints go with a lease as in reality, while a scaled lease searches fewer
//     nodes.
//
// # What it harms
//
//   - A worker notices messages only between rounds: a cancelled lease searches on to the end of its
//     round.
//   - Every round starts at the root of its lease again, which costs a path of nodes. Scaled rounds
//     are short, so this weighs more than in reality.
//   - Tables of many workers are smaller than those of real machines.
//   - The start of a campaign, with one position to search, is as long as in a campaign that is
//     shorter by the scale.
package simulate
