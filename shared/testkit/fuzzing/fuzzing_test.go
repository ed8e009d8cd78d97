package fuzzing

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// recorder takes the place of a test that fails.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return "recorder" }
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

var kept []byte

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func()
		want string // part of what is said; empty: nothing is
	}{
		{"nothing", func() {}, ""},
		{"memory", func() { kept = make([]byte, 4<<20) }, "allocated"},
		{"time", func() {
			for until := processorTime() + 60*time.Millisecond; processorTime() < until; {
				kept = append(kept[:0], 1)
			}
		}, "processor time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{TB: t}
			Within(r, 50*time.Millisecond, 1<<20, c.f)
			if c.want == "" && len(r.said) > 0 || c.want != "" &&
				(len(r.said) != 1 || !strings.Contains(r.said[0], c.want)) {
				t.Errorf("said %q, want %q", r.said, c.want)
			}
		})
	}
}

func TestTape(t *testing.T) {
	tape := Tape{Rest: []byte{7, 1, 2, 3, 200, 'a', 'b'}}
	if a, b := tape.Byte(), tape.Choose(2); a != 7 || b != 1 {
		t.Errorf("read %d and %d", a, b)
	}
	if n := tape.Number(); n != 3 { // two bytes
		t.Errorf("read the number %d", n)
	}
	if b := tape.Bytes(10); string(b) != "ab" || tape.More() {
		t.Errorf("read %q and there is more: %v", b, tape.More())
	}
	if tape.Byte() != 0 || tape.Number() != 0 || len(tape.Bytes(3)) != 0 || tape.Choose(5) != 0 {
		t.Error("an empty tape is not all zeros")
	}
}
