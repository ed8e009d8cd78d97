// Package cgt holds the values of combinatorial games as an Amazons solver needs
// them: exact dyadic numbers, thermographs down to temperature -1, bounds that
// are exact, tightened or relaxed, and canonical forms. Left is Black and
// positive, Right is White and negative.
//
// There are two views of a game. A [Value] is compact: the game's thermograph and how it compares
// with a star, a few bytes. It follows from the Values of the options alone ([Combiner]),
// and databases store it. A [Form] is exact: the game's canonical form in an [Arena]. It says all for
// play in any sum, but its size grows fast, so forms serve tests and explanations only.
//
// [Bounds] add up Values of several games; a [Sum] does so with an eye on stars.
//
// # Where to read
//
//   - dyadic.go, bounds.go, sum.go: numbers, bounds, and who wins a sum of games.
//   - value.go: a [Value] and what it tells; combine.go: the Value of a game from its options;
//     wall.go, thermograph.go: the walls of a thermograph; code.go, decode.go: the bytes of a Value.
//   - form.go, text.go: canonical forms and their text.
//
// # Thermographs below zero
//
// The walls of a game at tax t >= -1 follow from those of its options. Write
// L_t and R_t for the left and the right wall, and let
//
//	l(t) = max over left options  of R_t(option) - t
//	r(t) = min over right options of L_t(option) + t
//
// (-infinity and +infinity where there are no options).
//
//   - If l(-1) <= r(-1), the game is an integer: the one nearest to 0 from l(-1) to
//     r(-1). Its walls are one mast that starts at temperature -1.
//   - Otherwise the walls are l and r up to the first temperature at which they
//     meet, and from there on a mast.
//
// Nothing else is needed, numbers included: no simplest number is looked for but
// among integers, since the walls of a number m/2^k (m odd, k > 0) meet by themselves, at
// temperature -1/2^k and value m/2^k. Since l falls and r rises with slopes 0 or 1, they
// meet once.
//
// The reason is this. At t = -1/2^k the left wall is the least multiple x of 1/2^k
// with G <= x and the right wall the greatest with x <= G. (For k = 0: G >= n
// exactly if no right option is <= n, unless G is an integer; by induction
// the left wall of an option is its ceiling, so G >= n exactly if all the ceilings are
// at least n+1, that is, r(-1) >= n. The steps from k to k+1 are alike.) So the
// thermograph of a game determines
//
//   - how it compares with every number, hence who wins it alone, or with any
//     numbers added, whoever begins;
//   - whether it is a number, and which: exactly if the temperature is below 0;
//   - whether it is a number plus an infinitesimal: exactly if the temperature is 0; and
//     then whether that infinitesimal is positive, negative or fuzzy;
//   - left and right stop, mean, temperature.
//
// The thermograph does not determine which infinitesimal that is: star, up-star and *2 share one
// thermograph, up and double up another. Nor does it determine who wins a sum of two games that are
// no numbers. A Value therefore has two bits more. They say whether the game is at most its left stop
// plus star, and at least its right stop plus star. Both bits together, on a game of temperature 0,
// say that the game is its mean plus star. The bits, too, follow from the Values of the options.
// Thermograph and bits depend on the game and not on its form: equal games have equal Values.
package cgt
