package loop

import (
	"slices"
	"testing"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// TestFounded: facts that name a part that was taken back are refused, whoever brings them, until it comes again.
// They were committed before, and the store, which has no such part, ended the master.
func TestFounded(t *testing.T) {
	l := &Loop{}
	l.verification.gone = map[proof.ID]bool{{1}: true}
	both, good := []proof.ID{{1}, {2}}, []proof.ID{{2}}
	result := l.founded(tree.Result{Certificates: slices.Clone(both)}).(tree.Result)
	proved := l.founded(tree.Proved{Certificates: slices.Clone(both)}).(tree.Proved)
	if !slices.Equal(result.Certificates, good) || !slices.Equal(proved.Certificates, good) {
		t.Errorf("%v and %v are left", result.Certificates, proved.Certificates)
	}
	if e, ok := l.founded(tree.Drain{}).(tree.Drain); !ok {
		t.Errorf("another event became %v", e)
	}
	delete(l.verification.gone, proof.ID{1})
	if e := l.founded(tree.Result{Certificates: both}).(tree.Result); !slices.Equal(e.Certificates, both) {
		t.Errorf("a part that came again: %v", e.Certificates)
	}
}
