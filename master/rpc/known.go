package rpc

import (
	"fmt"
	"sync"

	"amazonsfarm/master/loop"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// knownClaims remembers the claims of the certificates that were named last: facts usually
// follow their certificate at once. Any one goes when there is no room: its claims are read again
// where they are needed.
type knownClaims struct {
	mu     sync.Mutex
	limit  int
	claims map[proof.ID]claimed
}

// claimed is what a certificate claims, and of which pool.
type claimed struct {
	pool   uint32
	claims map[amazons.Key]eval.Verdict
}

func newKnownClaims(limit int) *knownClaims {
	return &knownClaims{limit: limit, claims: map[proof.ID]claimed{}}
}

func (k *knownClaims) get(id proof.ID) (claimed, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, ok := k.claims[id]
	return c, ok
}

func (k *knownClaims) put(id proof.ID, c claimed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// One that is there was taken back, and came again, perhaps with another outline.
	if _, again := k.claims[id]; !again && len(k.claims) >= k.limit {
		for other := range k.claims {
			delete(k.claims, other)
			break
		}
	}
	k.claims[id] = c
}

// claims returns what a stored certificate claims, for the pool of a campaign.
func (f *farmService) claims(c *loop.About, id proof.ID) (map[amazons.Key]eval.Verdict, error) {
	if known, ok := f.known.get(id); ok {
		if known.pool != c.Pool {
			return nil, loop.ErrOther
		}
		return known.claims, nil
	}
	claims, err := claimsOf(c, func() ([]proof.Citation, error) { return f.storedClaims(c, id) })
	if err != nil {
		return nil, err
	}
	f.known.put(id, claimed{c.Pool, claims})
	return claims, nil
}

// claimsOf returns the claims that read finds. It is an error if they are both verdicts of a position.
func claimsOf(c *loop.About, read func() ([]proof.Citation, error)) (map[amazons.Key]eval.Verdict, error) {
	roots, err := read()
	if err != nil {
		return nil, err
	}
	claims := make(map[amazons.Key]eval.Verdict, len(roots))
	for _, r := range roots {
		if known, ok := claims[r.Key]; ok && known != r.Claim {
			return nil, fmt.Errorf("it claims both verdicts of %s", c.Text(r.Key))
		}
		claims[r.Key] = r.Claim
	}
	return claims, nil
}
