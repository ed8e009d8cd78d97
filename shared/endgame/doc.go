// Package endgame holds databases of small areas of Amazons: what they are worth to
// whom, exactly, for every 8-connected set of squares up to some size and every
// placement of queens on it, up to shifts, the 8 symmetries and the exchange of colours.
//
// # What is in a database
//
// Two tables for each number of squares. The first gives the value ([cgt.Value]:
// thermograph and the comparison with star) of an area as a game on its own. Simple
// territories are in it like all others; their values are integers. [DB.Find], [DB.Value] and
// [DB.Entry] read it.
//
// The second gives the number of moves a side has in a territory, where its queens are normal or
// blockers, and which blockers it needs for that ([DB.Territory]). A blocker stands between the
// territory and squares of the other side. In the entry it is one of the squares of the area: the
// territory and the blockers that touch it make an area of their own, with three letters for a
// square (empty, normal queen, blocker) as an active area has three (empty, black, white). A
// blocker stays where it is until it moves into the territory, shooting back at its origin; from
// then on its origin is burnt and it is a normal queen. So a blocker's square never becomes empty,
// and nobody comes in.
//
// Blockers that are not needed are those whom the owner may leave out without losing a move: for
// the owner's count they then are burnt squares, and what they do elsewhere does not matter as long
// as they keep the territory closed (stay, or shoot back at their origins with their first moves).
// A blocker between two
// territories of its side belongs to both, so both together with it are one area, and one entry
// holds the exact number for both. Where that is too large, each has its own entry, and the blocker
// may be counted in one of them.
//
// # How the values come about
//
// Layer by layer, by the number of squares. A move burns one square; so the options of an area of n
// squares are positions on n-1 squares, in one or several parts. One part is an entry of the layer
// before. The values of several parts are added if all but one are integers. The value of a sum of
// two games that are no integers does not follow from their values; such sums (both have at least
// three squares, so they first come up among areas of seven) are searched by [Solver], move by
// move, and remembered. There are no canonical forms and no limits beyond which values would be
// approximate: every entry is exact.
//
// [Solver] is the definition in code: plain recursion over moves. Areas outside a
// database are valued by it, with the database below.
package endgame
