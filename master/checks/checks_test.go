package checks

import (
	"fmt"
	"testing"

	"amazonsfarm/master/trust"
	"amazonsfarm/shared/proof"
)

// farm has workers of parties, and parts of the party "maker".
type farm struct {
	t *testing.T
	*Queue
	present []*Worker
}

func newFarm(t *testing.T, parties ...string) *farm {
	f := &farm{t: t, Queue: NewQueue()}
	for i, p := range parties {
		f.present = append(f.present, &Worker{Name: fmt.Sprint(p, i), Party: trust.Party{Name: p}})
	}
	return f
}

func (f *farm) part(n int) proof.ID {
	id := proof.ID{byte(n), byte(n >> 8), 1, byte(n >> 16)}
	f.Delivered(Maker{Party: trust.Party{Name: "maker"}, Part: Part{1, id, 1000}}, false)
	f.Want(Part{1, id, 1000})
	return id
}

// assigned returns who was handed something in that many ticks, by party; "" is the master.
func (f *farm) assigned(ticks int) map[string]int {
	got := map[string]int{}
	for range ticks {
		for _, task := range f.Assign(f.present) {
			if task.By == nil {
				got[""]++
				f.Done(task.ID)
				continue
			}
			got[task.By.Party.Name]++
		}
		f.Tick(func(*Worker) bool { return false })
	}
	return got
}

// TestSilentChecker: a party that never answers delays an answer by some ticks at first, and by none
// later.
func TestSilentChecker(t *testing.T) {
	f := newFarm(t, "maker", "silent")
	f.part(1)
	if got := f.assigned(1); got["silent"] != 1 || len(got) != 1 {
		t.Fatalf("asked were %v", got)
	}
	if got := f.assigned(patience + 2); got[""] != 1 {
		t.Fatalf("asked were %v; the master has to check what nobody answers", got)
	}
	f.part(2)
	if got := f.assigned(1); got[""] != 1 || got["silent"] != 0 {
		t.Errorf("asked were %v; the silent party rests", got)
	}
}

// TestHaste: where a third party is there, it is asked as well, long before the first one is late.
func TestHaste(t *testing.T) {
	f := newFarm(t, "maker", "a-silent", "honest")
	id := f.part(1)
	if got := f.assigned(1); got["a-silent"] != 1 {
		t.Fatalf("asked were %v", got)
	}
	if got := f.assigned(haste + 1); got["honest"] != 1 {
		t.Fatalf("asked were %v", got)
	}
	for i, w := range []*Worker{f.present[2], f.present[2], f.present[0]} {
		if p, counts := f.Answered(w, id); counts != (i == 0) || counts && p != (Part{1, id, 1000}) {
			t.Errorf("answer %d: %v %v; one counts, from those that were asked, for that part", i, p, counts)
		}
	}
	f.Done(id)
	f.assigned(patience + 1)
	if f.present[1].busy != 0 || f.present[2].busy != 0 || f.of(f.present[1].Party).failed != 1 {
		t.Error("they are busy still, or the silent one is not held to it")
	}
}

// TestFailingChecker: a party that says of each part that it cannot check it is asked less and less, and
// never twice of the same.
func TestFailingChecker(t *testing.T) {
	f := newFarm(t, "maker", "fails")
	asked := 0
	for n := range 1000 {
		id := f.part(n)
		for _, task := range f.Assign(f.present) {
			if task.By != nil {
				asked++
				f.Answered(task.By, id)
				f.Failed(task.By.Party, id, false)
			} else {
				f.Done(id)
			}
		}
		f.assigned(1)
		if f.Wanted(id) {
			t.Fatalf("nobody checks part %d", n)
		}
	}
	if asked > 6 {
		t.Errorf("it was asked %d times of 1000", asked)
	}
}

// TestReturned: a party that hands checks back, since it could not fetch the parts, is asked again soon;
// one that always does, less and less.
func TestReturned(t *testing.T) {
	f := newFarm(t, "maker", "a-full", "other")
	asked := 0
	for n := range 1000 {
		id := f.part(n)
		for range 2 {
			for _, task := range f.Assign(f.present) {
				if _, _ = f.Answered(task.By, id); task.By.Party.Name == "a-full" {
					asked++
					f.Failed(task.By.Party, id, true)
				} else {
					f.Holds(task.By.Party, id, true)
					f.Done(id)
				}
			}
		}
		f.Tick(func(*Worker) bool { return false })
		if n == returnRest+1 && asked != 2 {
			t.Errorf("it was asked %d times in %d ticks", asked, n)
		}
		if f.Wanted(id) {
			t.Fatalf("nobody checks part %d", n)
		}
	}
	if asked > 10 {
		t.Errorf("it was asked %d times of 1000", asked)
	}
}

