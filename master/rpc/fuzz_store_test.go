package rpc

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/reach"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// rigCampaigns is how many campaigns a rig's store takes.
const rigCampaigns = 4

// rigStore is a store of several campaigns that survives its masters.
type rigStore struct {
	*memory // what belongs to the first campaign, and to all: room, quarantines

	adding sync.Mutex // of list, and of what changes of the campaigns in it; taken after that of a memory
	list   []*stored
}

// stored is a campaign in a rig's store.
type stored struct {
	loop.Campaign         // without a tree
	own           *memory // nodes and counters; facts, certificates and hints too where they are its own
	settled       bool
}

var _ interface {
	loop.Store
	loop.Campaigns
} = (*rigStore)(nil)

// newRigStore makes a store with one campaign.
func newRigStore(root amazons.Position, first []amazons.Move) *rigStore {
	s := &rigStore{memory: newMemory()}
	s.list = []*stored{{Campaign: loop.Campaign{Settings: loop.Settings{Share: 100}, About: loop.About{Number: 1,
		Name: root.Board.String(), Root: root, FirstMoves: first, Pool: 1}}, own: s.memory}}
	return s
}

// numbered returns a campaign, the first for 0.
func (s *rigStore) numbered(n uint32) *stored { return s.all()[max(n, 1)-1] }

func (s *rigStore) all() []*stored {
	s.adding.Lock()
	defer s.adding.Unlock()
	return s.list
}

// factsOf returns where the facts of a campaign are.
func (s *rigStore) factsOf(n uint32) *memory { return s.numbered(s.numbered(n).Pool).own }

func (s *rigStore) Commit(effects []tree.Persist, list []hints.Hint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.fail, s.room); err != nil {
		return err
	}
	for _, p := range effects {
		for _, f := range p.Facts {
			if old, ok := s.factsOf(p.Campaign).fact(f.Key); ok && old.Verdict != f.Verdict {
				return fmt.Errorf("%w: %+v and %+v", errContradicted, old, f)
			}
		}
	}
	for _, m := range list {
		s.factsOf(m.Campaign).hints[m.Key] = m.Data
	}
	for _, p := range effects {
		own, shared := s.numbered(p.Campaign).own, s.factsOf(p.Campaign)
		for _, n := range p.Nodes {
			own.nodes[n.Key] = n
		}
		for _, f := range p.Facts {
			if _, ok := shared.fact(f.Key); !ok {
				shared.facts = append(shared.facts, f)
			}
		}
		own.spent, own.epoch = max(own.spent, p.Spent), max(own.epoch, p.Epoch)
		if p.Contradiction != nil {
			own.contra = p.Contradiction
		}
	}
	return nil
}

// errContradicted says that a master has tried to write a fact that excludes one in the store.
var errContradicted = errors.New("it contradicts the store")

func (s *memory) fact(k amazons.Key) (proof.Fact, bool) {
	i := slices.IndexFunc(s.facts, func(f proof.Fact) bool { return f.Key == k })
	if i < 0 {
		return proof.Fact{}, false
	}
	return s.facts[i], true
}

func (s *rigStore) Hint(n uint32, k amazons.Key) ([]byte, error) { return s.factsOf(n).Hint(n, k) }

func (s *rigStore) PutCertificate(n uint32, id [32]byte, data []byte) (bool, error) {
	if err := s.Room(0); err != nil {
		return false, err
	}
	return s.factsOf(n).PutCertificate(n, id, data)
}

func (s *rigStore) SetVerified(ids []proof.ID, by string) error {
	for _, c := range s.all() {
		if err := c.own.SetVerified(nil, by); err != nil {
			return err
		}
	}
	return nil
}

func (s *rigStore) Retract(ids []proof.ID) (facts map[uint32][]amazons.Key, err error) {
	facts = map[uint32][]amazons.Key{}
	for i, c := range s.all() {
		own, err := c.own.Retract(ids)
		if err != nil {
			return nil, err
		}
		facts[uint32(i+1)] = own[1]
	}
	return facts, nil
}

func (s *rigStore) CertificateFor(n uint32, id [32]byte) (io.ReaderAt, int64, error) {
	return s.factsOf(n).CertificateFor(n, id)
}

func (s *rigStore) Certificate(n uint32, id [32]byte) ([]byte, error) {
	return s.factsOf(n).Certificate(n, id)
}

