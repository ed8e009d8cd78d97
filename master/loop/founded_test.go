package loop

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// holder is a store that holds one part, for one campaign.
type holder struct {
	Store
	campaign uint32
	id       proof.ID
}

func (h holder) Holds(campaign uint32, id [32]byte) bool { return campaign == h.campaign && id == h.id }

// TestFounded: facts that name a part which the store does not hold any more are refused, whoever brings them.
// They were committed before, and the store, which has no such part, ended the master.
func TestFounded(t *testing.T) {
	l := &Loop{store: holder{campaign: 3, id: proof.ID{2}}}
	both := func() []proof.ID { return []proof.ID{{1}, {2}} }
	for campaign, want := range map[uint32][]proof.ID{3: {{2}}, 4: {}} {
		result := l.founded(campaign, tree.Result{Certificates: both()}).(tree.Result)
		proved := l.founded(campaign, tree.Proved{Certificates: both()}).(tree.Proved)
		if !slices.Equal(result.Certificates, want) || !slices.Equal(proved.Certificates, want) {
			t.Errorf("campaign %d: %v and %v are left, want %v", campaign, result.Certificates,
				proved.Certificates, want)
		}
	}
	if e, ok := l.founded(3, tree.Drain{}).(tree.Drain); !ok {
		t.Errorf("another event became %v", e)
	}
}

// TestCulprits: a part that was dropped after it was verified was blamed before the others had been looked at, and a
// bucket that was away for a moment stopped all campaigns of the board.
func TestCulprits(t *testing.T) {
	good, bad, gone, dropped, away := proof.ID{1}, proof.ID{2}, proof.ID{3}, proof.ID{4}, proof.ID{5}
	for _, c := range []struct {
		suspects, want []proof.ID
		waits          int // until what is away comes back
		why, err       error
	}{
		{[]proof.ID{dropped, good, bad}, []proof.ID{bad}, 0, ErrFalse, nil},
		{[]proof.ID{away, dropped, bad}, []proof.ID{bad}, 0, ErrFalse, nil},
		{[]proof.ID{gone, dropped, good}, []proof.ID{dropped}, 0, ErrLost, nil},
		{[]proof.ID{dropped, away, good}, []proof.ID{dropped}, 2, ErrLost, nil},
		{[]proof.ID{away, good}, nil, 3, nil, nil},
		{[]proof.ID{away, dropped}, nil, 4, nil, evidence.ErrAway},
		{[]proof.ID{good, gone}, nil, 0, nil, nil},
	} {
		said := map[proof.ID]error{bad: ErrFalse, gone: store.ErrNoCertificate, away: evidence.ErrAway,
			dropped: fmt.Errorf("%w: %w", ErrLost, store.ErrDropped)}
		checked, waits := map[proof.ID]int{}, 0
		ids, why, err := culprits(c.suspects, func(id proof.ID) error {
			checked[id]++
			return said[id]
		}, func(error) bool {
			if waits++; waits == c.waits {
				delete(said, away)
			}
			return waits < 4
		})
		if !slices.Equal(ids, c.want) || !errors.Is(why, c.why) || !errors.Is(err, c.err) || waits != c.waits {
			t.Errorf("%v: %v for %v, %d waits, and %v; want %v", c.suspects, ids, why, waits, err, c)
		}
		if checked[good] > 1 {
			t.Errorf("%v: a part that holds was checked %d times", c.suspects, checked[good])
		}
	}
}