// TestNobodyChecksHimself: with another party there, even one that rests, a party's parts are not its own
// to check. Where it is alone, they are.
func TestNobodyChecksHimself(t *testing.T) {
	f := newFarm(t, "maker", "rests")
	f.Failed(trust.Party{Name: "rests"}, proof.ID{}, false)
	f.part(1)
	if got := f.assigned(1); got["maker"] != 0 || got[""] != 1 {
		t.Errorf("asked were %v", got)
	}
	alone := newFarm(t, "maker")
	alone.part(1)
	if got := alone.assigned(1); got["maker"] != 1 {
		t.Errorf("alone, asked were %v", got)
	}
}

// TestVouched: no party passes a part that it may have made, if another party is there.
func TestVouched(t *testing.T) {
	party := func(name string) trust.Party { return trust.Party{Name: name} }
	f := newFarm(t, "maker", "a", "b")
	id := f.part(1)
	f.assigned(1)
	if by := f.Vouched(party("maker"), id); by != "" {
		t.Errorf("its maker's word counts as that of %q", by)
	}
	if by := f.Vouched(party("a"), id); by != party("a").String() {
		t.Errorf("another's word counts as that of %q", by)
	}
	// After a restart nobody knows who made a part: then two have to say so.
	old := Part{1, proof.ID{9}, 1000}
	f.Want(old)
	if got := f.assigned(1); len(got) != 1 {
		t.Fatalf("asked were %v", got)
	}
	by, asked := "", 0
	for _, w := range f.present {
		if _, counts := f.Answered(w, old.ID); counts {
			by = f.Vouched(w.Party, old.ID)
			asked++
		}
	}
	if by != "" || asked != 1 || !f.Wanted(old.ID) {
		t.Fatalf("the word of one of %d counts as that of %q", asked, by)
	}
	if got := f.assigned(1); len(got) != 1 {
		t.Fatalf("asked were %v", got)
	}
	for _, w := range f.present {
		if _, counts := f.Answered(w, old.ID); counts {
			by = f.Vouched(w.Party, old.ID)
		}
	}
	if by == "" {
		t.Error("the word of two does not count")
	}
	lone := newFarm(t, "maker")
	id = lone.part(1)
	lone.assigned(1)
	if by := lone.Vouched(party("maker"), id); by != party("maker").String()+alone {
		t.Errorf("alone, its maker's word counts as that of %q", by)
	}
}

// TestOwnParts: while the only other party rests, the master takes a few parts at a time, and leaves the others to it.
func TestOwnParts(t *testing.T) {
	f := newFarm(t, "maker", "rests")
	f.Failed(trust.Party{Name: "rests"}, proof.ID{}, true)
	for n := range 1000 {
		f.part(n)
	}
	if got := f.assigned(1); got["maker"] != 0 || got[""] != maxOwn {
		t.Errorf("asked were %v", got)
	}
	if got := f.assigned(returnRest); got["rests"] != atOnce {
		t.Errorf("after its rest, asked were %v", got)
	}
}

// TestOwnRests: where the master cannot check a part, since the bucket is away, it tries again every few ticks. It did
// so each tick, with a line in the log for each part.
func TestOwnRests(t *testing.T) {
	f := newFarm(t, "maker", "other")
	for n := range maxOwn {
		f.part(n)
	}
	for tick := range 3 * returnRest {
		f.Failed(trust.Party{Name: "other"}, proof.ID{}, false) // it never can
		tried := 0
		for _, task := range f.Assign(f.present) {
			if task.By == nil {
				tried++
				f.Owned(task.ID)
			}
		}
		if due := tick%returnRest == 0; due != (tried == maxOwn) || !due && tried > 0 {
			t.Errorf("at tick %d the master tries %d parts", tick, tried)
		}
		f.Tick(func(*Worker) bool { return false })
	}
}

