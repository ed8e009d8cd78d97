package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// line is a line of input with its answer, once it has one.
type line struct {
	text   string
	answer chan lineAnswer // holds one
}

type lineAnswer struct {
	result cli.SolveResult
	err    error
}

// lines answers one question a line, in order, on all cores. One goroutine reads, one a core
// searches, and one writes.
// The writer alone changes bad, stopped and wrong; solveLines reads them when all goroutines have ended.
// A line that failed verification counts as bad, too.
type lines struct {
	question question
	flags    searchFlags
	work     chan line // to the searches
	order    chan line // to the writer, in the order of the input; bounds the lines that are read ahead

	given, answered     atomic.Int64 // lines, for the status
	ended               atomic.Bool  // all lines were read
	bad, stopped, wrong int          // lines without an answer, at the limit of nodes, not verified
	unread              error        // why the input was not read to its end; the lines before are answered
}

// solveLines answers the lines of in on out. Each position is searched by one thread in an empty
// table of its own, so that no answer depends on another line. Empty lines are passed over.
func solveLines(ctx context.Context, c *cobra.Command, flags searchFlags, q question) error {
	l := &lines{question: q, flags: flags, work: make(chan line), order: make(chan line, 4*flags.cores)}
	begun := time.Now()
	hide := cli.NewStatusLine(c.ErrOrStderr()).Show(ctx, func() string {
		of := "lines so far"
		if l.ended.Load() {
			of = "lines"
		}
		return fmt.Sprintf("%d of %d %s answered, %.0f s", l.answered.Load(), l.given.Load(), of,
			time.Since(begun).Seconds())
	})
	defer hide()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.read(ctx, c.InOrStdin()) })
	for range flags.cores {
		group.Go(func() error { return l.search(ctx) })
	}
	group.Go(func() error { return l.write(ctx, c.OutOrStdout()) })
	if err := group.Wait(); err != nil {
		return err
	}
	// The worst comes first, since there is one exit code for all lines.
	switch {
	case l.wrong > 0:
		return cli.As(cli.ErrVerification, fmt.Errorf("%d answers failed verification", l.wrong))
	case l.unread != nil:
		return l.unread
	case l.given.Load() == 0:
		return cli.Usagef("standard input has no position; write one a line, such as 5x6 or .B.B./...../.W.W. w")
	case l.bad == 1:
		return errors.New("1 line was not answered; its field error says why")
	case l.bad > 1:
		return fmt.Errorf("%d lines were not answered; the field error of each says why", l.bad)
	case l.stopped > 0:
		return fmt.Errorf("%s: %w", cli.Counted(l.stopped, "position"), errBudget)
	}
	return nil
}

// read hands each line to the writer and to a search.
func (l *lines) read(ctx context.Context, in io.Reader) error {
	defer close(l.work)
	defer close(l.order)
	scanner := readLines(cli.Reader(ctx, in))
	for scanner.Scan() {
		next := line{lineText(scanner.Text()), make(chan lineAnswer, 1)}
		if next.text == "" {
			continue
		}
		l.given.Add(1)
		// The writer gets the line first, which fixes its place among the answers. Then a search gets
		// it. The channel of the answer has room for one, so a search never waits for the writer.
		for _, to := range []chan line{l.order, l.work} {
			select {
			case to <- next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.ended.Store(true)
	if err := scanner.Err(); err != nil {
		l.unread = fmt.Errorf("read positions: %w", err)
	}
	return nil
}

// search answers lines, one after the other, with its share of the tables.
func (l *lines) search(ctx context.Context) error {
	share := max(l.flags.table.Bytes/int64(l.flags.cores), dfpn.MinTableBytes)
	s, err := newSolver(share, 1, l.flags.judge)
	if err != nil {
		return err
	}
	defer s.close()
	for next := range l.work {
		q := l.question
		var a lineAnswer
		if q.position, a.err = amazons.ParsePosition(next.text); a.err == nil {
			a.result, a.err = s.solve(ctx, q)
		} else {
			a.result.Position = next.text
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next.answer <- a
	}
	return nil
}

// write writes the answers in the order of the input. It flushes when it would wait for an answer.
func (l *lines) write(ctx context.Context, out io.Writer) error {
	buffered := bufio.NewWriter(out)
	for next := range l.order {
		var a lineAnswer
		select {
		case a = <-next.answer:
		case <-ctx.Done():
			return errors.Join(buffered.Flush(), ctx.Err())
		}
		l.answered.Add(1)
		switch {
		case errors.Is(a.err, errBudget):
			l.stopped++
		case a.err != nil:
			a.result.MessageType, a.result.Error = "error", a.err.Error()
			l.bad++
			if errors.Is(a.err, cli.ErrVerification) {
				l.wrong++
			}
		}
		if err := a.result.WriteJSON(buffered); err != nil {
			return err
		}
		if len(l.order) == 0 {
			if err := buffered.Flush(); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}
