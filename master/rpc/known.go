package rpc

import (
	"sync"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// knownCertificates remembers the claims of the certificates that were named last: facts usually
// follow their certificate at once. The oldest goes when there is no room.
type knownCertificates struct {
	mu     sync.Mutex
	limit  int
	claims map[tree.ID]claimed
	order  []tree.ID // oldest first
}

// claimed is what a certificate claims, and for whose facts.
type claimed struct {
	facts  uint32
	claims map[amazons.Key]tree.Outcome
}

func newKnownCertificates(limit int) *knownCertificates {
	return &knownCertificates{limit: limit, claims: map[tree.ID]claimed{}}
}

func (k *knownCertificates) get(id tree.ID) (claimed, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.claims[id]
	return c, ok
}

func (k *knownCertificates) put(id tree.ID, c claimed) {
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
