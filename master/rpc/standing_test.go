package rpc

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
)

// held returns what the store has of parties, without when they were seen.
func (s *memory) held() map[trust.Party]trust.Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := maps.Clone(s.standings)
	for p, st := range out {
		st.Seen = time.Time{}
		out[p] = st
	}
	return out
}

// transactions returns how many there were with standings.
func (s *memory) transactions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept
}

// offend counts an offence of a worker that is not there.
func (b *bench) offend(name string) {
	b.loop.Offend(b.t.Context(), &loop.Session{Worker: loop.Worker{Name: name}, Party: trust.Party{Name: name}},
		trust.Flood, errors.New("too many"))
}

func (b *bench) quarantines() []trust.Quarantine {
	b.t.Helper()
	list, err := b.loop.Quarantines(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// wantHeld fails the test if the store has other standings than these.
func wantHeld(t *testing.T, s *memory, when string, want ...trust.Standing) {
	t.Helper()
	all := map[trust.Party]trust.Standing{}
	for _, st := range want {
		all[st.Party] = st
	}
	if got := s.held(); !maps.Equal(got, all) {
		t.Errorf("%s the store has %+v, want %+v", when, got, all)
	}
}

// shownAs returns what the master tells people of a worker.
func (b *bench) shownAs(name string) *farmv1.Worker {
	b.t.Helper()
	for range 100 { // its stream may have to come first
		list, err := b.campaign.Workers(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		for _, w := range list {
			if w.GetName() == name {
				return w
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("no worker %s is there", name)
	return nil
}

// lies has a worker upload so many certificates that are none, each another one.
func (w *worker) lies(times int) {
	w.b.t.Helper()
	for i := range times {
		if _, err := w.upload([]byte(fmt.Sprint("trust me ", i))); err == nil {
			w.b.t.Fatal("a lie is taken")
		}
	}
}

// TestOffencesOutlastTheMaster: offences are counted on after a restart, of a liar that leaves
// after two of them as well, and shown; the third one quarantines, and then nothing else is kept of
// it; who is released begins anew. What happens within a second takes one transaction, and a master
// that is stopped at once keeps it too.
func TestOffencesOutlastTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		liar := trust.Party{Name: "liar"}
		b := start(t, s, nil)
		b.worker("liar").lies(2)
		wantHeld(t, s, "before the tick")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantHeld(t, s, "after the tick", trust.Standing{Party: liar, Offences: 2})
		if s.transactions() != 1 {
			t.Errorf("two offences took %d transactions", s.transactions())
		}
		other := b.worker("other")
		other.lies(1)
		b.kill()
		wantHeld(t, s, "after the end", trust.Standing{Party: liar, Offences: 2},
			trust.Standing{Party: trust.Party{Name: "other"}, Offences: 1})

		b = start(t, s, nil)
		w := b.worker("liar")
		time.Sleep(time.Second)
		if shown := b.shownAs("liar"); shown.GetOffences() != 2 {
			t.Errorf("shown is %v", shown)
		}
		w.lies(1)
		if n := len(b.quarantines()); n != 1 {
			t.Fatalf("after the third offence %d parties are in quarantine", n)
		}
		_, err := w.stream.Recv()
		wantCode(t, err, codes.PermissionDenied, "quarantined is the name liar: 3 times")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantHeld(t, s, "in quarantine", trust.Standing{Party: trust.Party{Name: "other"}, Offences: 1})
		b.kill()

		b = start(t, s, nil)
		if _, err := b.loop.Release(t.Context(), "liar"); err != nil {
			t.Fatal(err)
		}
		w = b.worker("liar")
		time.Sleep(time.Second)
		if shown := b.shownAs("liar"); shown.GetOffences() != 0 {
			t.Errorf("after the release shown is %v", shown)
		}
		w.lies(2)
		b.kill()
		wantHeld(t, s, "after the release", trust.Standing{Party: liar, Offences: 2},
			trust.Standing{Party: trust.Party{Name: "other"}, Offences: 1})
	})
}

// TestCreditOutlastsTheMaster: what speaks for a party is told the trees of the next master when it
// joins, and shown. When it is quarantined nothing of it is left.
func TestCreditOutlastsTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		p := trust.Party{Name: "w"}
		known := trust.Standing{Party: p, Confirmed: 7, Solved: 5}
		s.standings[p] = known

		b := start(t, s, nil)
		b.worker("w")
		time.Sleep(time.Second)
		if shown := b.shownAs("w"); shown.GetConfirmed() != 7 {
			t.Errorf("shown is %v", shown)
		}
		if agreed, solved := b.tree.Standing(p.String()); agreed != 7 || solved != 5 {
			t.Errorf("the tree knows of %d results and %d positions", agreed, solved)
		}
		b.kill()
		wantHeld(t, s, "after a restart", known)

		b = start(t, s, nil)
		w := b.worker("w")
		w.lies(2)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		known.Offences = 2
		wantHeld(t, s, "after two lies", known)
		w.lies(1)
		time.Sleep(2 * time.Second)
		b.kill()
		wantHeld(t, s, "after three lies")
		if agreed, solved := b.tree.Standing(p.String()); agreed != 0 || solved != 0 {
			t.Errorf("the tree knows of %d results and %d positions", agreed, solved)
		}
	})
}

