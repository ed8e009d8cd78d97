package rpc

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/schedule"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
)

// held returns what the store has of parties, without when they were seen.
func (s *memory) held() map[Party]Standing {
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

// wantHeld fails the test if the store has other standings than these.
func wantHeld(t *testing.T, s *memory, when string, want ...Standing) {
	t.Helper()
	all := map[Party]Standing{}
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
	list, err := b.master.Workers(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, w := range list {
		if w.GetName() == name {
			return w
		}
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
		liar := Party{Name: "liar"}
		b := start(t, s, nil)
		b.worker("liar").lies(2)
		wantHeld(t, s, "before the tick")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantHeld(t, s, "after the tick", Standing{Party: liar, Offences: 2})
		if s.transactions() != 1 {
			t.Errorf("two offences took %d transactions", s.transactions())
		}
		other := b.worker("other")
		other.lies(1)
		b.kill()
		wantHeld(t, s, "after the end", Standing{Party: liar, Offences: 2},
			Standing{Party: Party{Name: "other"}, Offences: 1})

		b = start(t, s, nil)
		w := b.worker("liar")
		time.Sleep(time.Second)
		if shown := b.shownAs("liar"); shown.GetOffences() != 2 {
			t.Errorf("shown is %v", shown)
		}
		w.lies(1)
		if n := len(b.master.Quarantines()); n != 1 {
			t.Fatalf("after the third offence %d parties are in quarantine", n)
		}
		_, err := w.stream.Recv()
		wantCode(t, err, codes.PermissionDenied, "quarantined is the name liar: 3 times")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantHeld(t, s, "in quarantine", Standing{Party: Party{Name: "other"}, Offences: 1})
		b.kill()

		b = start(t, s, nil)
		if _, err := b.master.Release("liar"); err != nil {
			t.Fatal(err)
		}
		w = b.worker("liar")
		time.Sleep(time.Second)
		if shown := b.shownAs("liar"); shown.GetOffences() != 0 {
			t.Errorf("after the release shown is %v", shown)
		}
		w.lies(2)
		b.kill()
		wantHeld(t, s, "after the release", Standing{Party: liar, Offences: 2},
			Standing{Party: Party{Name: "other"}, Offences: 1})
	})
}

// TestDoubtsOutlastTheMaster: of who has shown what it is worth the second contradiction is an
// offence, also where a restart lies between them, and a confirmed result makes up for one from
// before.
func TestDoubtsOutlastTheMaster(t *testing.T) {
	s := newMemory()
	p := Party{Name: "w", Certificate: true}
	next := func(said ...bool) {
		t.Helper()
		m, _ := newMaster(t, s, nil)
		for _, agreed := range said {
			m.checked(tree.Checked{Worker: "w/1", Party: p.String(), Confirmed: agreed, Proven: true,
				Why: "it said 1 and 2"})
		}
		m.saveStandings(false)
	}
	next(false)
	wantHeld(t, s, "after a doubt", Standing{Party: p, Doubts: 1, Doubted: true})
	next(false)
	wantHeld(t, s, "after two", Standing{Party: p, Doubts: 2, Doubted: true, Offences: 1})
	next(true)
	wantHeld(t, s, "after one was made up for", Standing{Party: p, Doubts: 1, Doubted: true})
	next(true)
	wantHeld(t, s, "after both were")
	next(false, false, false)
	next(false)
	wantHeld(t, s, "in quarantine")
	if q := s.quarantines[p]; q.Offence != offenceNumbers || q.Offences != 3 {
		t.Errorf("after four contradictions there is the quarantine %+v", q)
	}
}

// said has the trees of a master that does not run know this of a party, and nothing of any other one.
func said(t *testing.T, m *Master, p Party, agreed, solved int) {
	t.Helper()
	tr, err := tree.New(tree.Config{Root: m.first().Root}, tree.Snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	m.plan = schedule.New(schedule.Config{})
	m.plan.Add(schedule.Campaign{Number: 1, Tree: tr, Facts: 1, Share: 1})
	m.plan.Step(0, tree.Joined{Worker: p.Name, Slots: 1, Party: p.String(), Confirmed: agreed, Solved: solved})
	m.credit(p)
}

// TestCreditOutlastsTheMaster: what speaks for a party is told the trees of the next master when it
// joins, and shown. When it is quarantined nothing of it is left.
func TestCreditOutlastsTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		p := Party{Name: "w"}
		m, _ := newMaster(t, s, nil)
		said(t, m, p, 7, 5)
		m.saveStandings(false)
		known := Standing{Party: p, Confirmed: 7, Solved: 5}
		wantHeld(t, s, "at first", known)

		b := start(t, s, nil)
		b.worker("w")
		time.Sleep(time.Second)
		if shown := b.shownAs("w"); shown.GetConfirmed() != 7 {
			t.Errorf("shown is %v", shown)
		}
		if agreed, solved := b.master.first().Tree.Standing(p.String()); agreed != 7 || solved != 5 {
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
		if agreed, solved := b.master.first().Tree.Standing(p.String()); agreed != 0 || solved != 0 {
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
			id, err := w.upload(certificate(Root{b.root, eval.Won}))
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
			wantHeld(t, s, "after the end", Standing{Party: Party{Name: "w"}, Solved: 1})
		}
	})
}

