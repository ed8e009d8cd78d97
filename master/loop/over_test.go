package loop

import (
	"testing"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// TestDrainWhileWorkersCheck: a drain waited until workers had checked the whole proof of an answer, which takes hours
// where the proof is large. The limit of nodes waits: a master that starts again would be at it at once.
func TestDrainWhileWorkersCheck(t *testing.T) {
	l := &Loop{}
	l.list.Store(&[]*campaign{{settled: &tree.Settled{}}})
	answer := func() { l.verification.answers.Add(checks.NewAnswer([]checks.Part{{ID: proof.ID{1}}}, nil), 0) }
	for _, c := range []struct {
		draining error
		before   func()
		want     bool
	}{
		{nil, func() {}, false}, {ErrDrained, func() {}, false}, {nil, answer, false}, {ErrLimit, func() {}, false},
		{ErrDrained, func() {}, true},
	} {
		c.before()
		l.draining = c.draining
		if over, err := l.over(); over != c.want || over && err != c.draining {
			t.Errorf("%v: %v, %v", c.draining, over, err)
		}
	}
}
