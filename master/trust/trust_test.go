package trust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// shop is a book with a store in memory, as the shell of a loop keeps them together.
type shop struct {
	*Book
	now         time.Time
	quarantines map[Party]Quarantine
	standings   map[Party]Standing
	kept        int   // transactions with standings
	room        error // not nil: nothing can be written
}

func newShop() *shop {
	return &shop{now: time.Unix(1700000000, 0), quarantines: map[Party]Quarantine{}, standings: map[Party]Standing{}}
}

// open makes a book of what the store has, as the next master does.
func (s *shop) open(offences, parties int) {
	s.Book = NewBook(offences, parties, slices.Collect(maps.Values(s.quarantines)),
		slices.Collect(maps.Values(s.standings)))
}

// do carries out what the book decided.
func (s *shop) do(effects []Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case Quarantined:
			s.quarantine(e.Quarantine)
		case Forgotten:
			if s.room == nil {
				delete(s.quarantines, e.Party)
				delete(s.standings, e.Party)
				s.Released(e.Party)
			}
		}
	}
}

func (s *shop) quarantine(q Quarantine) {
	if s.room == nil {
		s.quarantines[q.Party] = q
		delete(s.standings, q.Party)
		s.QuarantineKept(q.Party)
	}
}

// retry writes the quarantines that could not be written before.
func (s *shop) retry() {
	for _, q := range s.UnkeptQuarantines() {
		s.quarantine(q)
	}
}

// save writes what has changed.
func (s *shop) save(all bool) {
	list := s.Changed(all)
	if len(list) == 0 {
		return
	}
	if s.room == nil {
		s.kept++
		for _, st := range list {
			if _, ok := s.quarantines[st.Party]; st.Empty() {
				delete(s.standings, st.Party)
			} else if !ok {
				s.standings[st.Party] = st
			}
		}
	}
	s.Kept(list, s.room == nil)
}

// release releases the parties of a name, and reports whether there was one.
func (s *shop) release(name string) (found bool) {
	for _, q := range s.Quarantines() {
		if q.Name == name && s.room == nil {
			delete(s.quarantines, q.Party)
			delete(s.standings, q.Party)
			s.Released(q.Party)
			found = true
		}
	}
	return found
}

// lie counts offences.
func (s *shop) lie(p Party, times int) {
	for range times {
		s.do(s.Offend(Offence{Party: p, Worker: p.Name, Kind: Flood, Why: "too many"}, s.now))
	}
}

// said notes how a check came out.
func (s *shop) said(p Party, agreed, proven bool) {
	s.do(s.Compare(Comparison{Party: p, Worker: "w/1", Agreed: agreed, Proven: proven, Why: "it said 1 and 2"}, s.now))
}

// known notes what the trees count.
func (s *shop) known(p Party, confirmed, solved int) { s.do(s.Credit(p, confirmed, solved, s.now)) }

// held returns what the store has of parties, without when they were seen.
func (s *shop) held() map[Party]Standing {
	out := maps.Clone(s.standings)
	for p, st := range out {
		st.Seen = time.Time{}
		out[p] = st
	}
	return out
}

// want fails the test if the store has other standings than these.
func (s *shop) want(t *testing.T, when string, want ...Standing) {
	t.Helper()
	all := map[Party]Standing{}
	for _, st := range want {
		all[st.Party] = st
	}
	if got := s.held(); !maps.Equal(got, all) {
		t.Errorf("%s the store has %+v, want %+v", when, got, all)
	}
	if err := s.Audit(slices.Collect(maps.Values(s.quarantines)),
		slices.Collect(maps.Values(s.standings))); err != nil {
		t.Errorf("%s: %v", when, err)
	}
}

var errFull = errors.New("the disk is full")

