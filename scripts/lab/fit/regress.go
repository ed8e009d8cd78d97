package main

import "math"

// ridge keeps the equations solvable where an element is the same in all rows. It is small against
// the number of rows.
const ridge = 1e-3

// logistic returns the weights w that make the outcomes y likeliest if the probability of true in
// row x is 1/(1+exp(-w*x)), by Newton's method from zero.
func logistic(x [][]float64, y []bool) []float64 {
	const rounds = 12 // it converges to all digits in about eight
	w := make([]float64, len(x[0]))
	for range rounds {
		h, g := normal(len(w))
		for i := range w {
			g[i] = -ridge * w[i]
		}
		for k, v := range x {
			p := probability(w, v)
			missing := -p
			if y[k] {
				missing = 1 - p
			}
			accumulate(h, g, v, p*(1-p), missing)
		}
		for i, step := range solve(h, g) {
			w[i] += step
		}
	}
	return w
}

// linear returns the weights with the least sum of squared differences between w*x and y.
func linear(x [][]float64, y []float64) []float64 {
	h, g := normal(len(x[0]))
	for k, v := range x {
		accumulate(h, g, v, 1, y[k])
	}
	return solve(h, g)
}

func normal(n int) (h [][]float64, g []float64) {
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

// solve solves a*x = b by elimination with pivots, in place. The ridge keeps the rows of a independent.
func solve(a [][]float64, b []float64) []float64 {
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
	return b
}

// dot returns the sum of the products of two rows.
func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// probability returns that of true in row x by the weights of logistic.
func probability(w, x []float64) float64 { return 1 / (1 + math.Exp(-dot(w, x))) }