func (s *rigStore) Holds(n uint32, id [32]byte) bool { return s.factsOf(n).Holds(n, id) }

func (s *rigStore) HasCertificate(n uint32, id [32]byte) bool {
	return s.factsOf(n).HasCertificate(n, id)
}

func (s *rigStore) Certificates() (count int, bytes int64) {
	for _, c := range s.all() {
		n, size := c.own.Certificates()
		count, bytes = count+n, bytes+size
	}
	return count, bytes
}

// snapshotOf returns what the tree of a campaign starts from: of facts that it shares, those that
// can come after its root.
func (s *rigStore) snapshotOf(n uint32) tree.Snapshot {
	c := s.numbered(n)
	snap := c.own.snapshot()
	snap.Facts = s.factsOf(n).snapshot().Facts
	if s.shares(c) {
		below := reach.Below(c.Root.Board, c.Root.State().CanonicalKey(c.Root.Board))
		snap.Facts = slices.DeleteFunc(snap.Facts, func(f proof.Fact) bool { return !below.Has(f.Key) })
	}
	return snap
}

// shares reports whether another campaign has the same facts.
func (s *rigStore) shares(c *stored) bool {
	return slices.ContainsFunc(s.all(), func(o *stored) bool { return o != c && o.Pool == c.Pool })
}

// settingsError is what the real store says of settings.
func settingsError(s loop.Settings) error {
	if s.Share < 1 || s.Share > 1_000_000 || s.Priority < -1_000_000 || s.Priority > 1_000_000 {
		return fmt.Errorf("%w: %+v", store.ErrCampaign, s)
	}
	return nil
}

func (s *rigStore) Add(asked loop.Asked) (loop.Campaign, error) {
	if err := s.Room(0); err != nil {
		return loop.Campaign{}, err
	}
	c := loop.Campaign{Settings: loop.Settings{Priority: asked.Priority, Share: asked.Share}, About: loop.About{
		Number: uint32(len(s.all()) + 1), Name: asked.Name, Root: asked.Root, FirstMoves: asked.FirstMoves,
		RulesOnly: asked.RulesOnly}}
	if c.Share == 0 {
		c.Share = 100
	}
	c.Pool = c.Number
	if c.Name == "" {
		c.Name = fmt.Sprintf("%v-%d", c.Root.Board, c.Number)
	}
	if err := settingsError(c.Settings); err != nil {
		return loop.Campaign{}, err
	}
	if c.Name[0] == '.' {
		return loop.Campaign{}, fmt.Errorf("%w: the name %s", store.ErrCampaign, c.Name)
	}
	s.adding.Lock()
	defer s.adding.Unlock()
	if len(s.list) >= rigCampaigns {
		return loop.Campaign{}, store.ErrTooLarge
	}
	for _, o := range s.list {
		if o.Name == c.Name || o.Root == c.Root && slices.Equal(o.FirstMoves, c.FirstMoves) &&
			o.RulesOnly == c.RulesOnly {
			return loop.Campaign{}, store.ErrTaken
		}
		if c.Pool == c.Number && o.Root.Board == c.Root.Board && o.RulesOnly == c.RulesOnly {
			c.Pool = o.Pool
		}
	}
	n := &stored{Campaign: c, own: newMemory()}
	s.list = append(s.list, n)
	return s.describe(n), nil
}

func (s *rigStore) Grow(number uint32) (loop.Campaign, error) {
	c := s.describe(s.numbered(number))
	var err error
	c.Tree, err = tree.New(rigTree(c.Root, c.FirstMoves), s.snapshotOf(c.Number))
	return c, err
}

func (s *rigStore) Change(n uint32, change store.Change) (loop.Settings, error) {
	if err := s.Room(0); err != nil {
		return loop.Settings{}, err
	}
	c := s.numbered(n)
	s.adding.Lock()
	defer s.adding.Unlock()
	if c.settled && change.End {
		return loop.Settings{}, fmt.Errorf("%w: campaign %s is settled", store.ErrCampaign, c.Name)
	}
	next := c.Settings
	if change.Priority != nil {
		next.Priority = *change.Priority
	}
	if change.Share != nil {
		next.Share = *change.Share
	}
	if change.Paused != nil {
		next.Paused = *change.Paused
	}
	next.Ended = next.Ended || change.End
	if err := settingsError(next); err != nil {
		return loop.Settings{}, err
	}
	c.Settings = next
	return next, nil
}
