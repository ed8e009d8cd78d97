package rpc

import (
	"testing"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// hintsOf returns what came with a lease, as text.
func hintsOf(l *farmv1.Lease) (out []string) {
	for _, m := range l.GetHints() {
		out = append(out, string(m))
	}
	return out
}

func expectHints(t *testing.T, l *farmv1.Lease, want ...string) {
	t.Helper()
	got := hintsOf(l)
	if len(got) != len(want) {
		t.Fatalf("hints %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("hints %q, want %q", got, want)
		}
	}
}

// TestMemories: what a worker knew goes to whoever lacks it, also after a restart of the master,
// and not back to itself.
func TestMemories(t *testing.T) {
	s := newMemory()
	b := start(t, s, nil)
	w := b.worker("w")
	l := w.lease()
	expectHints(t, l)

	// In the middle of a lease.
	key := l.GetKey()
	w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 1, Key: key,
		Hints: []byte("half way")}}})
	w.ack(1)
	if got := string(s.hints[b.root]); got != "half way" {
		t.Fatalf("acknowledged, but on disk is %q", got)
	}
	// With a result.
	r := result(2, l, 0)
	r.GetResult().Hints = []byte("unsolved")
	w.send(r)
	w.ack(2)
	l = w.lease()
	expectHints(t, l) // its own

	b.kill()
	<-b.ended
	b = start(t, s, nil)
	w = b.worker("other")
	expectHints(t, w.lease(), "unsolved")
}

// TestHintsInTheMastersMemory: hints go on to other workers also where the store has no room
// for them.
func TestHintsInTheMastersMemory(t *testing.T) {
	s := newMemory()
	s.keepNone = true
	b := start(t, s, nil)
	w := b.worker("w")
	r := result(1, w.lease(), 0)
	r.GetResult().Hints = []byte("unsolved")
	w.send(r)
	w.ack(1)
	if len(s.hints) != 0 {
		t.Fatal("the store of this test keeps hints")
	}
	expectHints(t, b.worker("other").lease(), "unsolved")
}
