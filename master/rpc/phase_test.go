package rpc

import (
	"encoding/binary"
	"testing"
	"testing/synctest"

	"amazonsfarm/master/outlook"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/numbers"
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
			{nil, &farmv1.Phase{Name: "searching", Total: 88}},
			{&farmv1.Phase{Name: "extracting", Done: 812}, &farmv1.Phase{Name: "extracting", Done: 812}},
			{&farmv1.Phase{Name: "delivering", Done: 61, Total: 100},
				&farmv1.Phase{Name: "delivering", Done: 61, Total: 100}},
			{&farmv1.Phase{Name: "sleeping", Done: 1}, &farmv1.Phase{Name: "searching", Total: 88}},
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

// TestOutlook holds that people see the numbers of the first moves while the whole campaign is one lease,
// that they prove nothing, and that numbers without sense are passed over.
func TestOutlook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), nil)
		w := b.worker("w")
		l := w.lease()
		tell := func(o *farmv1.Outlook) *farmv1.StatusResponse {
			w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{Lease: l.GetId(),
				Epoch: l.GetEpoch(), Nodes: 5, Outlook: o}}})
			synctest.Wait()
			r, err := b.control.Status(t.Context(), &farmv1.StatusRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		position, err := amazons.ParsePosition(tell(nil).GetCampaign().GetRoot())
		if err != nil {
			t.Fatal(err)
		}
		next := map[amazons.Key]bool{}
		for _, m := range position.State().Moves(nil) {
			next[position.State().After(m).CanonicalKey(position.Board)] = true
		}
		var children, nodes []byte
		for i := range len(next) { // the first is won by the other side, of the second nothing is known
			children = numbers.Put(children, []uint32{0, 0, 7}[min(i, 2)], []uint32{16, 0, 3}[min(i, 2)])
			nodes = binary.AppendUvarint(nodes, []uint64{900, 0, 30}[min(i, 2)])
		}
		known := func(r *farmv1.StatusResponse) (refuted int) {
			for _, f := range r.GetFirstMoves() {
				if want := map[uint32]uint64{0: 900, 1: 0, 7: 30}[f.GetPhi()]; f.GetNodes() != want {
					t.Errorf("%s has %d nodes, want %d", f.GetMove(), f.GetNodes(), want)
				}
			}
			for _, f := range r.GetFirstMoves() {
				if f.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED {
					t.Errorf("%s is proved by an outlook", f.GetMove())
				}
				if f.GetPhi() == 0 {
					refuted++
				}
			}
			return refuted
		}
		for _, o := range []*farmv1.Outlook{
			{Phi: 3, Delta: 400, Children: children[:len(children)-1]}, {Phi: 3, Evidence: 1.5, Children: children},
			{Phi: 3, Children: make([]byte, outlook.MaxChildren+1)},
		} {
			if r := tell(o); r.GetRootDelta() != 1 || known(r) != 0 {
				t.Errorf("%.60v was taken", o)
			}
		}
		r := tell(&farmv1.Outlook{Phi: 3, Delta: 400, Children: children, Nodes: nodes, Evidence: 0.25})
		if n := known(r); r.GetRootPhi() != 3 || r.GetRootDelta() != 400 || r.GetEvidence() != 0.25 || n == 0 ||
			r.GetPhase().GetDone() != uint64(n) {
			t.Errorf("%d moves are refuted in %.300v", n, r)
		}
		b.kill()
	})
}