// TestOffendersAreBounded has many names send false certificates: no more are counted than the setting
// says, and quarantined ones stay so while another name can be forgotten.
func TestOffendersAreBounded(t *testing.T) {
	s := newShop()
	s.open(2, 3)
	name := func(n string) Party { return Party{Name: n} }
	bad := Party{"bad", true}
	s.lie(bad, 2)
	for _, n := range []string{"a", "b", "c", "d", "e"} {
		s.lie(name(n), 1)
		if s.InQuarantine(name(n)) != nil {
			t.Errorf("after one false certificate %s is in quarantine", n)
		}
	}
	if n := len(s.records); n != 3 {
		t.Errorf("%d names are counted, the limit is 3", n)
	}
	if s.InQuarantine(bad) == nil {
		t.Error("the quarantined credential was forgotten")
	}
	if s.InQuarantine(name("bad")) != nil {
		t.Error("a worker that only says that its name is that of a quarantined credential is in quarantine")
	}
	if s.records[name("e")] == nil {
		t.Error("the latest name is not counted")
	}
	// With all of them quarantined, one without a credential makes room, in the store as well.
	for _, n := range []string{"f", "g", "h"} {
		s.lie(name(n), 2)
	}
	if s.InQuarantine(name("h")) == nil || s.InQuarantine(bad) == nil {
		t.Error("h or the credential is not in quarantine")
	}
	if n := len(s.records); n != 3 || len(s.quarantines) != 3 {
		t.Errorf("%d parties are counted and %d quarantines stored, the limit is 3", n, len(s.quarantines))
	}
}

// TestQuarantineIsKept has the next master know which party is quarantined, also where the disk was
// full at first, and which was released.
func TestQuarantineIsKept(t *testing.T) {
	s, w := newShop(), Party{Name: "w"}
	s.open(0, 0)
	s.room = errFull
	s.lie(w, 3)
	s.retry()
	if len(s.quarantines) != 0 {
		t.Fatal("it is stored where there is no room")
	}
	if s.release("w") {
		t.Error("a release that cannot be kept")
	}
	s.room = nil
	s.retry()
	s.open(0, 0)
	if q := s.InQuarantine(w); q == nil || q.Offences != 3 || q.Party.String() != "name w" {
		t.Fatalf("the next master has %+v", q)
	}
	if !s.release("w") || s.release("w") {
		t.Error("it is not released once")
	}
	s.open(0, 0)
	if s.InQuarantine(w) != nil {
		t.Error("a released worker is in quarantine at the next master")
	}
}

// TestContradictedNumbers: contradicted numbers are an offence, but for the first ones of a proven
// party; a confirmed result makes up for one contradiction, but not for an offence of another kind.
func TestContradictedNumbers(t *testing.T) {
	for _, p := range []Party{{"w", true}, {"w", false}, {"name w", true}} {
		if got := Named(p.String()); got != p {
			t.Errorf("%v is read as %v", p, got)
		}
		s := newShop()
		s.open(0, 0)
		proven := true
		said := func(agreed bool) { s.said(p, agreed, proven) }
		said(true)
		if len(s.records) != 0 {
			t.Error("a confirmed result counts as something")
		}
		said(false)
		if o := s.records[p]; o == nil || o.Offences != 0 || o.Contradicted != 1 {
			t.Errorf("after one contradiction counted is %+v", o)
		}
		said(false)
		if o := s.records[p]; o == nil || o.Offences != 1 || o.Contradicted != 2 {
			t.Errorf("after two contradictions counted is %+v", o)
		}
		said(true)
		said(true)
		proven = false
		said(false)
		proven = true
		if o := s.records[p]; o == nil || o.Offences != 1 || o.Contradicted != 1 {
			t.Errorf("after one contradiction of a stranger counted is %+v", o)
		}
		said(true)
		for range 20 {
			said(false)
			said(false)
			said(true)
			said(true)
		}
		if len(s.records) != 0 || len(s.quarantines) != 0 {
			t.Errorf("%v is suspected although as much was confirmed: %v", p, s.records)
		}
		s.lie(p, 1)
		said(false)
		said(true)
		said(true)
		if o := s.records[p]; o == nil || o.Offences != 1 || o.Contradicted != 0 {
			t.Errorf("counted is %+v, want the flood", o)
		}
		said(false)
		said(false)
		if s.InQuarantine(p) != nil {
			t.Error("the first contradiction counts as an offence")
		}
		said(false)
		if q := s.quarantines[p]; q.Offence != Numbers || q.Worker != "w/1" || q.Why != "it said 1 and 2" {
			t.Errorf("quarantined is %v as %+v", p, q)
		}
		said(true)
		if s.InQuarantine(p) == nil {
			t.Error("a confirmed result lifts a quarantine")
		}
	}
}

