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
	known := c.Of(trust.Party{Name: "known", Credential: true})
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
	other := c.Of(trust.Party{Name: "gives back"})
	for range 20 { // what did not come is free again for all
		if err := other.Take(freeEvidence / 2); err != nil {
			t.Fatal(err)
		}
		other.Give(freeEvidence / 2)
	}
	taken := 0
	for i := range 1000 {
		if c.Of(trust.Party{Name: string(rune('a' + i))}).Take(freeEvidence/10) == nil {
			taken++
		}
	}
	if taken != 10 {
		t.Errorf("names without credentials delivered %d tenths of what is free", taken)
	}
	if c.Of(trust.Party{Name: "known"}) == known {
		t.Error("a name is taken for a credential")
	}
}

// TestPromise: a part that has an address counts until it is there or its time is over. One that was there before
// costs nothing, and a promise that cannot be widened stays.
func TestPromise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := New()
		l := all.Of(trust.Party{Name: "known", Credential: true})
		promise := func(id byte, bytes int64) error {
			return l.Promise(proof.ID{id}, bytes, time.Now().Add(time.Minute))
		}
		const half = freeEvidence / 2
		if err := errors.Join(promise(1, half), promise(1, 1), promise(1, half), promise(2, half)); err != nil {
			t.Fatal(err)
		}
		for id, bytes := range map[byte]int64{2: half + 1, 3: 1} {
			if err := promise(id, bytes); !errors.Is(err, ErrUnasked) || l.taken != freeEvidence {
				t.Errorf("%d bytes more: %v, %d taken", bytes, err, l.taken)
			}
		}
		l.Kept(proof.ID{1}, true)
		l.Kept(proof.ID{2}, false)
		l.Kept(proof.ID{9}, false)
		if l.taken != half {
			t.Errorf("%d bytes are taken by a part of %d", l.taken, half)
		}
		for i := range maxPromised {
			if err := l.Promise(proof.ID{5, byte(i), byte(i >> 8)}, 1, time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		if err := promise(4, 1); !errors.Is(err, ErrUnasked) {
			t.Errorf("one address more: %v", err)
		}
		time.Sleep(time.Minute + 1)
		if err := promise(4, half); err != nil || l.taken != freeEvidence {
			t.Errorf("once the others are over: %v, %d taken", err, l.taken)
		}
	})
}

// TestTrial: a party is on trial for its first parts and until it has standing. New names by the hundred thousand
// do not make the master forget a party that has some.
func TestTrial(t *testing.T) {
	all := New()
	of := func(name string) *Ledger { return all.Of(trust.Party{Name: name}) }
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
