package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// suitePosition is a position of medium difficulty and its winner.
type suitePosition struct {
	position amazons.Position
	verdict  string // won or lost, for the side to move
}

// suite writes positions from random games to w: for each board as many won as lost ones (one more
// won, if n is odd), each after moves[0] to moves[1] moves that were chosen with probabilities as
// the hand-made numbers have them, that take from least to most nodes to solve.
func suite(ctx context.Context, boards []string, n int, seed uint64, moves [2]int, least, most uint64,
	w io.Writer) error {
	table, err := dfpn.NewTable(searchTable)
	if err != nil {
		return err
	}
	defer table.Close()
	for _, board := range boards {
		start, err := amazons.ParsePosition(board)
		if err != nil {
			return err
		}
		search, err := dfpn.New(dfpn.Options{Board: start.Board, Table: table,
			FirstNumbers: first(territory).hook()})
		if err != nil {
			return err
		}
		judge := eval.NewJudge(nil, eval.DefaultSettings())
		random := rand.New(rand.NewPCG(seed, 7))
		made := map[string]int{}
		for made["won"]+made["lost"] < n {
			if err := ctx.Err(); err != nil {
				return err
			}
			table.Clear()
			p, ok := randomGame(random, judge, start, moves[0]+random.IntN(moves[1]-moves[0]+1))
			if !ok {
				continue
			}
			r := search.Search(ctx, p.State(), most)
			verdict := r.Verdict.String()
			if r.Verdict == eval.Open || r.Nodes < least || made[verdict] >= (n+1)/2 {
				continue
			}
			made[verdict]++
			if _, err := fmt.Fprintf(w, "%v\t%s\n", p, verdict); err != nil {
				return err
			}
		}
	}
	return nil
}

// randomGame plays some moves from p, and reports false where the game is then decided.
func randomGame(random *rand.Rand, judge *eval.Judge, p amazons.Position, moves int) (amazons.Position, bool) {
	for range moves {
		var open []amazons.Move
		var weights []float64
		sum := 0.0
		for _, m := range p.State().Moves(nil) {
			v, f := judge.Evaluate(p.State().After(m))
			if v != eval.Open {
				continue
			}
			phi, delta := territory(f)
			weights = append(weights, float64(phi)/float64(delta))
			open, sum = append(open, m), sum+weights[len(weights)-1]
		}
		if len(open) == 0 {
			return p, false
		}
		x := random.Float64() * sum
		i := 0
		for ; i < len(open)-1 && x > weights[i]; i++ {
			x -= weights[i]
		}
		p = p.After(open[i])
	}
	return p, true
}

// readSuite reads a file that suite wrote.
func readSuite(file string) ([]suitePosition, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []suitePosition
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, verdict, _ := strings.Cut(lines.Text(), "\t")
		p, err := amazons.ParsePosition(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: line %d: %w", file, len(out)+1, err)
		}
		out = append(out, suitePosition{p, verdict})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return out, nil
}

func emptySquares(s amazons.State) int { return bits.OnesCount64(s.Empty) }
