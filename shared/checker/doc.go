// Package checker verifies certificates: proofs of who wins a position of the game of Amazons. It
// imports nothing of this module. A reader of these files and of FORMAT.md (in shared/proof) can
// judge a proof without trust in the solver.
//
// # What is checked
//
// A certificate is a set of canonical positions that the side to move wins, each with a winning
// move, in layers by number of burnt squares. The checker goes through the layers from the deepest
// one up. An entry holds if its move is legal and every reply to it leads to an entry two layers
// deeper, or to a position that a leaf rule decides. Then the roots, the claims of the
// certificate, are looked up the same way.
//
// # The way of one check
//
//  1. [Check] reads the header and steps over all blocks: the sizes fit the file before anything
//     large is allocated.
//  2. It hashes the file. A file that was damaged is refused here.
//  3. For each layer, one goroutine reads the blocks, and workers verify the entries. Only the
//     tables of layers that are still needed stay in memory.
//  4. Each root is verified as soon as the layer that it needs is complete.
//  5. Citations of a part count as entries. [CheckFile] checks the parts of a proof one by one, and
//     that each citation is a root that the manifest lists.
//  6. The answer is a [Report], or the first [Fault] in file order, whatever the number of workers.
//
// # Reading order
//
// board.go (squares, symmetries, moves), rules.go, sum.go and closing.go (the leaf rules), verify.go (one
// entry, one root), table.go (the set of positions of a layer), file.go (the file format), check.go (the
// whole run), manifest.go (the list of the parts of a proof), parts.go (the run over them), state.go (to go
// on later), report.go and text.go (what is said).
package checker
