package farm

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/proof"
)

// shelf is the proof store as the services need it. It remembers which certificates there are.
type shelf struct {
	*store.Store

	mu    sync.Mutex
	have  map[proof.ID]uint32   // for whose facts
	order map[uint32][]proof.ID // as they came
	bytes int64
}

func newShelf(s *store.Store) (*shelf, error) {
	list, err := s.Certificates()
	if err != nil {
		return nil, err
	}
	h := &shelf{Store: s, have: make(map[proof.ID]uint32, len(list)), order: map[uint32][]proof.ID{}}
	for _, c := range list {
		h.note(c.ID, c.Facts, c.Size)
	}
	return h, nil
}

func (h *shelf) note(id proof.ID, facts uint32, size int64) {
	if _, ok := h.have[id]; !ok {
		h.have[id] = facts
		h.order[facts] = append(h.order[facts], id)
		h.bytes += size
	}
}

// Commit writes the effects of several steps, and memories, in one transaction.
func (h *shelf) Commit(effects []tree.Persist, memories []rpc.Memory) error {
	var batches []store.Batch
	of := func(campaign uint32) *store.Batch {
		for i := range batches {
			if batches[i].Campaign == campaign {
				return &batches[i]
			}
		}
		batches = append(batches, store.Batch{Campaign: campaign})
		return &batches[len(batches)-1]
	}
	for _, p := range effects {
		of(p.Campaign).Add(p)
	}
	for _, m := range memories {
		b := of(m.Campaign)
		b.Memories = append(b.Memories, store.Memory{Key: m.Key, Data: m.Data})
	}
	return passing(h.Store.Commit(batches...))
}

// passing marks errors for want of room, but not those after which the store takes no writes any more.
func passing(err error) error {
	if errors.Is(err, store.ErrNoSpace) && !errors.Is(err, store.ErrFailed) {
		return rpc.NoRoom(err)
	}
	return err
}

// Quarantines returns who is quarantined.
func (h *shelf) Quarantines() ([]rpc.Quarantine, error) {
	list, err := h.Store.Quarantines()
	out := make([]rpc.Quarantine, len(list))
	for i, q := range list {
		out[i] = rpc.Quarantine{Party: rpc.Party{Name: q.Name, Certificate: q.Certificate}, Since: q.Since,
			Offences: q.Offences, Offence: q.Offence,
			Why: q.Why, Worker: q.Worker, Address: q.Address}
	}
	return out, err
}

// Quarantine keeps that a party is quarantined.
func (h *shelf) Quarantine(q rpc.Quarantine) error {
	return passing(h.Store.Quarantine(store.Quarantine{Name: q.Name, Certificate: q.Certificate, Since: q.Since,
		Offences: q.Offences, Offence: q.Offence,
		Why: q.Why, Worker: q.Worker, Address: q.Address}))
}

// Release forgets it.
func (h *shelf) Release(p rpc.Party) error { return passing(h.Store.Release(p.Name, p.Certificate)) }

// Standings returns what is known of parties.
func (h *shelf) Standings() ([]rpc.Standing, error) {
	list, err := h.Store.Standings()
	out := make([]rpc.Standing, len(list))
	for i, st := range list {
		out[i] = rpc.Standing{Party: rpc.Party{Name: st.Name, Certificate: st.Certificate},
			Confirmed: int(st.Confirmed), Solved: int(st.Solved),
			Doubts: int(st.Doubts), Doubted: st.Doubted, Offences: int(st.Offences), Seen: st.Seen}
	}
	return out, err
}

// SetStandings keeps them.
func (h *shelf) SetStandings(list []rpc.Standing) error {
	count := func(n int) uint32 { return uint32(min(max(n, 0), math.MaxUint32)) }
	in := make([]store.Standing, len(list))
	for i, st := range list {
		in[i] = store.Standing{Name: st.Name, Certificate: st.Certificate, Confirmed: count(st.Confirmed),
			Solved: count(st.Solved),
			Doubts: count(st.Doubts), Doubted: st.Doubted, Offences: count(st.Offences), Seen: st.Seen}
	}
	return passing(h.Store.SetStandings(in))
}

// Room returns nil if there is room for more bytes.
func (h *shelf) Room(more int64) error { return passing(h.Store.Room(more)) }

// PutCertificate keeps a certificate of a campaign durably.
func (h *shelf) PutCertificate(campaign uint32, id proof.ID, data []byte) (known bool, err error) {
	u, err := h.BeginCertificateOf(campaign, id, int64(len(data)))
	if err != nil {
		return false, passing(err)
	}
	if u.Known() {
		return true, u.Close()
	}
	if _, err := u.Write(data); err != nil {
		return false, passing(err)
	}
	if err := u.Close(); err != nil {
		return false, passing(err)
	}
	facts := h.FactsOf(campaign)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(id, facts, int64(len(data)))
	return false, nil
}

// Certificate returns the bytes of a certificate for the facts of a campaign.
func (h *shelf) Certificate(campaign uint32, id proof.ID) ([]byte, error) {
	if !h.HasCertificate(campaign, id) {
		return nil, fmt.Errorf("%w: %v", rpc.ErrNoCertificate, id)
	}
	r, size, err := h.Store.Certificate(id)
	if errors.Is(err, store.ErrNoCertificate) {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNoCertificate, err)
	} else if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	if n, err := r.ReadAt(data, 0); int64(n) != size {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return data, nil
}

// HasCertificate reports whether a certificate for the facts of a campaign is there, whole.
func (h *shelf) HasCertificate(campaign uint32, id proof.ID) bool {
	facts := h.FactsOf(campaign)
	h.mu.Lock()
	defer h.mu.Unlock()
	of, ok := h.have[id]
	return ok && of == facts
}

// Certificates returns how many certificates there are, and their bytes.
func (h *shelf) Certificates() (int, int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.have), h.bytes
}

// list returns the certificates for some facts in the order in which they came. The slice is not to
// be changed.
func (h *shelf) list(facts uint32) []proof.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	order := h.order[facts]
	return order[:len(order):len(order)]
}
