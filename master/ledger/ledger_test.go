package ledger

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"amazonsfarm/master/trust"
	"amazonsfarm/shared/proof"
)

// TestLedger: what leases account for is taken; beyond it a party with a credential has its own room, and
// all names without one have one room together, however many there are.
func TestLedger(t *testing.T) {
	c := New()
	known := c.Of(named("known", true))
	if err := known.Take(freeEvidence); err != nil {
		t.Fatal(err)
	}
	if err := known.Take(1); !errors.Is(err, ErrUnasked) {
		t.Errorf("beyond what is free: %v", err)
	}
	known.Granted(1000)
	if err := known.Take(1000 * bytesPerNode); err != nil {
		t.Errorf("for a lease: %v", err)
	}
	if err := known.Take(1); !errors.Is(err, ErrUnasked) {
		t.Errorf("beyond its leases: %v", err)
	}
	known.Give(1000)
	if err := known.Take(1000); err != nil {
		t.Errorf("what did not come: %v", err)
	}
	other := c.Of(named("gives back", false))
	for range 20 { // what did not come is free again for all
		if err := other.Take(freeEvidence / 2); err != nil {
			t.Fatal(err)
		}
		other.Give(freeEvidence / 2)
	}
	taken := 0
	for i := range 1000 {
		if c.Of(named(string(rune('a'+i)), false)).Take(freeEvidence/10) == nil {
			taken++
		}
	}
	if taken != 10 {
		t.Errorf("names without credentials delivered %d tenths of what is free", taken)
	}
	if c.Of(named("known", false)) == known {
		t.Error("a name is taken for a credential")
	}
	// What known workers bring from before a restart does not hang on what others have brought.
	for i, p := range []trust.Standing{{Confirmed: 1}, {Solved: 1}, {Nodes: 1 << 40}} {
		p.Party = trust.Party{Name: fmt.Sprintf("known %d", i)}
		if err := c.Of(p).Take(freeEvidence); (err == nil) != (p.Confirmed+p.Solved > 0) {
			t.Errorf("%+v brings what it has: %v", p, err)
		}
	}
}

// named is a party of which nothing else is known.
func named(name string, credential bool) trust.Standing {
	return trust.Standing{Party: trust.Party{Name: name, Credential: credential}}
}

// TestPromise: a part that has an address is under way until it is there or its time is over. Announced again it never
// counts less. What was taken stays as it is.
func TestPromise(t *testing.T) {
	for _, credential := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			all := New()
			of := func(name string) *Ledger { return all.Of(named(name, credential)) }
			l := of("greedy")
			promise := func(l *Ledger, id byte, bytes int64) error {
				return l.Promise(proof.ID{id}, bytes, time.Now().Add(time.Minute))
			}
			const half = freeEvidence / 2
			if err := errors.Join(promise(l, 1, half), promise(l, 1, 1), promise(l, 2, half)); err != nil {
				t.Fatal(err)
			}
			for id, bytes := range map[byte]int64{2: half + 1, 3: 1} {
				if err := promise(l, id, bytes); !errors.Is(err, ErrUnderWay) || l.way.bytes != freeEvidence {
					t.Errorf("%d bytes more: %v, %d under way", bytes, err, l.way.bytes)
				}
			}
			if err := promise(l, 3, freeEvidence+1); !errors.Is(err, ErrUnasked) {
				t.Errorf("more than would ever be taken: %v", err)
			}
			// Without credentials all names have one room together, and with a credential each has its own.
			if err := promise(of("other"), 4, half); (err == nil) != credential {
				t.Errorf("another party: %v", err)
			}
			if err := l.Take(freeEvidence); err != nil {
				t.Errorf("what is under way keeps from taking: %v", err)
			}
			l.Give(freeEvidence)
			l.Arrived(proof.ID{1})
			l.Arrived(proof.ID{9})
			if err := promise(l, 3, half); err != nil || l.way.bytes != freeEvidence {
				t.Errorf("after a part that is there: %v, %d under way", err, l.way.bytes)
			}
			time.Sleep(2 * time.Minute)
			if err := promise(of("late"), 5, freeEvidence); err != nil {
				t.Errorf("after the time of the others: %v", err)
			}
			if err := promise(l, 5, freeEvidence); err != nil || l.way.bytes != freeEvidence {
				t.Errorf("after its time: %v, %d under way", err, l.way.bytes)
			}
		})
	}
	var l Ledger
	for i := range maxPromised {
		if err := l.Promise(proof.ID{byte(i), byte(i >> 8)}, 1, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Promise(proof.ID{1, 1, 1}, 1, time.Now().Add(time.Hour)); !errors.Is(err, ErrUnderWay) {
		t.Errorf("one part more: %v", err)
	}
}

// TestTrial: a party is on trial for its first parts and until it has standing. New names by the hundred thousand
// do not make the master forget a party that has some.
func TestTrial(t *testing.T) {
	all := New()
	of := func(name string) *Ledger { return all.Of(named(name, false)) }
	for i := range trialParts + 2 {
		if !of("new").OnTrial() {
			t.Errorf("part %d of a party without standing is not tried", i+1)
		}
	}
	of("proven").Stands(1)
	for i := range trialParts {
		if !of("proven").OnTrial() {
			t.Errorf("part %d is not tried", i+1)
		}
	}
	for i := range maxLedgers {
		of(fmt.Sprint(i))
	}
	if of("proven").OnTrial() {
		t.Error("a party with standing is on trial again")
	}
	if len(all.of) > maxLedgers {
		t.Errorf("%d parties are remembered", len(all.of))
	}
}
