package checker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// States are names of files that say which parts hold. No name is empty.
type States []string

// Set adds names with commas between them. A file whose name has a comma cannot be named.
func (s *States) Set(text string) error {
	names := strings.Split(text, ",")
	if slices.Contains(names, "") {
		return errors.New("the name of a file is empty")
	}
	*s = append(*s, names...)
	return nil
}

// String returns the names as Set reads them.
func (s *States) String() string { return strings.Join(*s, ",") }

// Type names the value in a help text.
func (s *States) Type() string { return "FILE" }

// states are files that say which parts of a proof hold. A state is a text of lines and can only
// grow: a line that names the proof, then a line for each part,
//
//	amazons-check state 1 proof SHA256 rules 4
//	NUMBER ENTRIES REPLIES LOOKUPS RULE1 RULE2 RULE3 [RULE4] ok
//
// with the number of the part from 0 and its Counts, without RULE4 where that is 0. A line that a kill has
// cut lacks its end, and then counts for nothing. Several states, one after the other, are a state as well.
// Any other line is an error: what follows it could belong to another proof.
type states struct {
	first string
	f     *os.File // the one that is written; nil: none
}

// openStates reads the states, notes their parts in done and counts, and opens the first one for
// writing. Each part counts once. Errors wrap ErrState for a state of another proof or other rules.
func openStates(names []string, m *manifest, rules int, done bitmap, counts *Counts) (*states, error) {
	s := new(states)
	if len(names) == 0 {
		return s, nil
	}
	head := fmt.Sprintf("amazons-check state 1 proof %x rules %d", m.file, rules)
	var err error
	for i, name := range slices.Backward(names) { // the first one is made last, where all others are good
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%w: %s is not a regular file", ErrState, name)
		}
		how := os.O_RDONLY
		if i == 0 {
			how = os.O_RDWR | os.O_CREATE | os.O_APPEND
		}
		f, openErr := os.OpenFile(name, how, 0o644)
		if errors.Is(openErr, fs.ErrNotExist) {
			openErr = fmt.Errorf("%w: %s: there is no such file, or no folder for it", ErrState, name)
		}
		if err = openErr; err == nil {
			err = readState(f, name, head, m.parts, done, counts)
		}
		if i == 0 {
			s.first, s.f = name, f
		} else if openErr == nil {
			f.Close()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("state: %w", err), s.Close())
		}
	}
	// The state is opened for appending, and each line is written by one call. So a kill can cut
	// the last line only, and two programs that write one state do not tear each other's lines.
	// A new head ends what a kill has left of a line.
	if info, statErr := s.f.Stat(); statErr != nil {
		err = statErr
	} else if info.Size() == 0 {
		_, err = s.f.WriteString(head + "\n")
	} else {
		_, err = s.f.WriteString("\n" + head + "\n")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write state: %w", err), s.Close())
	}
	return s, nil
}

// lineOf is the line of a part. It leaves rule 4 out where that rule decided nothing.
func lineOf(i int64, c Counts) string {
	fourth := ""
	if c.LeafRule4 != 0 {
		fourth = fmt.Sprintf(" %d", c.LeafRule4)
	}
	return fmt.Sprintf("%d %d %d %d %d %d %d%s ok", i, c.Entries, c.Replies, c.Lookups, c.LeafRule1, c.LeafRule2,
		c.LeafRule3, fourth)
}

// torn reports whether a text can be what a kill has left of the line of a part.
func torn(s string) bool { return strings.Trim(s, "0123456789 ok") == "" }

// maxStateLine bounds a line of a state in bytes. A first line behind one that was cut has less than 300.
const maxStateLine = 4096

// readState notes the parts of one file, those of a proof with these records.
func readState(f io.Reader, name, head string, parts *pages, done bitmap, counts *Counts) error {
	lines, records := bufio.NewReaderSize(f, maxStateLine), &cursor{pages: parts}
	known := false // the lines are of this proof
	for n := 1; ; n++ {
		data, err := lines.ReadSlice('\n')
		line := string(data)
		if cut := line == "" || known || strings.HasPrefix(head, line); errors.Is(err, io.EOF) && cut {
			return nil // what is left has no end
		} else if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("%s: %w", name, err)
		}
		line = strings.TrimSuffix(line, "\n")
		var i int64
		var c Counts
		_, _ = fmt.Sscan(line, &i, &c.Entries, &c.Replies, &c.Lookups, &c.LeafRule1, &c.LeafRule2, &c.LeafRule3,
			&c.LeafRule4)
		whole := line == lineOf(i, c)
		before, headed := strings.CutSuffix(line, head)
		fits := !errors.Is(err, bufio.ErrBufferFull)
		if whole {
			if fits, err = records.fits(i, c); err != nil {
				return err
			}
		}
		switch {
		case headed && torn(before): // another state may follow a line that was cut
			known = true
		case strings.HasPrefix(head, line): // a kill has cut it
		case !known || !torn(line) || !fits:
			return fmt.Errorf("%w: line %d of %s is %.160q, for this proof and these rules it would be %q or that of "+
				"one of its %d parts", ErrState, n, name, line, head, parts.n)
		case whole && !done.has(i):
			done.add(i)
			counts.add(c)
		}
	}
}

// fits reports whether the proof has part i, and a check of it can have counted so. A position has less than 2^14
// replies.
func (c *cursor) fits(i int64, counts Counts) (bool, error) {
	if i < 0 || i >= c.n {
		return false, nil
	}
	h, err := c.record(i)
	if err != nil {
		return false, err
	}
	p := parsePart(h)
	most := (p.entries + p.roots) << 14
	for _, n := range [...]int64{counts.Replies, counts.Lookups, counts.LeafRule1, counts.LeafRule2, counts.LeafRule3,
		counts.LeafRule4} {
		if n < 0 || n > most {
			return false, nil
		}
	}
	return counts.Entries == p.entries, nil
}

// add notes that a part holds.
func (s *states) add(i int64, c Counts) error {
	if s.f == nil {
		return nil
	}
	// It begins a line of its own, whatever another program that was stopped has left before it.
	if _, err := s.f.WriteString("\n" + lineOf(i, c) + "\n"); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// Close brings the state to the disk and closes it. It may be called twice.
func (s *states) Close() error {
	if s.f == nil {
		return nil
	}
	err := errors.Join(s.f.Sync(), s.f.Close())
	s.f = nil
	if err != nil {
		return fmt.Errorf("write state %s: %w", s.first, err)
	}
	return nil
}
