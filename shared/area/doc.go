// Package area splits a position of Amazons into areas and writes an area in a
// canonical form.
//
// An area is an 8-connected set of squares that holds empty squares and queens and
// no burnt square (Song and Müller 2014, section II.B). Play in one area
// never touches another, so the whole position is
// the sum of its areas as games. Black is Left throughout: what is good for Black
// is positive, and exchanging the colours negates the value of an area.
//
// Nothing here allocates, and nothing depends on the size of the board: a square
// outside the board is simply never in a set.
package area
