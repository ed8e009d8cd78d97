package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// row is one reply of a recorded search, with the result of a search of its own.
type row struct {
	board       amazons.Board
	parent      amazons.State
	move        amazons.Move
	won         bool   // by the side to move after the move
	evaluations uint64 // that the proof took
}

const (
	samplesEach  = 250     // replies recorded for each board and number of empty squares
	searchNodes  = 100_000 // nodes of the search of a position of the suite
	sampleNodes  = 8_000   // nodes of the search of a reply; those not solved by then are left out
	searchTable  = 128 << 20
	sampleTable  = 4 << 20
	samplerSeed1 = 5
)

// record searches each position of the suite with hand-made initial numbers, samples the replies
// that got such numbers on the way evenly for each board and number of empty squares, solves each
// in an empty table, and writes a row for each to w. The same suite gives the same bytes.
func record(ctx context.Context, suite []suitePosition, w io.Writer) error {
	type stage struct {
		board amazons.Board
		empty int
	}
	type sampled struct {
		row
		solved bool
	}
	table, err := dfpn.NewTable(searchTable)
	if err != nil {
		return err
	}
	defer table.Close()
	samples, seen := map[stage][]*sampled{}, map[stage]int{}
	var stages []stage
	random := rand.New(rand.NewPCG(samplerSeed1, 0))
	for _, p := range suite {
		board := p.position.Board
		table.Clear()
		search := dfpn.New(dfpn.Options{Board: board, Table: table,
			FirstNumbers: func(s amazons.State, m amazons.Move, f eval.Features) (phi, delta uint32) {
				k := stage{board, bits.OnesCount64(s.Empty)}
				if seen[k] == 0 {
					stages = append(stages, k)
				}
				seen[k]++
				x := &sampled{row: row{board: board, parent: s, move: m}}
				if len(samples[k]) < samplesEach {
					samples[k] = append(samples[k], x)
				} else if i := random.IntN(seen[k]); i < samplesEach {
					samples[k][i] = x
				}
				return territory(s, m, f)
			}})
		search.Search(ctx, p.position.State(), searchNodes)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	var all []*sampled
	for _, k := range stages {
		all = append(all, samples[k]...)
	}
	if err := inParallel(ctx, sampleTable, len(all), func(table *dfpn.Table, i int) error {
		x := all[i]
		search := dfpn.New(dfpn.Options{Board: x.board, Table: table, FirstNumbers: territory})
		r := search.Search(ctx, x.parent.After(x.move), sampleNodes)
		x.won, x.solved, x.evaluations = r.Verdict == eval.Won, r.Verdict != eval.Open, r.Evaluations
		return nil
	}); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, x := range all {
		if !x.solved {
			continue
		}
		verdict := "lost"
		if x.won {
			verdict = "won"
		}
		fmt.Fprintf(out, "%v\t%v\t%s\t%d\n", amazons.PositionOf(x.board, x.parent, amazons.White), x.move, verdict,
			x.evaluations)
	}
	return out.Flush()
}

// inParallel calls do for 0 to n-1 on two threads, each with a table of its own, which is empty at
// each call.
func inParallel(ctx context.Context, tableBytes int64, n int, do func(table *dfpn.Table, i int) error) error {
	const threads = 2
	work := make(chan int, n)
	for i := range n {
		work <- i
	}
	close(work)
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for k := range threads {
		wg.Go(func() {
			table, err := dfpn.NewTable(tableBytes)
			if err != nil {
				errs[k] = err
				return
			}
			defer table.Close()
			for i := range work {
				table.Clear()
				if errs[k] = errors.Join(do(table, i), ctx.Err()); errs[k] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// readRecording reads what record wrote, packed by gzip.
func readRecording(file string) ([]row, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var out []row
	lines := bufio.NewScanner(unpacked)
	for lines.Scan() {
		r, err := parseRow(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("read %s: line %d: %w", file, len(out)+1, err)
		}
		out = append(out, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return out, nil
}

func parseRow(line string) (row, error) {
	columns := strings.Split(line, "\t")
	if len(columns) != 4 || !slices.Contains([]string{"won", "lost"}, columns[2]) {
		return row{}, fmt.Errorf("%q is no row", line)
	}
	p, err := amazons.ParsePosition(columns[0])
	if err != nil {
		return row{}, err
	}
	m, err := p.ParseMove(columns[1])
	if err != nil {
		return row{}, err
	}
	n, err := strconv.ParseUint(columns[3], 10, 64)
	if err != nil {
		return row{}, err
	}
	return row{p.Board, p.State(), m, columns[2] == "won", n}, nil
}