// TestTakenBack: at the next tick the trees are to take back, once, what a quarantined party has said,
// also where it has left before.
func TestTakenBack(t *testing.T) {
	s, party := newShop(), Party{Name: "w", Credential: true}
	s.open(0, 0)
	s.lie(party, MaxOffences)
	s.lie(Party{Name: "other"}, 1)
	told := s.Tick(false) // without room the trees stand still
	for range 2 {
		told = append(told, s.Tick(true)...)
	}
	if !slices.Equal(told, []Party{party}) {
		t.Errorf("the trees were told of %v", told)
	}
}

// TestDoubtsOutlastTheMaster: the second contradiction of a proven party is an offence, also where a
// restart lies between them, and a confirmed result makes up for one from before.
func TestDoubtsOutlastTheMaster(t *testing.T) {
	s, p := newShop(), Party{Name: "w", Credential: true}
	next := func(said ...bool) {
		t.Helper()
		s.open(0, 0)
		for _, agreed := range said {
			s.said(p, agreed, true)
		}
		s.save(false)
	}
	next(false)
	s.want(t, "after a contradiction", Standing{Party: p, Contradicted: 1, Forgiven: true})
	next(false)
	s.want(t, "after two", Standing{Party: p, Contradicted: 2, Forgiven: true, Offences: 1})
	next(true)
	s.want(t, "after one was made up for", Standing{Party: p, Contradicted: 1, Forgiven: true})
	next(true)
	s.want(t, "after both were")
	next(false, false, false)
	next(false)
	s.want(t, "in quarantine")
	if q := s.quarantines[p]; q.Offence != Numbers || q.Offences != 3 {
		t.Errorf("after four contradictions there is the quarantine %+v", q)
	}
}

// TestSolvedAreWrittenNowAndThen: each confirmed result is written, of solved positions as many as
// weigh, and all of them at the end.
func TestSolvedAreWrittenNowAndThen(t *testing.T) {
	s, p := newShop(), Party{Name: "w"}
	s.open(0, 0)
	for n := range 200 {
		s.known(p, 0, n+1)
		s.save(false)
		if st := s.held()[p]; st.Solved > n+1 || 9*st.Solved < 8*(n+1) {
			t.Fatalf("of %d solved positions the store has %d", n+1, st.Solved)
		}
	}
	if s.kept > 40 {
		t.Errorf("200 positions took %d transactions", s.kept)
	}
	before := s.kept
	s.known(p, 1, 200)
	s.save(false)
	s.want(t, "with a confirmed result", Standing{Party: p, Confirmed: 1, Solved: 200})
	s.known(p, 1, 201)
	s.save(false)
	if s.kept != before+1 {
		t.Errorf("%d transactions more", s.kept-before)
	}
	s.save(true)
	s.want(t, "at the end", Standing{Party: p, Confirmed: 1, Solved: 201})
}

// TestQuarantineThatWasNotKept: a party that is released while its quarantine could not be written yet
// has no standing left either.
func TestQuarantineThatWasNotKept(t *testing.T) {
	s, w := newShop(), Party{Name: "w"}
	s.open(0, 0)
	s.lie(w, 2)
	s.save(false)
	s.room = errFull
	s.lie(w, 1)
	s.save(true)
	s.room = nil
	s.want(t, "before the quarantine is written", Standing{Party: w, Offences: 2})
	if !s.release("w") {
		t.Fatal("not released")
	}
	s.want(t, "after the release")
	s.lie(w, 1)
	s.save(false)
	s.want(t, "after the next one", Standing{Party: w, Offences: 1})
}