// TestSolvedPositionsAreKept: a position that a worker solves with evidence is kept as one that
// speaks for it, whether its lease ends with it or goes on.
func TestSolvedPositionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, goesOn := range []bool{false, true} {
			s := newMemory()
			s.checks = 2
			b := start(t, s, nil)
			w := b.worker("w")
			l := w.lease()
			id, err := w.upload(certificate(claim(b.root, eval.Won)))
			if err != nil {
				t.Fatal(err)
			}
			won := fact(b.root, farmv1.Verdict_VERDICT_WON, id)
			m := result(1, l, farmv1.Verdict_VERDICT_WON, won)
			if goesOn {
				m = &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 1,
					Lease: l.GetId(), Epoch: l.GetEpoch(), Facts: []*farmv1.Fact{won}}}}
			}
			w.send(m)
			w.ack(1)
			b.kill()
			wantHeld(t, s, "after the end", trust.Standing{Party: trust.Party{Name: "w"}, Solved: 1,
				Nodes: m.GetResult().GetNodes()})
		}
	})
}

// TestContributors: people see who has searched, also after the worker has left and the master has begun
// anew. A result without a lease counts for nobody, nor does one that comes again while another lease runs.
func TestContributors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		b := start(t, s, nil)
		w := b.worker("w")
		l := w.lease()
		time.Sleep(2 * time.Second)
		m := result(1, l, farmv1.Verdict_VERDICT_UNSPECIFIED)
		m.GetResult().Nodes = 7
		w.send(m)
		w.ack(1)
		w.lease()
		m.GetResult().Serial, m.GetResult().Nodes = 2, 1<<63
		w.send(m)
		w.ack(2)
		idle := b.worker("idle")
		again := result(1, l, farmv1.Verdict_VERDICT_UNSPECIFIED)
		again.GetResult().Nodes = 7_000_000
		idle.send(again)
		idle.ack(1)
		b.kill()
		b = start(t, s, nil)
		list, err := b.campaign.Contributors(t.Context())
		if err != nil || len(list) != 1 || list[0].Name != "w" || list[0].Nodes != 7 || list[0].CoreSeconds < 2 ||
			list[0].Here != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		b.kill()
	})
}

// TestSilence wants a status to say that the only worker is silent, where its lease is lost.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), nil)
		b.worker("w").lease()
		time.Sleep(time.Minute)
		if r := b.status(); r.GetLeased() != 0 || r.GetWhy() != "no worker has been heard of for 10s" {
			t.Errorf("%d leased: %s", r.GetLeased(), r.GetWhy())
		}
		b.kill()
	})
}

// TestStandingsWithoutRoom: what cannot be written for want of room is neither lost nor in
// anybody's way, and is written once there is some, also what has changed meanwhile; nor does a
// disk that stays full keep the master from ending.
func TestStandingsWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		b := start(t, s, nil)
		w := b.worker("w")
		w.lies(1)
		s.fill(errFull) // before the tick
		time.Sleep(5 * time.Second)
		wantHeld(t, s, "on a full disk")
		s.fill(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantHeld(t, s, "with room for once", trust.Standing{Party: trust.Party{Name: "w"}, Offences: 1})
		flood := func(name string) {
			b.offend(name)
		}
		s.fill(errFull)
		flood("w")
		time.Sleep(5 * time.Second)
		if shown := b.shownAs("w"); shown.GetOffences() != 2 {
			t.Errorf("on a full disk shown is %v", shown)
		}
		s.fill(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := trust.Standing{Party: trust.Party{Name: "w"}, Offences: 2}
		wantHeld(t, s, "with room again", want)
		b.worker("x").lease() // the campaign goes on
		s.fill(errFull)
		flood("y")
		time.Sleep(5 * time.Second)
		b.kill() // does not hang
		wantHeld(t, s, "at the end", want)
	})
}

// TestFailedTriesAreNoted: the log has a line when standings cannot be written, not one for each
// try, and one when they are.
func TestFailedTriesAreNoted(t *testing.T) {
	s := newMemory()
	log := new(lines)
	synctest.Test(t, func(t *testing.T) {
		b := start(t, s, func(c *settings) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
		for _, name := range []string{"a", "b", "c"} {
			s.fill(errFull)
			b.offend(name)
			time.Sleep(3 * time.Second)
		}
		if n := strings.Count(log.String(), "not in the store yet"); n != 1 || len(s.held()) != 0 {
			t.Errorf("%d lines, the store has %v: %s", n, s.held(), log)
		}
		s.fill(nil)
		time.Sleep(5 * time.Second)
		if n := strings.Count(log.String(), "in the store again"); n != 1 || len(s.held()) != 3 {
			t.Errorf("%d lines, the store has %v: %s", n, s.held(), log)
		}
		b.kill()
	})
}

// TestSeenIsKept: the store knows within an hour when a party was there, and to the second after
// the end; nothing is written for that meanwhile.
func TestSeenIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		p := trust.Party{Name: "w"}
		seen := func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.standings[p].Seen
		}
		b := start(t, s, nil)
		b.worker("w").lies(1)
		time.Sleep(30 * time.Minute)
		if s.transactions() != 1 {
			t.Errorf("in half an hour there were %d transactions", s.transactions())
		}
		time.Sleep(3 * time.Hour)
		if ago := time.Since(seen()); ago > time.Hour+2*time.Second || s.transactions() > 5 {
			t.Errorf("who is there was seen %v ago; %d transactions", ago, s.transactions())
		}
		b.kill()
		if ago := time.Since(seen()); ago > 2*time.Second {
			t.Errorf("after the end it was seen %v ago", ago)
		}
	})
}
