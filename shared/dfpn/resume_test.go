package dfpn

import (
	"testing"

	"amazonsfarm/shared/eval"
)

// TestResume: a search that is cut off again and again, each time with twice the limit, needs hardly more
// nodes than one in one piece. Here it needs 13 in a hundred more where the way down is forgotten.
func TestResume(t *testing.T) {
	if testing.Short() {
		t.Skip("two searches of 4x7")
	}
	p := parse(t, "4x7")
	whole := newSearcher(t, p.Board, newTable(t, 64<<20), 1).Search(t.Context(), p.State(), 0)
	s := newSearcher(t, p.Board, newTable(t, 64<<20), 1)
	nodes, pieces := uint64(0), 0
	for limit := uint64(1000); ; limit *= 2 {
		r := s.Search(t.Context(), p.State(), limit)
		nodes, pieces = nodes+r.Nodes, pieces+1
		if r.Verdict != eval.Open {
			if r.Verdict != whole.Verdict {
				t.Errorf("%v in pieces, %v in one", r.Verdict, whole.Verdict)
			}
			break
		}
	}
	if nodes > whole.Nodes+whole.Nodes/100 {
		t.Errorf("%d nodes in %d pieces, %d in one", nodes, pieces, whole.Nodes)
	}
	if len(s.threads[0].ways) != 0 {
		t.Errorf("the way of a search that has ended is kept: %v", s.threads[0].ways)
	}
}

// TestWays: as many ways are kept as there may be, and a search of another position follows none.
func TestWays(t *testing.T) {
	th := &thread{ways: map[uint64][]step{}, s: new(Searcher)}
	for root := range uint64(maxWays + 1) {
		th.takeWay(root)
		th.way = append(th.way, step{child: root})
		th.keepWay(root)
		if len(th.ways) > maxWays {
			t.Fatalf("%d ways are kept", len(th.ways))
		}
	}
	th.takeWay(maxWays)
	if i, _ := th.resumed([]child{{hash: 1}, {hash: maxWays}}); i != 1 {
		t.Errorf("the search goes on with child %d, not with the one that it was at", i)
	}
	th.takeWay(maxWays)
	if i, _ := th.resumed([]child{{hash: 1}}); i >= 0 || th.resume != nil {
		t.Errorf("a search follows a way to a child that is gone")
	}
	th.takeWay(7)
	if i, _ := th.resumed([]child{{hash: 7}}); i >= 0 {
		t.Error("a search follows the way of another position")
	}
}
