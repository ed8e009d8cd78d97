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
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// How often a status is shown.
const (
	TerminalPeriod = 250 * time.Millisecond // a line that is drawn over, on a terminal
	PlainPeriod    = time.Minute            // a line of its own, anywhere else
	pagePeriod     = 4 * time.Second        // what does not fit beside each other takes turns
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
	begun    time.Time
}

// NewStatusLine returns a status line on w, which is a terminal if it is a file that says so.
func NewStatusLine(w io.Writer) *StatusLine {
	s := &StatusLine{w: w, begun: time.Now()}
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

// run draws the text once a period, and writes it as a line of its own whenever somebody asks by
// signal.
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

// draw shows a text in place of the one before. Where nobody watches, each text is a line of its
// own.
func (s *StatusLine) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		fmt.Fprintln(s.w, text)
		return
	}
	shown := pages(text, s.width()-1)
	text = shown[turn(int(time.Since(s.begun)/pagePeriod), len(shown))]
	s.clear()
	fmt.Fprint(s.w, text)
	s.drawn = true
}

// pages divides a text at its commas so that each page has at most so many columns. All begin with what
// comes before the first comma, where there is room for it.
func pages(text string, columns int) []string {
	head, rest, _ := strings.Cut(text, ", ")
	head = clip(head, columns)
	out := []string{head}
	for _, word := range strings.Split(rest, ", ") {
		if word == "" {
			continue
		}
		last := &out[len(out)-1]
		switch {
		case width(*last+", "+word) <= columns:
			*last += ", " + word
		case width(head+", "+word) <= columns:
			out = append(out, head+", "+word)
		default:
			out = append(out, clip(word, columns))
		}
	}
	return out
}

// turn returns which of some pages has its turn: the first comes again after each of the others.
func turn(n, pages int) int {
	if n%2 == 0 || pages == 1 {
		return 0
	}
	return 1 + n/2%(pages-1)
}

func width(text string) int { return utf8.RuneCountInString(text) }

// clip leaves out the end of a text that has more columns.
func clip(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	return string([]rune(text)[:max(0, columns)])
}

// clear takes the line off a terminal: back to its begin, and erased to its end. The caller has the
// lock.
func (s *StatusLine) clear() {
	if s.drawn {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.drawn = false
	}
}
