package farm

import (
	"errors"
	"fmt"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// shelf is the proof store with the types and errors of the services.
type shelf struct{ *store.Store }

// Commit writes the effects of several steps, and hints, in one transaction.
func (h shelf) Commit(effects []tree.Persist, memories []rpc.Memory) error {
	list := make([]hints.Hint, len(memories))
	for i, m := range memories {
		list[i] = hints.Hint{Place: hints.Place{Campaign: m.Campaign, Key: m.Key}, Data: m.Data}
	}
	return passing(h.Store.Commit(effects, list))
}

// Memory returns the hint for a position.
func (h shelf) Memory(campaign uint32, key amazons.Key) ([]byte, error) {
	return h.Store.Hint(campaign, key)
}

// passing marks errors that pass once there is room.
func passing(err error) error {
	if errors.Is(err, store.ErrNoRoom) {
		return rpc.NoRoom(err)
	}
	return err
}

func partyOf(p rpc.Party) trust.Party { return trust.Party{Name: p.Name, Credential: p.Certificate} }

// Quarantines returns all quarantines.
func (h shelf) Quarantines() ([]rpc.Quarantine, error) {
	list, err := h.Store.Quarantines()
	out := make([]rpc.Quarantine, len(list))
	for i, q := range list {
		out[i] = rpc.Quarantine{Party: rpc.Party{Name: q.Name, Certificate: q.Credential}, Since: q.Since,
			Offences: q.Offences, Offence: q.Offence, Why: q.Why, Worker: q.Worker, Address: q.Address}
	}
	return out, err
}

// Quarantine keeps a quarantine.
func (h shelf) Quarantine(q rpc.Quarantine) error {
	return passing(h.Store.Quarantine(trust.Quarantine{Party: partyOf(q.Party), Since: q.Since,
		Offences: q.Offences, Offence: q.Offence, Why: q.Why, Worker: q.Worker, Address: q.Address}))
}

// Release forgets a quarantine.
func (h shelf) Release(p rpc.Party) error { return passing(h.Store.Release(partyOf(p))) }

// Standings returns all standings.
func (h shelf) Standings() ([]rpc.Standing, error) {
	list, err := h.Store.Standings()
	out := make([]rpc.Standing, len(list))
	for i, st := range list {
		out[i] = rpc.Standing{Party: rpc.Party{Name: st.Name, Certificate: st.Credential}, Confirmed: st.Confirmed,
			Solved: st.Solved, Doubts: st.Contradicted, Doubted: st.Forgiven, Offences: st.Offences, Seen: st.Seen}
	}
	return out, err
}

// SetStandings keeps standings.
func (h shelf) SetStandings(list []rpc.Standing) error {
	in := make([]trust.Standing, len(list))
	for i, st := range list {
		in[i] = trust.Standing{Party: partyOf(st.Party), Confirmed: st.Confirmed, Solved: st.Solved,
			Contradicted: st.Doubts, Forgiven: st.Doubted, Offences: st.Offences, Seen: st.Seen}
	}
	return passing(h.Store.SetStandings(in))
}

// Room returns nil if there is room for more bytes.
func (h shelf) Room(more int64) error { return passing(h.Store.Room(more)) }

// PutCertificate keeps a certificate durably.
func (h shelf) PutCertificate(campaign uint32, id proof.ID, data []byte) (known bool, err error) {
	known, err = h.Store.PutCertificate(campaign, id, data)
	return known, passing(err)
}

// HasCertificate reports whether a certificate for the facts of a campaign is there, whole.
func (h shelf) HasCertificate(campaign uint32, id proof.ID) bool {
	return h.Store.HasCertificate(campaign, id)
}

// Certificate returns the bytes of a certificate for the facts of a campaign.
func (h shelf) Certificate(campaign uint32, id proof.ID) ([]byte, error) {
	data, err := h.Store.Certificate(campaign, id)
	if errors.Is(err, store.ErrNoCertificate) {
		return nil, fmt.Errorf("%w: %w", rpc.ErrNoCertificate, err)
	}
	return data, err
}