// TestStandingsAreBounded: with as many as the setting says, the one goes that was seen longest ago
// and has nothing against it, from memory and from the store; who is there was seen now. Names that
// change all the time take no more room, with and without room on the disk.
func TestStandingsAreBounded(t *testing.T) {
	s := newShop()
	s.open(0, 3)
	names := func() (list []string) {
		for p := range s.held() {
			list = append(list, p.Name)
		}
		slices.Sort(list)
		return list
	}
	later := func(p string, agreed int) {
		s.now = s.now.Add(time.Minute)
		s.Tick(false)
		s.known(Party{p, true}, agreed, 0)
		s.save(false)
	}
	lie := func(p string) {
		s.now = s.now.Add(time.Minute)
		s.lie(Party{p, true}, 1)
		s.save(false)
	}
	want := func(what string, list ...string) {
		t.Helper()
		if got := names(); !slices.Equal(got, list) || len(s.records) != len(list) || len(s.stored) != len(list) {
			t.Errorf("%s: the store has %v, want %v; the master has %v", what, got, list, s.records)
		}
	}
	later("a", 9)
	later("b", 1)
	later("c", 1)
	later("d", 1)
	want("the oldest goes", "b", "c", "d")
	s.See(Party{"b", true}, s.now.Add(time.Second))
	later("e", 1)
	want("who is there stays", "b", "d", "e")
	for range 3 {
		s.known(Party{"more", true}, 1, 0)
	}
	s.save(false)
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
	s.open(0, 2)
	s.save(false)
	want("with a lower limit", "u", "x")

	for _, room := range []error{nil, errFull, nil} {
		s.room = room
		s.open(0, 3)
		for i := range 300 {
			lie(fmt.Sprint("liar ", i))
			later(fmt.Sprint("sound ", i), 1)
			if len(s.records) > 3 || len(s.stored) > 3 || len(s.changed) > 6 || len(s.held()) > 3 {
				t.Fatalf("after %d names %d are known, %d stored and %d to be written", 2*i, len(s.records),
					len(s.stored), len(s.changed))
			}
		}
	}
	if !slices.Contains(names(), "liar 299") {
		t.Errorf("in the end the store has %v", names())
	}
	for i := range 100 {
		for range MaxOffences {
			lie(fmt.Sprint("bad ", i))
		}
		if len(s.records) > 3 || len(s.stored) > 3 || len(s.changed) > 6 || len(s.held())+len(s.quarantines) > 3 {
			t.Fatalf("after %d quarantines %d parties are known, %d stored and %d to be written", i, len(s.records),
				len(s.stored), len(s.changed))
		}
	}
	// does not set a quarantined certificate free
	later("late", 5)
	s.said(Party{"bad 99", true}, false, false) // comes after the quarantine
	s.save(false)
	if len(s.quarantines) != 3 || len(s.stored)+len(s.changed) > 0 {
		t.Errorf("in the end the store has %d quarantines, and %v and %v count as stored and to be written",
			len(s.quarantines), s.stored, s.changed)
	}
}

// TestThrowawayNames: whoever needs no certificate can come under a new name after each lie, as
// often as there is room for standings and more. Those that have shown something stay but for one,
// quarantined certificates stay all, and a name that shows something takes the place of one that
// has lied.
func TestThrowawayNames(t *testing.T) {
	s := newShop()
	s.open(2, 8)
	lie := func(p Party, times int) {
		for range times {
			s.now = s.now.Add(time.Second)
			s.lie(p, 1)
		}
		s.save(false)
	}
	show := func(p Party) {
		s.now = s.now.Add(time.Second)
		s.Tick(false)
		s.known(p, 1, 0)
		s.save(false)
	}
	known := func(when string, want ...Party) {
		t.Helper()
		held := s.held()
		for _, p := range want {
			o := s.records[p]
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
		if n := len(held) + len(s.quarantines); len(s.records) > 8 || n > 8 {
			t.Errorf("%s: %d are known, %d stored; 8 is the limit", when, len(s.records), n)
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
