// Package amazons holds the rules of the game of Amazons: boards, sets of
// squares, positions, moves, symmetries, exact keys, hashes, and the text and
// picture forms of all of them.
//
// There are two views of a position. [Position] is what people see: colours, a
// board size and a side to move. [State] is what the search sees: the same
// board from the view of the side to move, three 64-bit sets and nothing else.
// Swapping the colours together with the side to move changes nothing about who
// wins, so every fact in the farm is about a State; colours are put back when a
// person looks.
//
// Squares are numbered 8*rank+file on a fixed 8x8 grid, whatever the size of the
// board: shifts by constants then step a whole set in any direction, and one
// set of tables serves all boards, because a square outside the board is simply
// never empty.
//
// For example, this is White to move on a board of 3x2: the rows come from the top, W and B are
// queens, x is a burnt square and a point an empty one.
//
//	B.x/W.. w
//
// # Which file has what
//
//   - board.go: squares, sets of squares, lines of sight, floods, symmetries. All that is fast is
//     here.
//   - position.go: what people write and read, and the starting positions.
//   - state.go, move.go: the rules. A move is a queen's step and an arrow, and [State.After] plays
//     it.
//   - key.go: exact keys. Two states have one key exactly if they are the same but for a symmetry.
//   - draw.go: pictures of a position, as text and for pages.
//
// Nothing here allocates where a search calls it: moves are appended to a slice of the caller, and
// sets are words.
package amazons
