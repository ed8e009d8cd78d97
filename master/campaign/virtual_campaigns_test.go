package campaign

import (
	"os"
	"testing"
	"time"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
)

// summary returns how far a campaign is.
func (v *virtual) summary(name string) loop.View {
	v.t.Helper()
	all, err := v.farm.Loop.Views(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range all {
		if c.Name == name {
			return c
		}
	}
	v.t.Fatalf("there is no campaign %s", name)
	return loop.View{}
}

// handle returns a campaign.
func (v *virtual) handle(name string) *loop.Handle {
	v.t.Helper()
	h, err := v.farm.Loop.Of(name)
	if err != nil {
		v.t.Fatal(err)
	}
	return h
}

// TestCampaignsInVirtualTime has two workers work for three campaigns, two of one board and one of
// another. The campaign with the higher priority comes first; what is paused stands still, also
// after the master has crashed and another one has begun with nothing but the store; all are proved
// in the end.
func TestCampaignsInVirtualTime(t *testing.T) {
	inVirtualTime(t, 11, Options{}, func(v *virtual) {
		t := v.t
		v.serve()
		root := position(t, virtualRoot)
		add := func(a loop.Asked) {
			t.Helper()
			if _, err := v.farm.Loop.Add(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		winning, err := root.ParseMove(virtualWinning)
		if err != nil {
			t.Fatal(err)
		}
		add(loop.Asked{Name: "other-board", Root: position(t, "4x4"), Priority: 7})
		add(loop.Asked{Name: "one-move", Root: root, FirstMoves: []amazons.Move{winning}})
		if _, err := v.farm.Loop.Add(t.Context(),
			loop.Asked{Name: "one-move", Root: root, RulesOnly: true}); err == nil {
			t.Error("two campaigns have one name")
		}
		if _, err := v.handle("4x5").Change(t.Context(), store.Change{Paused: new(true)}); err != nil {
			t.Fatal(err)
		}
		one, two := v.work("one", nil, nil), v.work("two", nil, nil)
		v.await("the campaign of the higher priority is worked on",
			func() bool { return v.summary("other-board").Tree.Spent > 0 })
		if c := v.summary("4x5"); c.State != loop.StatePaused || c.Tree.Leased != 0 || c.Tree.Spent != 0 {
			t.Errorf("the paused campaign: %v", c)
		}

		// The next master has nothing but the store.
		v.crash()
		v.options.Root = amazons.Position{}
		v.serve()
		if c := v.summary("4x5"); c.State != loop.StatePaused {
			t.Errorf("after the crash the paused campaign is %s", c.State)
		}
		if c := v.summary("other-board"); c.Priority != 7 || c.Tree.Spent == 0 {
			t.Errorf("after the crash: %v", c)
		}
		v.await("the campaign of the higher priority is settled",
			func() bool { return v.summary("other-board").State == loop.StateSettled })
		// The one move wins. That answers the paused campaign as well, although nobody has searched for it.
		select {
		case err := <-v.ended:
			winners := []string{"black", "second", "black"}
			for i, r := range v.farm.Results(err) {
				if r.Winner != winners[i] || !r.Verified || err != nil {
					t.Errorf("campaign %d ended with %+v, %v", i+1, r, err)
				}
				if searched := r.Nodes > 0; searched != (i > 0) {
					t.Errorf("%d nodes were searched for campaign %d", r.Nodes, i+1)
				}
			}
		case <-time.After(24 * time.Hour):
			t.Fatal("the campaigns do not end in a day")
		}
		for _, m := range []*member{one, two} {
			if err := v.wait(m); err != nil {
				t.Errorf("worker %s: %v", m.name, err)
			}
		}
		time.Sleep(time.Second)
		v.stop()

		report, _, err := VerifyStore(t.Context(), v.options.StoreFile, checker.Options{Workers: 1})
		if err != nil || len(report.Campaigns) != 3 {
			t.Fatalf("verify the store: %+v, %v", report, err)
		}
		for _, c := range report.Campaigns {
			if !c.Settled || c.Checked == nil {
				t.Errorf("%+v", c)
			}
		}
		second := store.Campaign{Number: 2, Name: "one-move"}
		if _, err := os.Stat(ProofFileOf(v.options.StoreFile, second)); err != nil {
			t.Error(err)
		}
		// The campaign that was resumed had the facts of the other one of its board: it was proved
		// with hardly any work.
		st := statsOf(t, v.options.StoreFile)
		if st.Campaigns[0].Nodes > st.Campaigns[2].Nodes/4 {
			t.Errorf("the campaigns of one board took %d and %d nodes", st.Campaigns[0].Nodes, st.Campaigns[2].Nodes)
		}
		for i, c := range st.Campaigns {
			if want := uint64(2); c.Epoch < want && i > 0 {
				t.Errorf("campaign %d is in epoch %d after a restart", i+1, c.Epoch)
			}
		}
	})
}

// TestEndedCampaign: a campaign that is given up calls its leases back and does not keep the
// master; its worker goes on with the other one.
func TestEndedCampaign(t *testing.T) {
	inVirtualTime(t, 12, Options{}, func(v *virtual) {
		t := v.t
		v.serve()
		if _, err := v.farm.Loop.Add(t.Context(), loop.Asked{Root: position(t, "4x4"), Priority: 1}); err != nil {
			t.Fatal(err)
		}
		w := v.work("w", nil, nil)
		v.await("it is worked on", func() bool { return v.summary("4x4").Tree.Running > 0 })
		if _, err := v.handle("4x4").Change(t.Context(), store.Change{End: true}); err != nil {
			t.Fatal(err)
		}
		v.await("its lease is back", func() bool { return v.summary("4x4").Tree.Leased == 0 })
		if c := v.summary("4x4"); c.State != loop.StateEnded {
			t.Errorf("the campaign is %s", c.State)
		}
		if err := <-v.ended; err != nil {
			t.Error(err)
		}
		if r := v.farm.Results(nil); r[0].Winner != "black" || !r[0].Verified || r[1].Winner != "" ||
			r[1].Stopped == "" {
			t.Errorf("%+v", r)
		}
		if err := v.wait(w); err != nil {
			t.Error(err)
		}
	})
}
