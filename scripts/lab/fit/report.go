package main

import (
	"fmt"
	"io"
	"math"

	"amazonsfarm/shared/estimate"
)

// report prints how often the moves of each category win, by stage of the game, and what groups of
// elements are worth: fitted to three quarters of the rows and tried on the rest, how many bits it
// takes to tell the winner, and how far off the work is.
func report(rows []row, w io.Writer) error {
	reportCategories(rows, w)
	fmt.Fprintf(w, "\n| elements | bits to tell the winner | right | squared error of log2 work, won | lost |\n| --- | --- | --- | --- | --- |\n")
	none := func(*row) []float64 { return nil }
	withCategories := func(r *row) []float64 { return categorize(r.parent, r.move).floats() }
	for _, g := range []struct {
		name     string
		elements []int
		more     func(*row) []float64
	}{
		{"constant", []int{0}, none},
		{"constant, move categories", []int{0}, withCategories},
		{"mobility", []int{0, 6, 7}, none},
		{"territory", []int{0, 1}, none},
		{"territory, empty, shared", []int{0, 1, 2, 3}, none},
		{"the same and mobility", []int{0, 1, 2, 3, 6, 7}, none},
		{"the same and squares of one side only", []int{0, 1, 2, 3, 4, 5, 6, 7}, none},
		{"the same and liberties", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, none},
		{"the same and neighbourhoods", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, none},
		{"the same and free queens: the table", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, none},
		{"the table and move categories", []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, withCategories},
	} {
		s := try(rows, func(r *row) []float64 {
			v, _ := vectorOf(r)
			var x []float64
			for _, i := range g.elements {
				x = append(x, float64(v[i]))
			}
			return append(x, g.more(r)...)
		})
		fmt.Fprintf(w, "| %s | %.4f | %.3f | %.2f | %.2f |\n", g.name, s.bits, s.right, s.won, s.lost)
	}
	return nil
}

// score is how well a fit does on rows that it was not fitted to.
type score struct{ bits, right, won, lost float64 }

// try fits to all rows but each fourth, for each band, and scores on each fourth.
func try(rows []row, elements func(*row) []float64) score {
	var s score
	var n, won, lost float64
	for band := range estimate.Bands {
		var x [2][][]float64 // 0: to fit, 1: to score
		var y [2][]bool
		var byWinner [2][2][][]float64 // by winner, to fit or to score
		var work [2][2][]float64
		for i := range rows {
			r := &rows[i]
			if estimate.Band(r.parent.After(r.move)) != band {
				continue
			}
			part, winner := 0, 0
			if i%4 == 0 {
				part = 1
			}
			if r.won {
				winner = 1
			}
			e := elements(r)
			x[part], y[part] = append(x[part], e), append(y[part], r.won)
			byWinner[winner][part] = append(byWinner[winner][part], e)
			work[winner][part] = append(work[winner][part], math.Log2(float64(r.evaluations)+1))
		}
		w := logistic(x[0], y[0])
		for i, v := range x[1] {
			p := probability(w, v)
			if !y[1][i] {
				p = 1 - p
			}
			s.bits -= math.Log2(p)
			if p > 0.5 {
				s.right++
			}
			n++
		}
		s.lost += squares(linear(byWinner[0][0], work[0][0]), byWinner[0][1], work[0][1])
		s.won += squares(linear(byWinner[1][0], work[1][0]), byWinner[1][1], work[1][1])
		lost += float64(len(work[0][1]))
		won += float64(len(work[1][1]))
	}
	return score{s.bits / n, s.right / n, s.won / won, s.lost / lost}
}

func squares(w []float64, x [][]float64, y []float64) float64 {
	sum := 0.0
	for i := range x {
		d := dot(w, x[i]) - y[i]
		sum += d * d
	}
	return sum
}

func reportCategories(rows []row, w io.Writer) {
	type tally struct{ moves, winning float64 }
	names := []string{"all moves",
		"1: queen blocks 0", "queen blocks 1", "queen blocks 2", "queen blocks 3 or more",
		"2: arrow blocks 0", "arrow blocks 1", "arrow blocks 2", "arrow blocks 3 or more",
		"3: queen beside a queen", "4: arrow beside a queen", "5: one queen blocked twice",
		"7: moved from beside a queen", "10: moved an idle queen"}
	tallies := make([][estimate.Bands]tally, len(names))
	for i := range rows {
		r := &rows[i]
		band := estimate.Band(r.parent.After(r.move))
		c := categorize(r.parent, r.move)
		member := []int{0, 1 + c.queenBlocks, 5 + c.arrowBlocks}
		for k, yes := range c.flags() {
			if yes {
				member = append(member, 9+k)
			}
		}
		for _, k := range member {
			t := &tallies[k][band]
			t.moves++
			if !r.won {
				t.winning++
			}
		}
	}
	fmt.Fprintf(w, "| moves that win, of those recorded | to 9 empty squares | 10 to 13 | 14 and more |\n| --- | --- | --- | --- |\n")
	for k, name := range names {
		fmt.Fprintf(w, "| %s |", name)
		for band := range estimate.Bands {
			t := tallies[k][band]
			if t.moves == 0 {
				fmt.Fprint(w, " none |")
				continue
			}
			fmt.Fprintf(w, " %.3f of %.0f |", t.winning/t.moves, t.moves)
		}
		fmt.Fprintln(w)
	}
}
