package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// perftResult is the answer of perft as JSON.
type perftResult struct {
	MessageType string       `json:"message_type"` // "perft"
	Position    string       `json:"position"`
	Depth       int          `json:"depth"`
	Count       uint64       `json:"count"`
	Seconds     float64      `json:"seconds"`
	Moves       []perftCount `json:"moves,omitempty"`
}

type perftCount struct {
	Move  string `json:"move"`
	Count uint64 `json:"count"`
}

func perftCommand() *cobra.Command {
	var divide, asJSON bool
	var cores int
	c := &cobra.Command{
		Use:   "perft BOARD|POSITION DEPTH",
		Short: "Count the sequences of moves of a given length",
		Args:  cobra.MinimumNArgs(2),
		RunE: cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
			p, err := parsePosition(args[:len(args)-1])
			if err != nil {
				return err
			}
			depth, err := strconv.Atoi(args[len(args)-1])
			if err != nil || depth < 0 || depth > p.Board.Squares() {
				return cli.Usagef("depth %q: it must be a number from 0 to %d", args[len(args)-1], p.Board.Squares())
			}
			begun := time.Now()
			counted := make(chan perftResult, 1)
			go func() { counted <- perft(p, depth, cores) }()
			var r perftResult
			select {
			case r = <-counted:
			case <-ctx.Done(): // the count is left behind, as the program ends
				return cli.ErrInterrupted
			}
			r.Seconds = time.Since(begun).Seconds()
			if !divide {
				r.Moves = nil
			}
			return show(c, asJSON, r)
		}),
	}
	c.Flags().BoolVar(&divide, "divide", false, "also print the count of each first move")
	jsonFlag(c, &asJSON)
	coresFlag(c, &cores)
	return c
}

// String is the result for people.
func (r perftResult) String() string {
	var s strings.Builder
	for _, m := range r.Moves {
		fmt.Fprintf(&s, "%s: %d\n", m.Move, m.Count)
	}
	fmt.Fprintf(&s, "perft %d of %s: %d\n", r.Depth, r.Position, r.Count)
	return s.String()
}

// perft counts on several cores, one first move at a time.
func perft(p amazons.Position, depth, cores int) perftResult {
	r := perftResult{MessageType: "perft", Position: p.String(), Depth: depth}
	if depth == 0 {
		r.Count = 1
		return r
	}
	s := p.State()
	moves := s.Moves(nil)
	r.Moves = make([]perftCount, len(moves))
	var group errgroup.Group
	group.SetLimit(cores)
	// Each goroutine has an element of its own, so they need no lock.
	for i, m := range moves {
		group.Go(func() error {
			r.Moves[i] = perftCount{m.String(), s.After(m).Perft(depth - 1)}
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	slices.SortFunc(r.Moves, func(a, b perftCount) int { return strings.Compare(a.Move, b.Move) })
	for _, m := range r.Moves {
		r.Count += m.Count
	}
	return r
}
