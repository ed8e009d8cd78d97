package cli

import (
	"testing"
	"time"
)

// TestRate: a steady count has its rate at once, a change shows within seconds, and a restart begins anew.
func TestRate(t *testing.T) {
	var r Rate
	for s := range 10 {
		got := r.Of(uint64(1000*s), time.Duration(s)*time.Second)
		if want := uint64(1000); s > 0 && got != want || s == 0 && got != 0 {
			t.Errorf("after %d s: %d", s, got)
		}
	}
	for s := range 20 {
		r.Of(uint64(9000+3000*(s+1)), time.Duration(10+s)*time.Second)
	}
	if got := r.Of(69_000, 29*time.Second); got < 2900 || got > 3000 {
		t.Errorf("20 s after the rate was tripled: %d", got)
	}
	if got := r.Of(5, 30*time.Second); got != 0 {
		t.Errorf("after a restart: %d", got)
	}
	if MemoryUsed() < 1<<20 {
		t.Errorf("this process uses %d bytes", MemoryUsed())
	}
}

// TestFit leaves out whole phrases where a terminal is narrow.
func TestFit(t *testing.T) {
	const text = "5x6 searching, 48.1 k nodes/s, 31 s, first moves 18 of 256 refuted (7 %)"
	for columns, want := range map[int]string{
		100: text, len(text): text, 79: text, 40: "5x6 searching, 48.1 k nodes/s, 31 s",
		36: "5x6 searching, 48.1 k nodes/s, 31 s",
		35: "5x6 searching, 48.1 k nodes/s, 31 s", 34: "5x6 searching, 48.1 k nodes/s", 8: "5x6 sear",
	} {
		if got := fit(text, columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}