// TestSolvedAreWrittenNowAndThen: each confirmed result is written, of solved positions as many as
// weigh, and all of them at the end.
func TestSolvedAreWrittenNowAndThen(t *testing.T) {
	s := newMemory()
	p := Party{Name: "w"}
	m, _ := newMaster(t, s, nil)
	for n := range 200 {
		said(t, m, p, 0, n+1)
		m.saveStandings(false)
		if st := s.held()[p]; st.Solved > n+1 || 9*st.Solved < 8*(n+1) {
			t.Fatalf("of %d solved positions the store has %d", n+1, st.Solved)
		}
	}
	if s.transactions() > 40 {
		t.Errorf("200 positions took %d transactions", s.transactions())
	}
	before := s.transactions()
	said(t, m, p, 1, 200)
	m.saveStandings(false)
	wantHeld(t, s, "with a confirmed result", Standing{Party: p, Confirmed: 1, Solved: 200})
	said(t, m, p, 1, 201)
	m.saveStandings(false)
	if s.transactions() != before+1 {
		t.Errorf("%d transactions more", s.transactions()-before)
	}
	m.saveStandings(true)
	wantHeld(t, s, "at the end", Standing{Party: p, Confirmed: 1, Solved: 201})
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
		wantHeld(t, s, "with room for once", Standing{Party: Party{Name: "w"}, Offences: 1})
		flood := func(name string) {
			b.master.offended(Party{Name: name}, name, "", offenceFlood, errors.New("too many"))
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
		want := Standing{Party: Party{Name: "w"}, Offences: 2}
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
	m, _ := newMaster(t, s, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
	for _, name := range []string{"a", "b", "c"} {
		s.fill(errFull)
		m.caught(&session{name: name}, offenceFlood, errors.New("too many"))
		m.saveStandings(false)
	}
	if n := strings.Count(log.String(), "not in the store yet"); n != 1 || len(m.unsaved) != 3 {
		t.Errorf("%d lines, %d wait: %s", n, len(m.unsaved), log)
	}
	s.fill(nil)
	m.saveStandings(false)
	m.saveStandings(false)
	if n := strings.Count(log.String(), "in the store again"); n != 1 || len(s.held()) != 3 {
		t.Errorf("%d lines, the store has %v: %s", n, s.held(), log)
	}
}

// TestStandingsAreBounded: with as many as the setting says, the one goes that was seen longest ago
// and has nothing against it, from memory and from the store; who is there was seen now. Names that
// change all the time take no more room, with and without room on the disk.
func TestStandingsAreBounded(t *testing.T) {
	s := newMemory()
	now := time.Unix(1700000000, 0)
	limits := func(c *Config) { c.MaxOffenders, c.Now = 3, func() time.Time { return now } }
	m, _ := newMaster(t, s, limits)
	names := func() (list []string) {
		for p := range s.held() {
			list = append(list, p.Name)
		}
		slices.Sort(list)
		return list
	}
	later := func(p string, agreed int) {
		now = now.Add(time.Minute)
		m.crowded = false // as after a tick
		said(t, m, Party{p, true}, agreed, 0)
		m.saveStandings(false)
	}
	lie := func(p string) {
		now = now.Add(time.Minute)
		m.caught(&session{name: p, info: workerInfo{owner: p}}, offenceFlood, errors.New("too many"))
		m.saveStandings(false)
	}
	want := func(what string, list ...string) {
		t.Helper()
		if got := names(); !slices.Equal(got, list) || len(m.standings) != len(list) || len(m.stored) != len(list) {
			t.Errorf("%s: the store has %v, want %v; the master has %v", what, got, list, m.standings)
		}
	}
	later("a", 9)
	later("b", 1)
	later("c", 1)
	later("d", 1)
	want("the oldest goes", "b", "c", "d")
	m.mu.Lock()
	m.sees(&session{name: "b", info: workerInfo{owner: "b"}}, now.Add(time.Second))
	m.mu.Unlock()
	later("e", 1)
	want("who is there stays", "b", "d", "e")
	for range 3 {
		said(t, m, Party{"more", true}, 1, 0)
	}
	m.saveStandings(false)
	want("one newcomer for each tick", "b", "d", "e")
	lie("x")
	want("a liar takes the place of the oldest", "b", "e", "x")
	later("f", 1)
	later("g", 1)
	want("a liar does not go first", "f", "g", "x")
	lie("y")
	lie("z")
	want("liars only", "x", "y", "z")
	later("h", 5)
	want("who is sound has no place among liars only", "x", "y", "z")
	lie("x")
	lie("u")
	want("the oldest with the fewest offences goes", "u", "x", "z")

	// A master with a lower limit forgets the rest.
	m, _ = newMaster(t, s, func(c *Config) { limits(c); c.MaxOffenders = 2 })
	m.saveStandings(false)
	want("with a lower limit", "u", "x")

	for _, room := range []error{nil, errFull, nil} {
		s.fill(room)
		m, _ = newMaster(t, s, limits)
		for i := range 300 {
			lie(fmt.Sprint("liar ", i))
			later(fmt.Sprint("sound ", i), 1)
			if len(m.standings) > 3 || len(m.stored) > 3 || len(m.unsaved) > 6 || len(s.held()) > 3 {
				t.Fatalf("after %d names %d are known, %d stored and %d to be written", 2*i, len(m.standings),
					len(m.stored), len(m.unsaved))
			}
		}
	}
	if !slices.Contains(names(), "liar 299") {
		t.Errorf("in the end the store has %v", names())
	}
	for i := range 100 {
		for range m.cfg.MaxOffences {
			lie(fmt.Sprint("bad ", i))
		}
		if len(m.standings) > 3 || len(m.stored) > 3 || len(m.unsaved) > 6 || len(s.held())+len(s.quarantines) > 3 {
			t.Fatalf("after %d quarantines %d parties are known, %d stored and %d to be written", i, len(m.standings),
				len(m.stored), len(m.unsaved))
		}
	}
	// does not set a quarantined certificate free
	later("late", 5)
	m.checked(tree.Checked{Worker: "bad 99", Party: Party{"bad 99", true}.String()}) // comes after the quarantine
	m.saveStandings(false)
	if len(s.quarantines) != 3 || len(m.stored)+len(m.unsaved) > 0 {
		t.Errorf("in the end the store has %d quarantines, and %v and %v count as stored and to be written",
			len(s.quarantines), m.stored, m.unsaved)
	}
}

// TestThrowawayNames: whoever needs no certificate can come under a new name after each lie, as
// often as there is room for standings and more. Those that have shown something stay but for one,
// quarantined certificates stay all, and a name that shows something takes the place of one that
// has lied.
func TestThrowawayNames(t *testing.T) {
	s := newMemory()
	now := time.Unix(1700000000, 0)
	m, _ := newMaster(t, s, func(c *Config) {
		c.MaxOffenders, c.MaxOffences, c.Now = 8, 2, func() time.Time { return now }
	})
	lie := func(p Party, times int) {
		owner := ""
		if p.Certificate {
			owner = p.Name
		}
		for range times {
			now = now.Add(time.Second)
			m.caught(&session{name: p.Name, info: workerInfo{owner: owner}}, offenceFlood, errors.New("too many"))
		}
		m.saveStandings(false)
	}
	show := func(p Party) {
		now = now.Add(time.Second)
		m.crowded = false // as after a tick
		said(t, m, p, 1, 0)
		m.saveStandings(false)
	}
	known := func(when string, want ...Party) {
		t.Helper()
		held := s.held()
		for _, p := range want {
			o := m.standings[p]
			if o == nil {
				t.Errorf("%s: %s is forgotten", when, p)
				continue
			}
			_, stands := held[p]
			_, bad := s.quarantines[p]
			if stands == bad || bad != (o.quarantine != nil) {
				t.Errorf("%s: the store has %s %v as standing and %v in quarantine", when, p, stands, bad)
			}
		}
		if n := len(held) + len(s.quarantines); len(m.standings) > 8 || n > 8 {
			t.Errorf("%s: %d are known, %d stored; 8 is the limit", when, len(m.standings), n)
		}
	}
	bad, sound := []Party{{"k", true}, {"l", true}}, []Party{{"a", false}, {"b", false}, {"c", true}, {"d", false},
		{"e", false}}
	for _, p := range bad {
		lie(p, 2)
	}
	for _, p := range sound {
		show(p)
	}
	known("at first", append(bad, sound...)...)
	for i := range 50 {
		lie(Party{fmt.Sprint("once ", i), false}, 1)
	}
	known("after lies under 50 names", append(bad, sound...)...)
	for i := range 50 {
		lie(Party{fmt.Sprint("twice ", i), false}, 2)
	}
	known("after 50 quarantined names", append(bad, sound...)...)
	show(Party{"f", false})
	known("a name that shows something", append(append(bad, sound...), Party{"f", false})...)
	lie(Party{"last", false}, 2)
	show(Party{"g", false})
	known("all have shown something", append(bad, Party{"b", false}, Party{"c", true}, Party{"d", false},
		Party{"e", false}, Party{"f", false}, Party{"g", false})...)
}

// TestSeenIsKept: the store knows within an hour when a party was there, and to the second after
// the end; nothing is written for that meanwhile.
func TestSeenIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		p := Party{Name: "w"}
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
		if ago := time.Since(seen()); ago > seenEvery+2*time.Second || s.transactions() > 5 {
			t.Errorf("who is there was seen %v ago; %d transactions", ago, s.transactions())
		}
		b.kill()
		if ago := time.Since(seen()); ago > 2*time.Second {
			t.Errorf("after the end it was seen %v ago", ago)
		}
	})
}

// TestQuarantineThatWasNotKept: who is released while its quarantine could not be written yet has
// no standing left either.
func TestQuarantineThatWasNotKept(t *testing.T) {
	s := newMemory()
	m, _ := newMaster(t, s, nil)
	lie := func() { m.caught(&session{name: "w"}, offenceFlood, errors.New("too many")) }
	lie()
	lie()
	m.saveStandings(false)
	s.fill(errFull)
	lie()
	m.saveStandings(true)
	s.fill(nil)
	wantHeld(t, s, "before the quarantine is written", Standing{Party: Party{Name: "w"}, Offences: 2})
	if _, err := m.Release("w"); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, s, "after the release")
	lie()
	m.saveStandings(false)
	wantHeld(t, s, "after the next one", Standing{Party: Party{Name: "w"}, Offences: 1})
}
