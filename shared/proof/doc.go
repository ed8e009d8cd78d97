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
//  4. A certificate of many that together make one proof is a fragment. It may rest on positions
//     that other fragments prove. A [Fact] names the fragment that proves a position, by its [ID].
//     A [Ledger] admits fragments in order, and keeps false ones out.
//  5. [Set.Merge] unites the sets of fragments. [Prune] keeps the entries that the roots need, and
//     lists the positions that they lack.
//  6. A certificate that cites positions is a part of a proof ([Citation]; [PruneOptions] has what
//     may be cited). [WriteManifest] lists the parts. [Split] cuts a certificate into parts, and
//     [Pack] makes one of them.
//  7. The package checker judges the result. It shares no code with this package.
//
// For people, [Certificate.Look], [Certificate.Line] and [Certificate.Below] step through a
// certificate, and a [Finder] looks single positions up in a file without reading all of it.
//
// The files in this order: proof.go, set.go and table.go (entries), builder.go, prover.go and
// marks.go (extraction), write.go and read.go (files), fact.go, ledger.go and hashes.go (admission),
// prune.go, manifest.go, look.go, find.go.
package proof
