package rpc

import (
	"sync"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// knownCertificates remembers the claims of the certificates that were named last: facts usually
// follow their certificate at once. The oldest goes when there is no room.
type knownCertificates struct {
	mu     sync.Mutex
	limit  int
	claims map[proof.ID]claimed
	order  []proof.ID // oldest first
}

// claimed is what a certificate claims, and for whose facts.
type claimed struct {
	facts  uint32
	claims map[amazons.Key]eval.Verdict
}

func newKnownCertificates(limit int) *knownCertificates {
	return &knownCertificates{limit: limit, claims: map[proof.ID]claimed{}}
}

func (k *knownCertificates) get(id proof.ID) (claimed, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.claims[id]
	return c, ok
}

func (k *knownCertificates) put(id proof.ID, c claimed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.claims[id]; ok {
		return
	}
	if len(k.order) >= k.limit {
		delete(k.claims, k.order[0])
		k.order = append(k.order[:0], k.order[1:]...)
	}
	k.claims[id] = c
	k.order = append(k.order, id)
}
