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
		moves[i] = new(farmv1.FirstMove)
		if i < 112 {
			moves[i].Verdict = farmv1.Verdict_VERDICT_LOST
		}
	}
	status := func(seconds float64, nodes uint64, phase *farmv1.Phase) *farmv1.StatusResponse {
		return &farmv1.StatusResponse{Campaign: &farmv1.Campaign{Board: "5x6"}, State: "running",
			Why: "one position is leased", Seconds: seconds, Nodes: nodes, RootPhi: 1, RootDelta: 1, Phase: phase,
			FirstMoves: moves[112:], Workers: 2}
	}
	m := new(meter)
	searching := &farmv1.Phase{Name: "searching"}
	later := status(62, 4_000_000, searching)
	later.FirstMoves, later.RootPhi, later.RootDelta = moves, 35, 1200
	settled := status(70, 4_000_000, nil)
	settled.State, settled.Why, settled.Winner = "settled", "it is verified", "first"
	settled.RootPhi, settled.RootDelta = 0, 1<<30
	for _, c := range []struct {
		r    *farmv1.StatusResponse
		want string
	}{
		{status(0, 0, nil), "5x6 running (one position is leased), 0 s, 0 nodes, 2 workers"},
		{status(2, 96_000, searching), "5x6 searching, 48.0 k nodes/s, 2 s, 96.0 k nodes, 2 workers"},
		{later, "5x6 searching, 65.1 k nodes/s, 1 min 2 s, first moves 112 of 256 refuted (43 %), 4000.0 k nodes, " +
			"work left: 35 to prove a win, 1200 a loss, 2 workers"},
		{status(63, 4_000_000, &farmv1.Phase{Name: "extracting", Done: 812_000}),
			"5x6 extracting evidence: 812.0 k positions proved, 1 min 3 s, 4000.0 k nodes, 2 workers"},
		{status(64, 4_000_000, &farmv1.Phase{Name: "delivering", Done: 61, Total: 100}),
			"5x6 delivering evidence 61 %, 1 min 4 s, 4000.0 k nodes, 2 workers"},
		{status(65, 4_000_000, &farmv1.Phase{Name: "verifying", Done: 3, Total: 12}),
			"5x6 verifying: 3 of 12 parts 25 %, 1 min 5 s, 4000.0 k nodes, 2 workers"},
		{status(66, 4_000_000, &farmv1.Phase{Name: "assembling"}),
			"5x6 assembling the proof, 1 min 6 s, 4000.0 k nodes, 2 workers"},
		{status(7300, 4_000_000, &farmv1.Phase{Name: "checking", Done: 1, Total: 2}),
			"5x6 checking the proof 50 %, 2 h 1 min, 4000.0 k nodes, 2 workers"},
		{settled, "5x6 settled (it is verified), 1 min 10 s, winner first, 4000.0 k nodes, 2 workers"},
	} {
		if got := m.line(c.r); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	text := statusReport(settled)
	if strings.Contains(text, "1073741824") || !strings.Contains(text, "disproof number inf:") {
		t.Error(text)
	}
}