// TestWantAll: all parts of a liar are checked, each for its own campaign.
func TestWantAll(t *testing.T) {
	f := newFarm(t, "other")
	for n := range uint32(100) {
		f.Delivered(Maker{Party: trust.Party{Name: "liar"}, Part: Part{n, proof.ID{byte(n)}, 1}}, false)
	}
	f.WantAll(trust.Party{Name: "liar"})
	for _, c := range f.checks {
		if c.sample || c.Campaign != uint32(c.ID[0]) {
			t.Errorf("%+v", c.Part)
		}
	}
	if f.order.Len() != 100 {
		t.Errorf("%d of 100 are to be checked", f.order.Len())
	}
}

// TestSamples: a flood of parts of one party leaves room for samples of others.
func TestSamples(t *testing.T) {
	f := newFarm(t, "maker", "other")
	for n := range 60_000 {
		f.Delivered(Maker{Party: trust.Party{Name: "flood"},
			Part: Part{1, proof.ID{byte(n), byte(n >> 8), byte(n >> 16)}, 1}}, false)
	}
	if f.samples != maxPartySamples {
		t.Errorf("%d parts wait", f.samples)
	}
	f.Delivered(Maker{Party: trust.Party{Name: "late"}, Part: Part{1, proof.ID{1, 2, 3, 4}, 1}}, false)
	if !f.Wanted(proof.ID{1, 2, 3, 4}) {
		t.Error("the first part of another party is not sampled")
	}
}

// TestChecked: parts that the master checked before they counted are among the first of their party, and nobody is
// asked to check them again.
func TestChecked(t *testing.T) {
	sampled := 0
	for range 64 {
		f := newFarm(t)
		maker := func(id proof.ID) Maker { return Maker{Party: trust.Party{Name: "maker"}, Part: Part{1, id, 1}} }
		for n := range sampleFirst {
			f.Delivered(maker(proof.ID{byte(n), 1}), true)
		}
		if f.order.Len() > 0 {
			t.Fatalf("%d parts are to be checked again", f.order.Len())
		}
		f.Delivered(maker(proof.ID{2}), false)
		sampled += f.order.Len()
	}
	if sampled > 16 { // two in the mean, by lot
		t.Errorf("the next part is a sample in %d of 64 farms", sampled)
	}
}

// TestSpots: the master checks again the first parts that a doubted party says to hold, and of all parties
// some by lot.
func TestSpots(t *testing.T) {
	f := newFarm(t)
	for _, c := range []struct {
		doubted bool
		first   int
	}{{true, spotFirst}, {false, 0}} {
		by, again := trust.Party{Name: fmt.Sprint(c.doubted)}, 0
		for n := range 100 * spotOneIn {
			id := proof.IDOf([]byte(fmt.Sprint(n)))
			if f.Holds(by, id, c.doubted) {
				again++
			} else if n < c.first {
				t.Errorf("part %d of a doubted party is not checked again", n)
			}
		}
		if again < 60+c.first || again > 140+c.first {
			t.Errorf("doubted %v: %d of %d are checked again", c.doubted, again, 100*spotOneIn)
		}
	}
}

// BenchmarkAssign has many parts wait for an answer: of a party that has nearly all workers, and where all workers are
// busy.
func BenchmarkAssign(b *testing.B) {
	for _, others := range []int{10, 1000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			f := &farm{Queue: NewQueue()}
			for i := range 1000 + others {
				party := "maker"
				if i >= 1000 {
					party = fmt.Sprint("other", i)
				}
				f.present = append(f.present, &Worker{Name: fmt.Sprint(party, i), Party: trust.Party{Name: party}})
			}
			for n := range 60_000 {
				f.part(n)
			}
			for range atOnce {
				f.Assign(f.present)
			}
			for b.Loop() {
				f.Assign(f.present)
			}
		})
	}
}

// BenchmarkProof has workers check all parts of a proof that waits for them. A part of a large proof costs no more than
// one of a small proof.
func BenchmarkProof(b *testing.B) {
	for _, parts := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(parts), func(b *testing.B) {
			for range b.N {
				f := &farm{Queue: NewQueue()}
				for i := range 8 {
					party := trust.Party{Name: fmt.Sprint(i)}
					f.present = append(f.present, &Worker{Name: party.Name, Party: party})
				}
				for n := range parts {
					f.part(n)
				}
				for done := 0; done < parts; {
					for _, task := range f.Assign(f.present) {
						f.Answered(task.By, task.ID)
						f.Done(task.ID)
						done++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*parts), "ns/part")
		})
	}
}
