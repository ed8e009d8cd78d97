package main

import (
	"errors"
	"math"
	"slices"

	"amazonsfarm/scripts/lab/regress"
)

// fit returns the numbers b for which the sums b[0] + b[1]*x[i][0] + b[2]*x[i][1] + ... come
// closest to y[i], by least squares, and the largest of the distances that remain. The error says
// that the columns of x are not independent of each other and of a constant.
func fit(x [][]float64, y []float64) (b []float64, most float64, err error) {
	if len(y) == 0 || len(x) != len(y) {
		return nil, 0, errors.New("nothing to fit")
	}
	rows := make([][]float64, len(x))
	for i := range x {
		rows[i] = append([]float64{1}, x[i]...)
	}
	if b, err = regress.Exact(rows, y); err != nil {
		return nil, 0, err
	}
	for i, row := range rows {
		most = max(most, math.Abs(y[i]-regress.Dot(b, row)))
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
