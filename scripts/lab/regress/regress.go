// Package regress fits weights to rows of numbers: what scripts/fit and scripts/hour share.
package regress

import (
	"errors"
	"math"
)

// ErrDependent says that the columns of the rows depend on each other.
var ErrDependent = errors.New("the columns depend on each other")

// ridge keeps the equations solvable where an element is the same in all rows. It is small against
// the number of rows.
const ridge = 1e-3

// Logistic returns the weights w that make the outcomes y likeliest if the probability of true in
// row x is 1/(1+exp(-w*x)), by Newton's method from zero.
func Logistic(x [][]float64, y []bool) []float64 {
	const rounds = 12 // it converges to all digits in about eight
	w := make([]float64, len(x[0]))
	for range rounds {
		h, g := normal(len(w), ridge)
		for i := range w {
			g[i] = -ridge * w[i]
		}
		for k, v := range x {
			p := Probability(w, v)
			missing := -p
			if y[k] {
				missing = 1 - p
			}
			accumulate(h, g, v, p*(1-p), missing)
		}
		steps, _ := solve(h, g) // there is a ridge
		for i, step := range steps {
			w[i] += step
		}
	}
	return w
}

// Linear returns the weights with the least sum of squared differences between w*x and y.
func Linear(x [][]float64, y []float64) []float64 {
	w, _ := linear(x, y, ridge) // so they cannot depend on each other
	return w
}

// Exact is Linear without the small weight that keeps dependent columns apart. It returns ErrDependent for
// these.
func Exact(x [][]float64, y []float64) ([]float64, error) { return linear(x, y, 0) }

func linear(x [][]float64, y []float64, ridge float64) ([]float64, error) {
	h, g := normal(len(x[0]), ridge)
	for k, v := range x {
		accumulate(h, g, v, 1, y[k])
	}
	return solve(h, g)
}

func normal(n int, ridge float64) (h [][]float64, g []float64) {
	h = make([][]float64, n)
	for i := range h {
		h[i] = make([]float64, n)
		h[i][i] = ridge
	}
	return h, make([]float64, n)
}

func accumulate(h [][]float64, g, v []float64, weight, y float64) {
	for i, a := range v {
		g[i] += y * a
		for k, b := range v {
			h[i][k] += weight * a * b
		}
	}
}

// solve solves a*x = b by elimination with pivots, in place.
func solve(a [][]float64, b []float64) ([]float64, error) {
	n := len(b)
	for i := range n {
		pivot := i
		for k := i + 1; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[pivot][i]) {
				pivot = k
			}
		}
		a[i], a[pivot] = a[pivot], a[i]
		b[i], b[pivot] = b[pivot], b[i]
		if math.Abs(a[i][i]) < 1e-8 {
			return nil, ErrDependent
		}
		for k := i + 1; k < n; k++ {
			f := a[k][i] / a[i][i]
			for c := i; c < n; c++ {
				a[k][c] -= f * a[i][c]
			}
			b[k] -= f * b[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for c := i + 1; c < n; c++ {
			b[i] -= a[i][c] * b[c]
		}
		b[i] /= a[i][i]
	}
	return b, nil
}

// Dot returns the sum of the products of two rows.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// Probability returns that of true in row x by the weights of Logistic.
func Probability(w, x []float64) float64 { return 1 / (1 + math.Exp(-Dot(w, x))) }
