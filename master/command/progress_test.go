package command

import (
	"strings"
	"testing"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// TestProgress holds what a person reads in each phase, and that a position of which nothing is known
// shows no numbers.
func TestProgress(t *testing.T) {
	moves := make([]*farmv1.FirstMove, 256)
	for i := range moves {
		moves[i] = &farmv1.FirstMove{Phi: 1, Delta: 1}
		if i < 112 {
			moves[i].Verdict = farmv1.Verdict_VERDICT_LOST
		}
	}
	status := func(seconds float64, nodes uint64, phase *farmv1.Phase) *farmv1.StatusResponse {
		return &farmv1.StatusResponse{Campaign: &farmv1.Campaign{Board: "5x6"}, State: "running",
			Why: "one position is leased", Seconds: seconds, Nodes: nodes, RootPhi: 1, RootDelta: 1, Phase: phase,
			FirstMoves: moves, Workers: 2}
	}
	m := new(meter)
	searching := &farmv1.Phase{Name: "searching"}
	later := status(62, 4_000_000, searching)
	later.RootPhi, later.RootDelta, later.Evidence = 35, 1200, 0.61
	// As long as all is one lease, numbers of first moves are those of its worker.
	early := status(3, 96_000, searching)
	early.FirstMoves = []*farmv1.FirstMove{{Phi: 1, Delta: 1}, {Phi: 0, Delta: 1 << 30}, {Phi: 7, Delta: 2}}
	settled := status(70, 4_000_000, nil)
	settled.State, settled.Why, settled.Winner = "settled", "it is verified", "first"
	settled.RootPhi, settled.RootDelta = 0, 1<<30
	draining := status(71, 4_000_000, searching)
	draining.State, draining.Leased = "draining", 2
	ended := status(72, 4_000_000, searching)
	ended.State, ended.Leased = "ended", 1
	const moves112 = "first moves 112 of 256 refuted"
	for _, c := range []struct {
		r    *farmv1.StatusResponse
		want string
	}{
		{status(0, 0, nil), "5x6 running 0:00, one position is leased, " + moves112 + ", 2 workers, 0 nodes"},
		{early, "5x6 searching 0:03, first moves 1 of 3 refuted, 1 searched, 32 k nodes/s, 2 workers, 96 k nodes"},
		{later, "5x6 searching 1:02, evidence 61 %, " + moves112 + ", 66 k nodes/s, 2 workers, 4.0 M nodes, " +
			"work left 35 to prove a win or 1200 a loss"},
		{status(63, 4_000_000, &farmv1.Phase{Name: "extracting", Done: 812_000}),
			"5x6 extracting evidence 1:03, 812 k positions proved, " + moves112 + ", 2 workers, 4.0 M nodes"},
		{status(64, 4_000_000, &farmv1.Phase{Name: "delivering", Done: 61, Total: 100}),
			"5x6 delivering evidence 1:04, 61 % of 100 B, " + moves112 + ", 2 workers, 4.0 M nodes"},
		{status(65, 4_000_000, &farmv1.Phase{Name: "verifying", Done: 3, Total: 12}),
			"5x6 verifying 1:05, 3 of 12 parts, " + moves112 + ", 2 workers, 4.0 M nodes"},
		{status(66, 4_000_000, &farmv1.Phase{Name: "assembling", Done: 1, Total: 2}),
			"5x6 assembling the proof 1:06, 1 of 2 parts, " + moves112 + ", 2 workers, 4.0 M nodes"},
		{status(7300, 4_000_000, &farmv1.Phase{Name: "checking", Done: 10, Total: 20}),
			"5x6 checking the proof 2:01:40, 50 % of 20 positions, " + moves112 + ", 2 workers, 4.0 M nodes"},
		{draining, "5x6 draining 1:11, 2 leases under way, " + moves112 + ", 0 nodes/s, 2 workers, 4.0 M nodes"},
		{ended, "5x6 ended 1:12, 1 lease under way, " + moves112 + ", 0 nodes/s, 2 workers, 4.0 M nodes"},
		{settled, "5x6 settled 1:10, it is verified, winner first, 2 workers, 4.0 M nodes"},
	} {
		if got := m.line(c.r); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	text := statusReport(settled)
	if strings.Contains(text, "1073741824") || !strings.Contains(text, "disproof number inf:") {
		t.Error(text)
	}
	// Of many losing moves some are named, and each winning one. A number of 1 is no estimate.
	early.RootPhi, early.RootDelta, early.FirstMoves = 1, 30048, nil
	for range 58 {
		early.FirstMoves = append(early.FirstMoves, &farmv1.FirstMove{Move: "A1-A2xA3",
			Verdict: farmv1.Verdict_VERDICT_LOST})
	}
	early.FirstMoves = append(early.FirstMoves, &farmv1.FirstMove{Move: "B1-B4xC4",
		Verdict: farmv1.Verdict_VERDICT_WON})
	text = statusReport(early)
	for want, n := range map[string]int{"A1-A2xA3 loses\n": 5, "B1-B4xC4 wins\n": 1, "and 53 more that lose": 1,
		"no estimates of the work left": 1} {
		if strings.Count(text, want) != n {
			t.Errorf("%q should stand %d times in %s", want, n, text)
		}
	}
	if line := m.line(early); strings.Contains(line, "work left") {
		t.Error(line)
	}
}
