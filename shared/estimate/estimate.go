// Package estimate guesses how hard a position is before a search: the first proof and disproof
// number of a leaf (df-pn+, Nagai 2002). A table of weights, fitted to recorded searches, says how
// likely the side to move wins, how many evaluations a proof takes if it wins, and how many if it
// loses. A guess decides nothing; a bad one costs time.
//
// deploy/docs/results/numbers.md tells what was measured. scripts/fit makes the table.
package estimate

import (
	"math"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// Weights of one stage of a game. A weight is what one unit of an element adds, in units of 1/16384
// (of a doubling).
type Weights struct {
	Odds Vector // binary logarithm of the odds that the side to move wins
	Won  Vector // binary logarithm of the evaluations that a proof takes if the side to move wins
	Lost Vector // the same if it loses
}

const (
	// FractionBits is the scale of Weights: 1<<FractionBits is one doubling.
	FractionBits = 14

	// unit is the number of a position that takes one evaluation and is certain to be won or lost.
	unit = 16
	// workShare and oddsShare are the powers, in 1/256, to which the expected work and the
	// probability enter: phi is unit * work^workShare / probability^oddsShare. The first is so low
	// because a sum of proof numbers already grows with the work below it, by the number of moves;
	// both were the best of those tried (deploy/docs/results/numbers.md).
	workShare = 90
	oddsShare = 128

	// The tables below have stepsPerDoubling entries for a doubling.
	stepsPerDoubling = 64
	stepBits         = FractionBits - 6
	// Odds beyond 2^16 are taken for 2^16.
	largestOdds = 16 * stepsPerDoubling
	// largest is the largest number there is, as a binary logarithm.
	largest = 19 * stepsPerDoubling
)

var (
	// surprise[i+largestOdds] is the binary logarithm of 1/p, in steps, where i is that of the odds
	// p/(1-p).
	surprise [2*largestOdds + 1]int32
	// powers[i] is 2^(i/stepsPerDoubling) * unit, rounded, at least 1.
	powers [largest + 1]uint32
	// pairs is table with Won and Lost in one number, Won + Lost<<32, so that one product serves both.
	pairs [Bands]struct{ odds, both [Size]int64 }
)

// init makes the tables with floating point once, so that the search computes in integers alone and
// finds the same numbers on every machine.
func init() {
	for i, w := range &table {
		for k := range Size {
			pairs[i].odds[k] = int64(w.Odds[k])
			pairs[i].both[k] = int64(w.Won[k]) + int64(w.Lost[k])<<32
		}
	}
	for i := range surprise {
		odds := math.Exp2(float64(i-largestOdds) / stepsPerDoubling)
		surprise[i] = int32(math.Round(stepsPerDoubling * math.Log2(1+1/odds)))
	}
	for i := range powers {
		powers[i] = uint32(math.Round(unit * math.Exp2(float64(i)/stepsPerDoubling)))
	}
}

// Numbers returns the proof number phi and the disproof number delta of s, from 1 to 2^24-2, where
// f are its features by the static evaluation.
func Numbers(s amazons.State, f *eval.Features) (phi, delta uint32) {
	var v Vector
	v.Fill(s, f)
	w := &pairs[Band(s)]
	odds, both := v.dot(&w.odds), v.dot(&w.both)
	won := int32(both)
	lost := int32((both - int64(won)) >> 32)
	odds = min(max(odds>>stepBits, -largestOdds), largestOdds)
	return power(won, surprise[largestOdds+odds]), power(lost, surprise[largestOdds-odds])
}

// power returns unit * 2^(work*workShare + doubt*oddsShare), where work is in units of a weight and
// doubt in steps.
func power(work, doubt int32) uint32 {
	return powers[min(max(((work>>stepBits)*workShare+doubt*oddsShare)>>8, 0), largest)]
}
