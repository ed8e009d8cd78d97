package main

import (
	"fmt"
	"strings"
	"sync"

	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// ledger is the book of what the master has acknowledged, by its own words on their way to the workers.
type ledger struct {
	mu           sync.Mutex
	facts        map[amazons.Key]tree.Outcome
	certificates map[tree.ID]uint64   // sizes in bytes
	nodes        map[[2]uint64]uint64 // by epoch and lease: of the result that was taken
	acks         int                  // all of them
	wrong        error                // what must not be, once it has been
}

func newLedger() *ledger {
	return &ledger{facts: map[amazons.Key]tree.Outcome{}, certificates: map[tree.ID]uint64{}, nodes: map[[2]uint64]uint64{}}
}

func (l *ledger) certificate(first *farmv1.UploadCertificateRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks++
	l.certificates[tree.ID(first.GetSha256())] = first.GetSize()
}

// acknowledged notes what an acknowledgement stands for. A message that is refused because of its lease has had its facts taken all the same.
func (l *ledger) acknowledged(m *farmv1.WorkRequest, ack *farmv1.Ack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks++
	if m == nil {
		l.wrong = fmt.Errorf("serial number %d was acknowledged and never sent", ack.GetSerial())
		return
	}
	for _, why := range strings.Split(ack.GetRefused(), "; ") {
		if why != "" && !strings.HasPrefix(why, "lease is ") && why != "the search ended before its budget" {
			return
		}
	}
	list := m.GetFacts().GetFacts()
	if r := m.GetResult(); r != nil {
		list = r.GetFacts()
		if ack.GetRefused() == "" {
			l.nodes[[2]uint64{r.GetEpoch(), r.GetLease()}] = r.GetNodes()
		}
	}
	for _, f := range list {
		key, err := amazons.KeyFromBytes(f.GetKey())
		if err != nil {
			l.wrong = fmt.Errorf("a fact about no position was acknowledged: %w", err)
			return
		}
		outcome := tree.Won
		if f.GetOutcome() == farmv1.Outcome_OUTCOME_LOST {
			outcome = tree.Lost
		}
		l.facts[key] = outcome
	}
}

// parcels returns how many acknowledgements there were.
func (l *ledger) parcels() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acks
}

// size returns how many facts and certificates have been acknowledged.
func (l *ledger) size() (facts, certificates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.facts), len(l.certificates)
}

// audit holds a store that no process has open against the book: it checks out, and whatever was acknowledged is in it.
func (l *ledger) audit(file string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong != nil {
		return l.wrong
	}
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		if len(l.facts)+len(l.certificates)+len(l.nodes) == 0 && strings.Contains(err.Error(), store.ErrMissing.Error()) {
			return nil // it was not made yet
		}
		return err
	}
	defer s.Close()
	if err := s.Check(); err != nil {
		return err
	}
	for key, outcome := range l.facts {
		switch f, ok, err := s.Fact(key); {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("a fact was acknowledged and is not in the store: %x is %v", key.Bytes(), outcome)
		case f.Outcome != outcome:
			return fmt.Errorf("%x was acknowledged as %v and is in the store as %v", key.Bytes(), outcome, f.Outcome)
		}
	}
	have := map[tree.ID]uint64{}
	list, err := s.Certificates()
	if err != nil {
		return err
	}
	for _, c := range list {
		have[c.ID] = uint64(c.Size)
	}
	for id, size := range l.certificates {
		if have[id] != size {
			return fmt.Errorf("certificate %v of %d bytes was acknowledged; the store has %d bytes of it", id, size, have[id])
		}
	}
	stats, err := s.Stats()
	if err != nil {
		return err
	}
	var nodes uint64
	for _, n := range l.nodes {
		nodes += n
	}
	if stats.Spent < nodes {
		return fmt.Errorf("results with %d nodes were acknowledged, and the store has counted %d", nodes, stats.Spent)
	}
	return nil
}
