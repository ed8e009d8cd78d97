package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"

	"golang.org/x/sync/errgroup"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 4096

// line is a line of input and where its answer goes.
type line struct {
	text   string
	answer chan lineAnswer // holds one
}

type lineAnswer struct {
	result cli.SolveResult
	err    error
}

// solveLines answers one question a line, in order, on all cores: each position
// is searched by one thread in an empty table of its own, so that answers do not depend on each other.
// Empty lines are passed over.
func solveLines(ctx context.Context, in io.Reader, out io.Writer, flags searchFlags, q question) error {
	group, ctx := errgroup.WithContext(ctx)
	work := make(chan line)
	order := make(chan line, 4*flags.cores) // bounds what is read ahead
	group.Go(func() error {
		defer close(work)
		defer close(order)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(make([]byte, 0, maxLine), maxLine)
		for scanner.Scan() {
			l := line{strings.TrimSpace(scanner.Text()), make(chan lineAnswer, 1)}
			if l.text == "" {
				continue
			}
			for _, to := range []chan line{order, work} {
				select {
				case to <- l:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		if err := scanner.Err(); err != nil {
			return fmt.Errorf("read positions: %w", err)
		}
		return nil
	})
	share := max(flags.table.Bytes/int64(flags.cores), dfpn.MinTableBytes)
	for range flags.cores {
		group.Go(func() error {
			s, err := newSolver(share, 1, flags.judge)
			if err != nil {
				return err
			}
			defer s.close()
			for l := range work {
				q := q
				var a lineAnswer
				if q.position, a.err = amazons.ParsePosition(l.text); a.err == nil {
					a.result, a.err = s.solve(ctx, q)
				} else {
					a.result.Position = l.text
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
				l.answer <- a
			}
			return nil
		})
	}
	var bad, stopped, wrong int
	group.Go(func() error {
		buffered := bufio.NewWriter(out)
		for l := range order {
			var a lineAnswer
			select {
			case a = <-l.answer:
			case <-ctx.Done():
				return errors.Join(buffered.Flush(), ctx.Err())
			}
			switch {
			case errors.Is(a.err, errBudget):
				stopped++
			case a.err != nil:
				a.result.MessageType, a.result.Error = "error", a.err.Error()
				bad++
				if errors.Is(a.err, cli.ErrVerification) {
					wrong++
				}
			}
			if err := a.result.WriteJSON(buffered); err != nil {
				return err
			}
			if len(order) == 0 {
				if err := buffered.Flush(); err != nil {
					return err
				}
			}
		}
		return buffered.Flush()
	})
	if err := group.Wait(); err != nil {
		return err
	}
	switch {
	case wrong > 0:
		return cli.As(cli.ErrVerification, fmt.Errorf("%d answers failed verification", wrong))
	case bad > 0:
		return fmt.Errorf("%d lines were not answered", bad)
	case stopped > 0:
		return cli.As(cli.ErrLimit, fmt.Errorf("%d positions: %w", stopped, errBudget))
	}
	return nil
}
