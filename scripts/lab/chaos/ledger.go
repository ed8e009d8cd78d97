package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"amazonsfarm/master/store"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// ledger is the book of what the master has acknowledged, by its own words on their way to the workers.
type ledger struct {
	mu           sync.Mutex
	facts        map[about]eval.Verdict
	certificates map[proof.ID]upload
	nodes        map[granted]uint64 // of the result that was taken
	acks         atomic.Int64       // all of them
	wrong        error              // what must not be, once it has been
}

// about is a position of a campaign.
type about struct {
	campaign uint32
	key      amazons.Key
}

// upload is a certificate of a campaign.
type upload struct {
	campaign uint32
	size     uint64 // bytes
}

// granted is a lease of a campaign.
type granted struct {
	campaign     uint32
	epoch, lease uint64
}

func newLedger() *ledger {
	return &ledger{facts: map[about]eval.Verdict{}, certificates: map[proof.ID]upload{}, nodes: map[granted]uint64{}}
}

func (l *ledger) certificate(first *farmv1.UploadCertificateRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks.Add(1)
	l.certificates[proof.ID(first.GetSha256())] = upload{max(first.GetCampaign(), 1), first.GetSize()}
}

// acknowledged notes what an acknowledgement stands for. A message that is refused because of its
// lease has had its facts taken all the same.
func (l *ledger) acknowledged(m *farmv1.WorkRequest, ack *farmv1.Ack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acks.Add(1)
	if m == nil {
		l.wrong = fmt.Errorf("serial number %d was acknowledged and never sent", ack.GetSerial())
		return
	}
	for _, why := range strings.Split(ack.GetRefused(), "; ") {
		if why != "" && !strings.HasPrefix(why, "lease is ") && why != "the search ended before its budget" {
			return
		}
	}
	list, campaign := m.GetFacts().GetFacts(), max(m.GetFacts().GetCampaign(), m.GetResult().GetCampaign(), 1)
	if r := m.GetResult(); r != nil {
		list = r.GetFacts()
		if ack.GetRefused() == "" {
			l.nodes[granted{campaign, r.GetEpoch(), r.GetLease()}] = r.GetNodes()
		}
	}
	for _, f := range list {
		key, err := amazons.KeyFromBytes(f.GetKey())
		if err != nil {
			l.wrong = fmt.Errorf("a fact about no position was acknowledged: %w", err)
			return
		}
		outcome := eval.Won
		if f.GetVerdict() == farmv1.Verdict_VERDICT_LOST {
			outcome = eval.Lost
		}
		l.facts[about{campaign, key}] = outcome
	}
}

// size returns how many facts and certificates of a campaign have been acknowledged.
func (l *ledger) size(campaign uint32) (facts, certificates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for f := range l.facts {
		if f.campaign == campaign {
			facts++
		}
	}
	for _, c := range l.certificates {
		if c.campaign == campaign {
			certificates++
		}
	}
	return facts, certificates
}

// audit holds a store that no process has open against the book: it checks out, and whatever was
// acknowledged is in it.
func (l *ledger) audit(file string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong != nil {
		return l.wrong
	}
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		if len(l.facts)+len(l.certificates)+len(l.nodes) == 0 &&
			strings.Contains(err.Error(), store.ErrMissing.Error()) {
			return nil // it was not made yet
		}
		return err
	}
	defer s.Close()
	if err := s.Check(); err != nil {
		return err
	}
	campaigns := s.Campaigns()
	facts := make([]map[amazons.Key]eval.Verdict, len(campaigns))
	for i, c := range campaigns {
		snap, err := s.Snapshot(c.Number)
		if err != nil {
			return err
		}
		facts[i] = make(map[amazons.Key]eval.Verdict, len(snap.Facts))
		for _, f := range snap.Facts {
			facts[i][f.Key] = f.Verdict
		}
	}
	for f, outcome := range l.facts {
		if int(f.campaign) > len(campaigns) {
			return fmt.Errorf("a fact of campaign %d was acknowledged, and the store has %d campaigns", f.campaign,
				len(campaigns))
		}
		switch kept := facts[f.campaign-1][f.key]; kept {
		case outcome:
		case eval.Open:
			return fmt.Errorf("a fact was acknowledged and is not in the store: %x is %v", f.key.Bytes(), outcome)
		default:
			return fmt.Errorf("%x was acknowledged as %v and is in the store as %v", f.key.Bytes(), outcome, kept)
		}
	}
	have := map[proof.ID]upload{}
	for _, c := range campaigns {
		parts, err := s.Parts(c.Number)
		if err != nil {
			return err
		}
		for _, p := range parts {
			_, size, err := s.OpenCertificate(p.ID)
			if err != nil {
				return err
			}
			have[p.ID] = upload{c.Pool, uint64(size)}
		}
	}
	for id, u := range l.certificates {
		if have[id] != u {
			return fmt.Errorf("certificate %v of %d bytes for campaign %d was acknowledged; the store has %d bytes "+
				"of it for campaign %d", id, u.size, u.campaign, have[id].size, have[id].campaign)
		}
	}
	stats, err := s.Stats()
	if err != nil {
		return err
	}
	nodes := make([]uint64, len(campaigns)+1)
	for lease, n := range l.nodes {
		nodes[min(int(lease.campaign)-1, len(campaigns))] += n
	}
	for i, n := range nodes {
		spent := uint64(0)
		if i < len(campaigns) {
			spent = stats.Campaigns[i].Nodes
		}
		if spent < n {
			return fmt.Errorf("results with %d nodes of campaign %d were acknowledged, and the store has counted %d", n,
				i+1, spent)
		}
	}
	return nil
}
