package checks

import (
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
)

func TestRetracted(t *testing.T) {
	r, at := NewRetracted(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	keys := func(from, to uint64) (list []amazons.Key) {
		for a := from; a < to; a++ {
			list = append(list, amazons.Key{A: a})
		}
		return list
	}
	r.Add(1, keys(0, 5), at)
	for _, c := range []struct {
		name  string
		pool  uint32
		lacks []amazons.Key
		after time.Duration
		want  bool
	}{
		{"all were taken back", 1, keys(1, 4), time.Hour, true},
		{"one never was", 1, keys(3, 6), time.Hour, false},
		{"in another pool", 2, keys(1, 4), time.Hour, false},
		{"long ago", 1, keys(1, 4), 25 * time.Hour, false},
		{"lacks nothing", 1, nil, time.Hour, false},
	} {
		if got := r.Excuses(c.pool, c.lacks, at.Add(c.after)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	// Where there is no room for more, all that comes within a day is excused.
	at = at.Add(25 * time.Hour)
	r.Add(1, keys(10, maxRetracted+5), at)
	if len(r.at) != maxRetracted || r.Excuses(1, keys(0, 1), at) || !r.Excuses(1, keys(10, 11), at) {
		t.Errorf("%d are remembered", len(r.at))
	}
	r.Add(1, keys(5, 6), at)
	for hours, want := range map[time.Duration]bool{23: true, 25: false} {
		if got := r.Excuses(1, keys(1, 2), at.Add(hours*time.Hour)); got != want || len(r.at) > 0 {
			t.Errorf("%d hours after too many: %v, %d are remembered", hours, got, len(r.at))
		}
	}
}

func TestAnswers(t *testing.T) {
	var l Answers
	told := 0
	parts := []Part{{ID: [32]byte{1}}, {ID: [32]byte{2}}}
	answer := func(pool uint32) *Answer {
		a := NewAnswer(parts, func(done, all int) { told = 10*done + all })
		l.Add(a, pool)
		return a
	}
	ended := func(a *Answer) bool { return len(a.Done) > 0 }

	first, other := answer(1), answer(2)
	l.Holds(parts[0].ID)
	l.Holds(parts[0].ID)
	if told != 12 || ended(first) {
		t.Fatalf("told %d after one part of two", told)
	}
	l.Retracted(2)
	l.Holds(parts[1].ID)
	if err := <-other.Done; err != ErrRetracted || told != 22 {
		t.Errorf("facts were taken back: %v, told %d", err, told)
	}
	if err := <-first.Done; err != nil {
		t.Errorf("all hold: %v", err)
	}

	lonely := answer(1)
	for tick := range 3 * lonelyTicks {
		l.Tick(tick == lonelyTicks) // a worker comes and goes
		if now := tick > 2*lonelyTicks; now != ended(lonely) {
			t.Fatalf("tick %d: ended is %v", tick, !now)
		}
	}
	if err := <-lonely.Done; err != ErrLonely {
		t.Errorf("without workers: %v", err)
	}
}
