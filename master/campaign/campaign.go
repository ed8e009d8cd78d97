package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/reach"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// campaign is one campaign of the store, with what is done when it is settled.
// It lives as long as the farm, also while its tree is taken away and grown anew. In a farm the fields
// up to known do not change any more.
type campaign struct {
	farm       *Farm
	about      store.Campaign
	root       amazons.Position
	firstMoves []amazons.Move
	proofFile  string
	known      *store.Result // stored before
	ended      bool          // by an operator; guarded by Farm.mu

	began time.Time // when the program started, or the campaign was added
	found uint64    // with workers of this process: number of the last part that was there when it began

	// The findings of the conclusion; read after Loop.Run has returned.
	settled    *tree.Settled
	took       time.Duration // from began to the answer; 0: there is none yet
	evidence   loop.Evidence
	searched   time.Duration
	checked    time.Duration
	winning    []string
	file       store.CertificateFile
	verified   bool
	verifiedBy string // workers, where it was theirs that checked all parts
}

// aboutOf describes a campaign that is asked for as the store does.
func aboutOf(a loop.Asked, build string) store.Campaign {
	return store.Campaign{Name: a.Name, Board: a.Root.Board.String(), Root: a.Root.String(),
		FirstMoves: farmv1.WriteMoves(a.FirstMoves), RulesOnly: a.RulesOnly, Build: build, Created: time.Now().UTC(),
		Priority: a.Priority, Share: a.Share}
}

// question returns the root and first moves of a stored campaign. Errors wrap ErrVerification.
func question(c store.Campaign) (root amazons.Position, moves []amazons.Move, err error) {
	if root, err = amazons.ParsePosition(c.Root); err != nil {
		return root, nil, fmt.Errorf("%w: root of the campaign: %w", ErrVerification, err)
	}
	if moves, err = root.ParseMoves(c.FirstMoves); err != nil {
		return root, nil, fmt.Errorf("%w: first move of the campaign: %w", ErrVerification, err)
	}
	return root, moves, nil
}

// snapshot returns what the store holds for the tree of a campaign: of the facts that it shares,
// those that can come after its root.
func snapshot(s *store.Store, about store.Campaign, root amazons.Position) (tree.Snapshot, error) {
	snap, err := s.Snapshot(about.Number)
	if err != nil {
		return snap, err
	}
	// A snapshot has the facts of the whole pool, and those of another root may be of no use here: they
	// would only take room in the tree. A campaign that is alone in its pool is spared the filter, which
	// looks at each fact.
	shares := func(o store.Campaign) bool { return o.Pool == about.Pool && o.Number != about.Number }
	if slices.ContainsFunc(s.Campaigns(), shares) {
		below := reach.Below(root.Board, root.State().CanonicalKey(root.Board))
		snap.Facts = slices.DeleteFunc(snap.Facts, func(f proof.Fact) bool { return !below.Has(f.Key) })
	}
	return snap, nil
}

