package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// How often a status is shown.
const (
	TerminalPeriod = 250 * time.Millisecond // a line that is drawn over, on a terminal
	PlainPeriod    = time.Minute            // a line of its own, anywhere else
)

// StatusLine shows one line of text that changes: drawn over four times a second
// on a terminal, a plain line a minute otherwise, and at once on SIGUSR1. It is
// itself a writer for messages, which then do not mix with the line.
type StatusLine struct {
	w        io.Writer
	terminal bool
	width    func() int
	mu       sync.Mutex
	drawn    bool // the cursor stands behind a status text
}

// NewStatusLine returns a status line on w, which is a terminal if it is a file that says so.
func NewStatusLine(w io.Writer) *StatusLine {
	s := &StatusLine{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
		s.width = func() int {
			if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 1 {
				return columns
			}
			return 80
		}
	}
	return s
}

// Write writes a message, after taking the status away.
func (s *StatusLine) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return s.w.Write(p)
}

// Show shows text() until ctx is done or hide is called. hide takes the line away, and may be
// called again: when it has returned, text is not called any more. It has to be called in any case.
func (s *StatusLine) Show(ctx context.Context, text func() string) (hide func()) {
	now := make(chan os.Signal, 1)
	signal.Notify(now, unix.SIGUSR1)
	ctx, end := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() {
		defer signal.Stop(now)
		s.run(ctx, text, now)
	})
	return func() {
		end()
		shown.Wait()
	}
}

func (s *StatusLine) run(ctx context.Context, text func() string, now <-chan os.Signal) {
	period := PlainPeriod
	if s.terminal {
		period = TerminalPeriod
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.mu.Lock()
			s.clear()
			s.mu.Unlock()
			return
		case <-now:
			fmt.Fprintln(s, text())
		case <-tick.C:
			s.draw(text())
		}
	}
}

func (s *StatusLine) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		fmt.Fprintln(s.w, text)
		return
	}
	text = fit(text, s.width()-1)
	s.clear()
	fmt.Fprint(s.w, text)
	s.drawn = true
}

// fit leaves out the last words of a text, at a comma if there is one, so that it has at most so many
// columns.
func fit(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	if at := strings.LastIndex(string(runes[:columns+1])+" ", ", "); at > 0 {
		return text[:at]
	}
	return string(runes[:columns])
}

func (s *StatusLine) clear() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}
