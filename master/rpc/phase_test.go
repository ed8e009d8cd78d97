package rpc

import (
	"testing"
	"testing/synctest"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// TestPhase holds that an operator sees what a worker does with its lease, and that a phase of a name
// that is none of ours counts as search.
func TestPhase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), nil)
		w := b.worker("w")
		l := w.lease()
		for _, c := range []struct {
			sent *farmv1.Phase
			want *farmv1.Phase
		}{
			{nil, &farmv1.Phase{Name: "searching"}},
			{&farmv1.Phase{Name: "extracting", Done: 812}, &farmv1.Phase{Name: "extracting", Done: 812}},
			{&farmv1.Phase{Name: "delivering", Done: 61, Total: 100},
				&farmv1.Phase{Name: "delivering", Done: 61, Total: 100}},
			{&farmv1.Phase{Name: "sleeping", Done: 1}, &farmv1.Phase{Name: "searching"}},
		} {
			w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{Lease: l.GetId(),
				Epoch: l.GetEpoch(), Nodes: 5, Phase: c.sent}}})
			synctest.Wait()
			r, err := b.control.Status(t.Context(), &farmv1.StatusRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if p := r.GetPhase(); p.GetName() != c.want.GetName() || p.GetDone() != c.want.GetDone() ||
				p.GetTotal() != c.want.GetTotal() {
				t.Errorf("%v is shown as %v", c.sent, p)
			}
		}
		b.kill()
	})
}
