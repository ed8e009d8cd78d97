// Package cgt holds the values of combinatorial games as an Amazons solver needs
// them: exact dyadic numbers, thermographs down to temperature -1, bounds that
// are exact, tightened or relaxed, and canonical forms. Left is Black and
// positive, Right is White and negative.
//
// There are two views of a game. [Value] is the compact one that databases store:
// its thermograph and how it compares with a star, a few bytes, computed from
// the Values of the options alone ([ValueOf], [Combiner], [Table]). [Form] is
// the exact one, a canonical form in an [Arena]: all there is to know for play in
// any sum, but its size grows fast, so it is for building, testing and
// explaining only. [Bounds] are what Values of several games add up to, and [Sum] does
// so with an eye on stars.
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
// It does not determine which infinitesimal that is (star, up-star and *2 share one
// thermograph, up and double up another), nor who wins a sum of two games
// of which neither is a number. A Value therefore carries two bits more, which tell
// whether the game is at most its left stop plus star and at least its right stop
// plus star; both together, on a game of temperature 0, say that it is its mean plus
// star. They, too, follow from the Values of the options. Thermograph and bits
// depend on the game only, not on the form in which it is given: equal games have equal
// Values.
package cgt
