package main

import (
	"errors"
	"math"
	"slices"
)

// fit returns the numbers b for which the sums b[0] + b[1]*x[i][0] + b[2]*x[i][1] + ... come
// closest to y[i], by least squares, and the largest of the distances that remain. The error says
// that the columns of x are not independent of each other and of a constant.
func fit(x [][]float64, y []float64) (b []float64, most float64, err error) {
	if len(y) == 0 || len(x) != len(y) {
		return nil, 0, errors.New("nothing to fit")
	}
	n := len(x[0]) + 1
	row := func(i int) []float64 { return append([]float64{1}, x[i]...) }
	// The normal equations, the right side as the last column.
	m := make([][]float64, n)
	for j := range m {
		m[j] = make([]float64, n+1)
	}
	for i := range y {
		r := row(i)
		for j := range n {
			for k := range n {
				m[j][k] += r[j] * r[k]
			}
			m[j][n] += r[j] * y[i]
		}
	}
	for j := range n {
		pivot := j
		for k := j; k < n; k++ {
			if math.Abs(m[k][j]) > math.Abs(m[pivot][j]) {
				pivot = k
			}
		}
		m[j], m[pivot] = m[pivot], m[j]
		if math.Abs(m[j][j]) < 1e-9*float64(len(y)) {
			return nil, 0, errors.New("the columns depend on each other")
		}
		for k := range n {
			if k == j {
				continue
			}
			f := m[k][j] / m[j][j]
			for l := j; l <= n; l++ {
				m[k][l] -= f * m[j][l]
			}
		}
	}
	b = make([]float64, n)
	for j := range n {
		b[j] = m[j][n] / m[j][j]
	}
	for i := range y {
		d := y[i]
		for j, v := range row(i) {
			d -= b[j] * v
		}
		most = max(most, math.Abs(d))
	}
	return b, most, nil
}

// median returns the middle one of some numbers, 0 for none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// least returns the smallest of some numbers, 0 for none.
func least(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Min(v)
}

// greatest returns the largest of some numbers, 0 for none.
func greatest(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}
