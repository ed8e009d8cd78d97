// Package selfplay plays games of Amazons against itself, so that tests and measurements meet
// positions as they come up between sensible players and not only such as random play leaves
// behind.
//
// A player looks ahead by alpha-beta, two plies or more, and judges leaves by territory in queen
// distance and by mobility. It chooses at random among moves that are about as good as the best
// one, so that every seed makes another game. Nothing depends on the clock or on the machine: the
// same seed, start and settings make the same game everywhere.
package selfplay
