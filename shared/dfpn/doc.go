// Package dfpn is the depth-first proof-number search. It finds who wins a position, and while the
// winner is unknown it says how hard the position looks.
//
// # Two numbers
//
// Every position has two numbers, seen by its side to move (Nagai 2002). phi estimates the work to
// prove a win, delta the work to prove a loss. A won position has phi 0 and delta [Infinity], a
// lost one the reverse.
//
//   - One winning move is enough to win. So phi of a position is the least delta of its children.
//   - To prove a loss, every move must be refuted. So delta is a sum over the children's phi
//     ([Sum]: the largest counts in full, the others for little).
//   - A position that nobody searched gets its first numbers from package estimate, unless package
//     eval decides it by a static rule.
//
// Amazons has no cycles, since every move burns a square. So the numbers of a position do not
// depend on the way to it, and one [Table] serves all searches.
//
// # One step of the search
//
// A thread goes down from the root. At each position it
//
//  1. asks the judge for a first move that closes squares off (eval.Judge.Closing). If there is
//     one, the position is won and costs no node;
//  2. expands the position: reads the children's numbers from the table, or evaluates them. One
//     expansion is one node, the unit of work everywhere in this program;
//  3. chooses the child with the least delta and searches it until its numbers pass a threshold.
//     The threshold is where another child, or another branch higher up, becomes more promising;
//  4. repeats 3 until the numbers of the position itself pass its own threshold, stores them in
//     the table and returns to the parent.
//
// # Where to read
//
//   - dfpn.go: what other packages call, from [New] to [Searcher.Search].
//   - search.go: the step above, in the order of its four points.
//   - sums.go: sums and thresholds.
//   - resume.go: how an interrupted search goes on where it was.
//   - table.go: the transposition table, outside the Go heap and without locks; recent.go: the latest
//     evaluations of a thread.
//   - siblings.go: proofs of refuted replies, tried on the others.
//   - parallel.go: several threads on one search.
//   - hints.go: what a table sends along, so that another machine continues a search.
//   - witness.go: the search seen by those who extract a proof from it.
package dfpn
