package dfpn

import (
	"errors"
	"testing"

	"amazonsfarm/shared/eval"
)

// TestInitialForms solves small boards with every form of initial numbers and several sums: what
// they change is the work, never the answer.
func TestInitialForms(t *testing.T) {
	table := newTable(t, 64<<20)
	for board, want := range map[string]eval.Verdict{"4x4": eval.Lost, "5x4": eval.Won, "4x6": eval.Won} {
		p := parse(t, board)
		for _, o := range []Options{
			{Initial: Constant}, {Initial: Mobility}, {Initial: Territory}, {Initial: Fitted},
			{SumWeight: 1}, {SumWeight: 128}, {Slack: -1}, {Slack: 256},
		} {
			if board == "4x6" && (o.Initial == Constant || testing.Short()) { // it takes seconds
				continue
			}
			o.Board, o.Table = p.Board, table
			table.Clear()
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			r := s.Search(t.Context(), p.State(), Limit{Nodes: 5_000_000})
			t.Logf("%s, %v, sum %d, slack %d: %v, %d nodes, %d evaluations", board, o.Initial, o.SumWeight, o.Slack,
				r.Verdict, r.Nodes, r.Evaluations)
			if r.Verdict != want {
				t.Errorf("%s, %v, sum %d, slack %d: %v, want %v", board, o.Initial, o.SumWeight, o.Slack, r.Verdict,
					want)
			}
		}
	}
}

func TestNumberOptions(t *testing.T) {
	p := parse(t, "4x4")
	for _, o := range []Options{{Initial: Territory + 1}, {SumWeight: -1}, {SumWeight: 257}, {Slack: 65537}} {
		o.Board, o.Table = p.Board, newTable(t, 1<<20)
		if _, err := New(o); !errors.Is(err, ErrOptions) {
			t.Errorf("initial %v, sum %d, slack %d: %v, want ErrOptions", o.Initial, o.SumWeight, o.Slack, err)
		}
	}
}
