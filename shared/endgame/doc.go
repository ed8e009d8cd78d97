// Package endgame holds databases of small areas of Amazons. For every 8-connected set of squares up
// to some size, and every placement of queens on it, a database says exactly what the area is worth.
// Areas that differ by shifts, by the 8 symmetries or by the exchange of colours share an entry.
//
// # Two tables
//
// For each number of squares a database has two tables.
//
// The first table holds the value of an area as a game on its own ([cgt.Value]: its thermograph and
// how it compares with star). Simple territories are areas like all others; their values are
// integers. [DB.Find], [DB.Value] and [DB.Entry] read this table.
//
// The second table holds how many moves a side has in a territory, and which blockers it needs for
// them ([DB.Territory]). A blocker is a queen that stands between the territory and squares of the
// other side. In the table a blocker is one of the area's squares, so a square has one of three
// letters: empty, normal queen, blocker. A blocker stays where it is until it moves into the
// territory. That move shoots back at the blocker's origin, which is then burnt, and the blocker
// becomes a normal queen. So the blocker's square never becomes empty, and the other side never
// comes in.
//
// A blocker is not needed if the owner loses no move without it. For the count it is then a burnt
// square. It may do anything elsewhere that keeps the territory closed: stay, or shoot back at its
// origin with its first move. A blocker between two territories of its side belongs to both.
// Together with it they are one area, and one entry holds the exact number for both. Where that area
// is too large, each territory has an entry of its own, and the blocker counts in one of them.
//
// # How the values are computed
//
// A build goes layer by layer, by the number of squares. A move burns one square. So the options of
// an area of n squares are positions on n-1 squares, in one or several parts. A single part is an
// entry of the layer before. Several parts are added up if all but one are integers. The value of a
// sum of two games that are no integers does not follow from their values. Each of the two has at
// least three squares, so such sums first appear among areas of seven squares. [Solver] searches
// them, move by move, and remembers them. Every entry is exact.
//
// [Solver] is also the definition in code: plain recursion over moves. It values areas that a
// database lacks, with the database below.
//
// # Where to read
//
//   - config.go: which areas a database holds, and how placements are numbered.
//   - build.go, chunk.go: a build, cut into chunks that survive an interruption.
//   - layer.go, geometry.go, algebra.go, shapes.go: the values of one layer.
//   - assemble.go, file.go: the file (FORMAT.md describes its bytes).
//   - open.go, db.go, check.go, info.go: an open database.
//   - solve.go, forms.go: values and canonical forms without a database.
package endgame
