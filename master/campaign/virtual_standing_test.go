package campaign

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// shownAs returns what the master tells people of a worker, nothing if it is not there.
func (v *virtual) shownAs(name string) *loop.Member {
	v.t.Helper()
	list, err := v.farm.Loop.Workers(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	for _, w := range list {
		if w.Name == name {
			return &w
		}
	}
	return nil
}

// TestStandingsOfTheStore: what the services keep of parties is what they read.
func TestStandingsOfTheStore(t *testing.T) {
	s, err := store.Create(filepath.Join(t.TempDir(), "s.store"), aboutOf(loop.Asked{Root: position(t, "4x4")}, ""),
		store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := time.Unix(1700000000, 0).UTC()
	in := []trust.Standing{
		{Party: trust.Party{Name: "a", Credential: true}, Confirmed: 1, Solved: 2, Contradicted: 3, Forgiven: true,
			Offences: 4,
			Seen:     seen},
		{Party: trust.Party{Name: "b"}, Confirmed: 1 << 40},
	}
	if err := s.SetStandings(in); err != nil {
		t.Fatal(err)
	}
	if out, err := s.Standings(); err != nil || !slices.Equal(out, in) {
		t.Errorf("kept is %+v, %v; want %+v", out, err, in)
	}
}

// claims returns how many results wait to be checked.
func (v *virtual) claims() int {
	v.t.Helper()
	all, err := v.farm.Loop.Views(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	return all[0].Tree.Unchecked
}

// TestStandingOutlastsACrash has two workers confirm each other's results and a third one lie
// twice. Then the master crashes, and the next one has nothing but the store. It shows what was
// known of each; who was confirmed is believed at once, while the results of a newcomer wait; and
// the next lie of the liar is its third.
func TestStandingOutlastsACrash(t *testing.T) {
	inVirtualTime(t, 5, Options{Tree: tree.Config{CheckFirst: 2, CheckSeed: 1}}, func(v *virtual) {
		t := v.t
		v.serve()
		person := func(name string) *cheat {
			return &cheat{v: v, ctx: t.Context(), client: farmv1.NewFarmClient(v.connect(name, nil).conn), name: name}
		}
		enter := func(all ...*cheat) {
			t.Helper()
			for _, c := range all {
				v.await(c.name+" is there", func() bool { return c.enter() == nil })
			}
			time.Sleep(time.Second)
		}
		// says has a worker ask for a lease and say of its position what everybody says.
		says := func(c *cheat) {
			t.Helper()
			l, err := c.lease()
			if err == nil {
				err = c.says(l, 3, 4)
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		lies := func(c *cheat, n int) {
			t.Helper()
			if _, err := c.upload([]byte(fmt.Sprint("trust me ", n)), 10); err == nil {
				t.Fatal("a lie is taken")
			}
		}
		one, two, liar := person("one"), person("two"), person("liar")
		enter(one, two, liar)
		for v.shownAs("one").Confirmed < 6 || v.shownAs("two").Confirmed < 6 {
			says(one)
			says(two)
		}
		lies(liar, 1)
		lies(liar, 2)
		before := []*loop.Member{v.shownAs("one"), v.shownAs("two"), v.shownAs("liar")}
		time.Sleep(2 * time.Second)

		v.crash()
		v.serve()
		enter(one, two, liar)
		for _, w := range before {
			if now := v.shownAs(w.Name); now.Confirmed != w.Confirmed ||
				now.Offences != w.Offences || w.Confirmed+w.Offences == 0 {
				t.Errorf("after the crash %s has %d confirmed results and %d offences, before it had %d and %d",
					w.Name, now.Confirmed, now.Offences, w.Confirmed, w.Offences)
			}
		}
		for range 3 {
			says(one)
			if n := v.claims(); n != 0 {
				t.Fatalf("%d results of a worker that was confirmed before the crash wait", n)
			}
		}
		newcomer := person("newcomer")
		enter(newcomer)
		says(newcomer)
		if n := v.claims(); n != 1 {
			t.Errorf("after the result of a newcomer %d results wait", n)
		}
		lies(liar, 3)
		if err := liar.enter(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("after three lies, two of them before the crash, joining says %v", err)
		}
		v.stop()
		s, err := store.Open(v.options.StoreFile, store.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		list, err := s.Standings()
		if err != nil || len(list) != 3 {
			t.Fatalf("the store has the standings %+v, %v", list, err)
		}
		for i, want := range []string{"newcomer", "one", "two"} { // a newcomer has nodes, and nothing is confirmed
			if n := list[i]; n.Name != want || n.Nodes == 0 || (n.Confirmed == 0) != (want == "newcomer") {
				t.Errorf("standing %d is %+v, want that of %s", i, n, want)
			}
		}
	})
}