// add takes a campaign of the store among those of the farm.
func (f *Farm) add(about store.Campaign) (*campaign, error) {
	c := &campaign{farm: f, about: about, proofFile: f.options.ProofFile, ended: about.Ended, began: f.began}
	var err error
	if c.root, c.firstMoves, err = question(about); err != nil {
		return nil, err
	}
	// Options.ProofFile names one file, so it is for the first campaign. The file of another campaign is
	// named after it.
	if about.Number > 1 {
		c.proofFile = ProofFileOf(f.options.StoreFile, about)
	}
	if r, ok, err := f.store.Result(about.Number); err != nil {
		return nil, err
	} else if ok {
		c.known = &r
	}
	if f.options.Embedded {
		parts, err := f.store.Parts(about.Number)
		if err != nil {
			return nil, err
		}
		if len(parts) > 0 {
			c.found = parts[len(parts)-1].Number
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.campaigns = append(f.campaigns, c)
	return c, nil
}

// grow makes the tree of a campaign.
// It reads the store each time: after facts were taken back the loop calls it again, and the new tree
// lacks them.
func (f *Farm) grow(c *campaign) (loop.Campaign, error) {
	snap, err := snapshot(f.store, c.about, c.root)
	if err != nil {
		return loop.Campaign{}, err
	}
	// An epoch that no other store, and no restored backup, comes to: a worker may bring the leases of those, and
	// is not to blame. The lower bits count the starts.
	snap.Epoch += uint64(rand.Uint32N(1<<24)) << 16
	growth := f.options.tree()
	growth.Root, growth.FirstMoves = c.root, c.firstMoves
	t, err := tree.New(growth, snap)
	if err != nil {
		return loop.Campaign{}, err
	}
	out := c.describe()
	out.Tree = t
	return out, nil
}

// describe returns the campaign as the services see it, without its tree.
func (c *campaign) describe() loop.Campaign {
	out := loop.Campaign{Settings: settingsOf(c.about), About: loop.About{
		Number: c.about.Number, Name: c.about.Name, Root: c.root, FirstMoves: c.firstMoves,
		RulesOnly: c.about.RulesOnly, Pool: c.about.Pool, ReadRoots: c.readRoots, ReadOutline: c.readOutline,
		Conclude: c.concludeOrWait, Recheck: c.recheck, Suspects: c.suspects, Resting: c.resting,
		Look: newLibrary(c.root.Board, c.about, c.farm.store).Look,
	}}
	// Parts of workers in this process are not checked one by one: a false one stops the campaign. A store that was
	// made of an archive, or that a serving master has filled, has parts of others.
	if out.Embedded = c.farm.options.Embedded; out.Embedded {
		out.Recheck = func(ctx context.Context, id proof.ID) error { return c.owned(c.recheck(ctx, id), id) }
		out.Conclude = c.concludeOwn
	} else if c.farm.options.Tree.CheckFirst > 0 {
		out.Try = c.try
	}
	return out
}

// concludeOwn is concludeOrWait where workers are of this process.
func (c *campaign) concludeOwn(ctx context.Context, e loop.Evidence,
	report func(state, why string, p loop.Phase)) (loop.Conclusion, error) {
	conclusion, err := c.concludeOrWait(ctx, e, report)
	if wrong, ok := errors.AsType[*checks.FalsePartsError](err); ok {
		err = c.owned(err, wrong.IDs...)
	}
	return conclusion, err
}

// owned adds loop.ErrOwn to an error about false parts if one of them has come since this process began. Lost parts are
// nobody's fault.
func (c *campaign) owned(err error, ids ...proof.ID) error {
	if err == nil || errors.Is(err, loop.ErrLost) {
		return err
	}
	list, listErr := c.farm.store.Parts(c.about.Number)
	if listErr == nil && !slices.ContainsFunc(list, func(p store.PartRecord) bool {
		return p.Number > c.found && slices.Contains(ids, p.ID)
	}) {
		return err
	}
	return errors.Join(fmt.Errorf("%w: %w", loop.ErrOwn, err), listErr)
}

func settingsOf(c store.Campaign) loop.Settings {
	return loop.Settings{Priority: c.Priority, Share: c.Share, Paused: c.Paused, Ended: c.Ended}
}

// keeper lets operators add and change campaigns.
// The loop calls its methods from goroutines that may wait for the disk, several at a time, so what they
// change lies behind Farm.mu or in the store.
type keeper struct{ farm *Farm }

// Add makes a campaign durable.
// The store comes first: if this process ends right after, the next start finds the campaign there and
// begins it.
func (k keeper) Add(asked loop.Asked) (loop.Campaign, error) {
	about, all := aboutOf(asked, k.farm.options.Services.Build), k.farm.store.Campaigns()
	about.Name = cmp.Or(about.Name, store.FreeName(all, about.Board))
	known := func(o store.Campaign) bool { return o.Name == about.Name || o.Same(about) == nil }
	// The store itself refuses a malformed campaign, a taken name and a question that it has.
	if _, err := about.Check(); err == nil && !slices.ContainsFunc(all, known) {
		place := ProofFileOf(k.farm.options.StoreFile, about)
		if err := mayReplace(place, asked.Root, asked.FirstMoves, false); err != nil {
			return loop.Campaign{}, cli.Usagef("%w, or give the campaign another name", err)
		}
	}
	about, err := k.farm.store.AddCampaign(about)
	if err != nil {
		return loop.Campaign{}, err
	}
	c, err := k.farm.add(about)
	if err != nil {
		return loop.Campaign{}, err
	}
	c.began = time.Now()
	return c.describe(), nil
}

// Grow returns the campaign of a number with its tree.
func (k keeper) Grow(number uint32) (loop.Campaign, error) {
	return k.farm.grow(k.farm.numbered(number))
}

// Change makes a change durable. A settled campaign takes none.
func (k keeper) Change(number uint32, change store.Change) (loop.Settings, error) {
	c := k.farm.numbered(number)
	if _, settled, err := k.farm.store.Result(number); err != nil {
		return loop.Settings{}, err
	} else if settled {
		return loop.Settings{}, fmt.Errorf("%w: campaign %s is settled", store.ErrCampaign, c.about.Name)
	}
	about, err := k.farm.store.ChangeCampaign(number, change)
	if err != nil {
		return loop.Settings{}, err
	}
	k.farm.mu.Lock()
	c.ended = about.Ended
	k.farm.mu.Unlock()
	return settingsOf(about), nil
}

// numbered returns the campaign of a number. There is one: the loop only asks about campaigns that it got from here.
func (f *Farm) numbered(number uint32) *campaign {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.campaigns, func(c *campaign) bool { return c.about.Number == number })
	return f.campaigns[i]
}
