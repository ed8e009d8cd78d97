package ledger

import (
	"errors"
	"fmt"
	"testing"

	"amazonsfarm/master/trust"
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
