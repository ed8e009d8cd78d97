package cli

import (
	"slices"
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

// TestTurns shows whole phrases by turns where a terminal is narrow, so that none is lost.
func TestTurns(t *testing.T) {
	const text = "5x6 searching 1:02, first moves 112 of 256 refuted, evidence 61 %, 48 k nodes/s, memory 123 MiB"
	for columns, want := range map[int][]string{
		200: {text},
		79: {"5x6 searching 1:02, first moves 112 of 256 refuted, evidence 61 %, 48 k nodes/s",
			"5x6 searching 1:02, memory 123 MiB"},
		39: {"5x6 searching 1:02, evidence 61 %", "x"},
		19: {"5x6 searching 1:02", "first moves 112 of ", "evidence 61 %", "48 k nodes/s", "memory 123 MiB"},
		8:  {"5x6 sear", "first mo", "evidence", "48 k nod", "memory 1"},
	} {
		if columns == 39 {
			want = []string{"5x6 searching 1:02", "first moves 112 of 256 refuted", "5x6 searching 1:02, evidence 61 %",
				"5x6 searching 1:02, 48 k nodes/s", "5x6 searching 1:02, memory 123 MiB"}
		}
		if got := pages(text, columns); !slices.Equal(got, want) {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
	if got := pages("", 40); !slices.Equal(got, []string{""}) {
		t.Errorf("of nothing: %q", got)
	}
}
