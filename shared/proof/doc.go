// Package proof holds certificates: proofs of who wins a position of the game of Amazons, with all
// the evidence. FORMAT.md beside this file says what a certificate is, byte by byte, and when it is
// valid.
//
// # A certificate
//
// A certificate is a set of positions that the side to move wins, each with one winning move: an
// [Entry]. A lost position needs no entry: every move of it leads to a won one, and that is checked
// by playing all moves. A position that a leaf rule decides needs no entry either. All positions
// are canonical, one for all mirror images. Each move burns a square, so a position with k arrows
// rests on positions with k+2 arrows, and no argument can run in a circle.
//
// # The way of a proof
//
//  1. A search solves a position. It keeps verdicts in a table, and no proof.
//  2. A [Builder] walks down from the position and asks the search ([Searcher]) for winning moves.
//     It marks positions from the leaves up, so each entry is complete when it is added.
//  3. [Builder.Take] hands the new entries over as a [Set]. A [Certificate] is a set with the
//     [Root]s that it proves. [Encode] and [WriteFile] write it, [Read] and [ReadFile] read it.
//  4. A certificate of many that together make one proof is a part. It may rest on positions that
//     other parts prove: it cites them ([Citation]). A [Fact] names the part that proves a
//     position, by its [ID]. [Outline] is what others need to know of a part without its entries.
//  5. [Set.Merge] unites the sets of parts. [Prune] keeps the entries that the roots need, and lists
//     the positions that they lack.
//  6. [WriteManifest] lists the parts of a proof. [Split] cuts a certificate into parts, and [Pack]
//     makes one of them.
//  7. The package checker judges the result. It shares no code with this package.
//
// For people, [Certificate.Look], [Certificate.Line] and [Certificate.Below] step through a
// certificate, and a [Finder] looks single positions up in a file without reading all of it.
//
// The files in this order: proof.go, set.go and table.go (entries), builder.go, prover.go and
// marks.go (extraction), write.go, read.go and plain.go (files), fact.go and outline.go (what others
// know of a part), prune.go, manifest.go, look.go, find.go.
//
// # Why extraction goes from the leaves up
//
// The simple way is to walk down from the root, write an entry for each won position that is met, and
// hope that the search keeps its word below. But a table forgets, and two positions may share a hash.
// Then the walk ends at a position for which there is no move, and everything written above it is
// worthless. So a Builder writes an entry only on its way back: when all replies to its move are known
// to be won, by an entry, a leaf rule or a fact. Whatever the search does wrong costs time alone. What
// was complete before an error stays good, and the next try begins there.
//
// # Memory
//
// A [Set] takes 32 to 48 bytes an entry, and a Builder as much again for its marks. The checker keeps
// the positions of a few layers at a time and nothing else. So the largest certificate that a machine
// can check is larger than the largest one that it can extract or prune, and larger proofs are cut
// into parts.
package proof
