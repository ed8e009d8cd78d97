package rpc

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// regrow is a Campaigns that reads trees again and changes nothing durable but that a campaign ends.
type regrow struct {
	t     *testing.T
	store *memory
	grown atomic.Int64
	about loop.About // of the first campaign
	added loop.Campaign
}

func (r *regrow) Add(loop.Asked) (loop.Campaign, error) { return r.added, nil }

func (r *regrow) Grow(number uint32) (loop.Campaign, error) {
	r.grown.Add(1)
	snap, c := r.store.snapshot(), loop.Campaign{About: r.about}
	if number != 1 {
		c = r.added
		snap.Nodes, snap.Spent, snap.Epoch = nil, 0, 0 // memory does not tell campaigns apart
	}
	var err error
	c.Tree, err = tree.New(tree.Config{Root: c.Root, FirstMoves: c.FirstMoves}, snap)
	return c, err
}

func (r *regrow) Change(_ uint32, c store.Change) (loop.Settings, error) {
	return loop.Settings{Share: 1, Ended: c.End}, nil
}

// TestReleased: when a campaign is settled or ended its tree is put away, and its status and what
// is explored stay as they are; the tree is read again for who explores, and kept for a while. A
// contradiction in another campaign of the board still stops it, and its late workers are told.
func TestReleased(t *testing.T) {
	s := newMemory()
	keeper := &regrow{t: t, store: s}
	ticks := make(chan time.Time)
	b := start(t, s, func(c *settings) {
		c.Stay, c.Campaigns, c.Ticks, c.Limits.ShownTicks = true, keeper, ticks, 3
		keeper.about = c.about(nil).About
	})
	tick := func() { ticks <- time.Time{} }
	ctx := t.Context()
	root := b.at
	moves := root.State().Moves(nil)
	first, second := root.State().After(moves[0]).CanonicalKey(root.Board),
		root.State().After(moves[len(moves)/2]).CanonicalKey(root.Board)
	w := b.worker("w")
	l := w.lease()
	id, err := w.upload(certificate(claim(b.root, eval.Lost), claim(first, eval.Won)))
	if err != nil {
		t.Fatal(err)
	}
	explore := func() *farmv1.ExploreResponse {
		t.Helper()
		r, err := b.control.Explore(ctx, &farmv1.ExploreRequest{Moves: []string{moves[0].String()}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.send(result(1, l, farmv1.Verdict_VERDICT_LOST, fact(first, farmv1.Verdict_VERDICT_WON, id),
		fact(b.root, farmv1.Verdict_VERDICT_LOST, id)))
	w.ack(1)
	for settled := false; !settled; {
		settled = b.view().State == loop.StateSettled
	}
	tick()
	before, err := b.campaign.Status(ctx)
	if err != nil || before.GetFactsWon()+before.GetFactsLost() != 2 || before.GetTreePositions() == 0 ||
		before.GetWinner() != "second" {
		t.Fatalf("%v, %v", before, err)
	}
	if list, err := b.campaign.Workers(ctx); err != nil || len(list) != 1 || list[0].GetName() != "w" {
		t.Errorf("workers: %v, %v", list, err)
	}
	for _, want := range []int64{1, 1} {
		if r := explore(); r.GetKnown().GetVerdict() != farmv1.Verdict_VERDICT_WON || len(r.GetMoves()) == 0 {
			t.Errorf("explored: %v", r)
		}
		if n := keeper.grown.Load(); n != want {
			t.Errorf("the tree was read %d times", n)
		}
	}
	for range 6 {
		tick()
	}
	if explore(); keeper.grown.Load() != 2 {
		t.Errorf("after a while without anybody who looks, the tree was read %d times in all", keeper.grown.Load())
	}
	// A result that comes too late.
	late := result(2, l, farmv1.Verdict_VERDICT_UNSPECIFIED)
	w.send(late)
	if a := w.ack(2); a.GetRefused() == "" || !a.GetFactsRefused() {
		t.Error("a late result was taken")
	}

	// Another campaign of the board, whose facts contradict each other.
	keeper.added = loop.Campaign{Settings: loop.Settings{Share: 1},
		About: loop.About{Number: 2, Name: "two", Root: root,
			FirstMoves: []amazons.Move{moves[len(moves)/2]}, Pool: 1, ReadRoots: readRoots,
			Conclude: keeper.about.Conclude}}
	if _, err := b.loop.Add(ctx, loop.Asked{Name: "two", Root: root}); err != nil {
		t.Fatal(err)
	}
	l = w.lease()
	if l.GetCampaign().GetNumber() != 2 {
		t.Fatalf("a lease of campaign %d", l.GetCampaign().GetNumber())
	}
	two := func(serial uint64, o farmv1.Verdict, outcome eval.Verdict) {
		t.Helper()
		id, err := w.upload(certificate(claim(second, outcome), claim(amazons.Key{}, eval.Verdict(serial))))
		if err != nil {
			t.Fatal(err)
		}
		m := &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: serial, Campaign: 2,
			Lease: l.GetId(), Epoch: l.GetEpoch(),
			Facts: []*farmv1.Fact{fact(second, o, id)}}}}
		w.send(m)
		w.ack(serial)
	}
	two(3, farmv1.Verdict_VERDICT_WON, eval.Won)
	two(4, farmv1.Verdict_VERDICT_LOST, eval.Lost)
	all, err := b.loop.Views(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, c := range all {
		if c.State != loop.StateStopped {
			t.Errorf("campaign %s is %s", c.Name, c.State)
		}
	}
	if s.snapshot().Contradiction == nil {
		t.Error("the contradiction is not stored")
	}
}

// TestEndedIsReleased: a campaign that an operator ends is put away once its lease is back; its
// worker then waits for the next campaign.
func TestEndedIsReleased(t *testing.T) {
	s := newMemory()
	keeper := &regrow{t: t, store: s}
	b := start(t, s, func(c *settings) {
		c.Stay, c.Campaigns, c.Heartbeat = true, keeper, 10*time.Millisecond
		keeper.about = c.about(nil).About
	})
	ctx := t.Context()
	w := b.worker("w")
	l := w.lease()
	h, err := b.loop.Of("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Change(ctx, store.Change{End: true}); err != nil {
		t.Fatal(err)
	}
	for w.receive().GetCancel() == nil {
	}
	w.send(result(1, l, farmv1.Verdict_VERDICT_UNSPECIFIED))
	w.ack(1)
	for {
		r, err := b.control.Explore(ctx, &farmv1.ExploreRequest{})
		if err != nil || len(r.GetMoves()) == 0 {
			t.Fatal(fmt.Sprint(r), err)
		}
		if keeper.grown.Load() > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if v := b.view(); v.State != loop.StateEnded || v.Tree.Spent != 10 || v.Tree.Leased != 0 {
		t.Errorf("%+v", v)
	}
}

// TestEndOfTheLast: where an operator ends the last campaign, its worker is told that all is over, and the operator
// what became of the campaign.
func TestEndOfTheLast(t *testing.T) {
	s := newMemory()
	keeper := &regrow{t: t, store: s}
	b := start(t, s, func(c *settings) {
		c.Campaigns, c.Heartbeat = keeper, 10*time.Millisecond
		keeper.about = c.about(nil).About
	})
	w := b.worker("w")
	l := w.lease()
	r, err := b.control.EndCampaign(t.Context(), &farmv1.EndCampaignRequest{Campaign: "4x4"})
	if err != nil || r.GetState() == "" {
		t.Fatal(r, err)
	}
	for w.receive().GetCancel() == nil {
	}
	w.send(result(1, l, farmv1.Verdict_VERDICT_UNSPECIFIED))
	for w.receive().GetFinished() == nil {
	}
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
}

// impatient is a regrow whose operator is gone before the change is durable.
type impatient struct {
	*regrow
	leave func()
}

func (i impatient) Change(uint32, store.Change) (loop.Settings, error) {
	i.leave()
	return loop.Settings{Share: 1, Priority: 7}, nil
}

// TestChangeOutlivesItsCaller: a change that is in the store is made, also when nobody waits for it
// any more.
func TestChangeOutlivesItsCaller(t *testing.T) {
	s := newMemory()
	ctx, leave := context.WithCancel(t.Context())
	b := start(t, s, func(c *settings) { c.Campaigns = impatient{&regrow{t: t, store: s}, leave} })
	h, err := b.loop.Of("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Change(ctx, store.Change{}); err != nil {
		t.Fatal(err)
	}
	if v := b.view(); v.Priority != 7 {
		t.Errorf("%+v", v.Settings)
	}
}
