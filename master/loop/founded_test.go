package loop

import (
	"slices"
	"testing"

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
