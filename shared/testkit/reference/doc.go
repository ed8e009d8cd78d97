// Package reference is what tests compare with: who wins by exhaustive search, by the rules of the
// game alone, and random positions that are small enough for it. Only tests import it; a test of
// the imports holds that. (The tests of the checker have their own search on the checker's own
// board, since nothing of this module may be common to both.)
package reference
