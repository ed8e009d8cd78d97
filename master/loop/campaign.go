package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/outlook"
	"amazonsfarm/master/recent"
	"amazonsfarm/master/schedule"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// About is a question that a master has the farm work on, and how its proofs are judged. It is not
// changed.
type About struct {
	Number     uint32 // in its store, from 1
	Name       string
	Root       amazons.Position
	FirstMoves []amazons.Move // when given, only these are tried
	RulesOnly  bool           // certificates may use leaf rule 1 alone
	// Pool names the campaigns with the same board and kind of proof, which use each other's facts
	// and certificates, by the number of the first of them.
	Pool uint32

	// ReadRoots reads a certificate of the pool and returns its claims, canonical.
	ReadRoots func(data []byte) ([]proof.Citation, error)
	// ReadOutline reads the outline of a certificate (proof.Outline) and returns its claims, canonical.
	ReadOutline func(outline []byte) ([]proof.Citation, error)
	// Try has the checker of this machine go over a part that is not in the store yet. Its error wraps ErrFalse
	// where the part does not hold. nil: no part is checked before it counts.
	Try func(ctx context.Context, data []byte) error
	// Recheck has the checker of this machine go over a part. Its error wraps ErrFalse where the part
	// does not hold. nil: no part is ever taken back but lost ones.
	Recheck func(ctx context.Context, id proof.ID) error
	// Embedded says that workers are of this process, so that no part is checked before the answer is.
	Embedded bool
	// Resting returns the given parts and all parts that rest on them: those that cite a position which no other
	// part proves, those that cite these, and so on.
	Resting func(ctx context.Context, ids []proof.ID) ([]proof.ID, error)
	// Suspects returns the parts of the pool that nobody has checked, those behind a contradiction first.
	Suspects func(tree.Contradiction) ([]proof.ID, error)
	// Conclude makes and checks the proof once the tree is settled. It may report StateAssembling and
	// StateVerifying. A checks.FalsePartsError has facts taken back; another error stops the campaign.
	Conclude func(ctx context.Context, e Evidence, report func(state, why string, p Phase)) (Conclusion, error)
	// Look says, if it is not nil, what the certificates of the store prove of a position where the
	// tree knows no more; it is called from several goroutines at the same time.
	Look explore.Look
}

// Text writes a key with the colours it has in this campaign.
func (a *About) Text(k amazons.Key) string {
	text, err := graph.TextOf(a.Root, k)
	if err != nil {
		return graph.NameOf(k)
	}
	return text
}

// Campaign is what a loop is told of a campaign: the question, its settings and its tree.
type Campaign struct {
	About
	Settings
	Tree *tree.Tree // put away once the campaign is over; see released.go
}

// Settings are what an operator changes of a campaign. They are kept in the store.
type Settings struct {
	Priority, Share int  // see package schedule
	Paused          bool // nothing is granted
	Ended           bool // for good: it was given up
}

// Asked is a campaign that an operator wants to have added.
type Asked struct {
	Name            string // empty: one is found
	Root            amazons.Position
	FirstMoves      []amazons.Move // sorted, each once
	RulesOnly       bool
	Priority, Share int // Share 0: standard
}

// Campaigns keeps the campaigns of a master. Methods may be called at the same time, from goroutines
// that may wait for the disk.
type Campaigns interface {
	// Add makes a campaign durable and returns it without its tree. Errors are the
	// store's.
	Add(Asked) (Campaign, error)
	// Grow returns the campaign of a number with the tree that it has by now.
	Grow(number uint32) (Campaign, error)
	// Change makes a change durable and returns the settings as they are then. Errors are the
	// store's.
	Change(number uint32, c store.Change) (Settings, error)
}

// campaign is a campaign and how far it is. All but About belongs to the loop.
type campaign struct {
	*About
	Settings
	Tree *tree.Tree // belongs to the scheduler; nil: it was put away

	settled    *tree.Settled
	generation int // of the tree: it may be made anew when facts are taken back
	conclusion *Conclusion
	state, why string          // when not running, paused, draining or ended
	phase      Phase           // of the conclusion
	outlook    outlook.Outlook // of the root
	outlookOf  string          // the worker that told it; empty: none has
	stopped    error           // why the campaign is stopped
	halted     bool            // its tree was told to pause
	learned    recent.Facts
	evidence   Evidence    // of the settled tree
	homeless   error       // why the certificate found no room; nil: it was not tried, or found some
	again      int         // ticks until it is put together again
	rest       tree.Status // of the tree when it was put away
	doubted    []proof.ID  // parts that do not hold, whose facts are to be taken back
	taking     bool        // facts are being taken back
	calm       time.Time   // before it no more facts are taken back

	counted counted
}

func newCampaign(c Campaign, metrics *Metrics) *campaign {
	metrics.Campaign(c.Name)
	return &campaign{About: &c.About, Settings: c.Settings, Tree: c.Tree, state: StateRunning}
}

// over reports whether nothing more comes of a campaign.
func (c *campaign) over() bool {
	return c.stopped != nil || c.conclusion != nil || c.Ended && c.settled == nil && c.leased() == 0
}

// campaigns returns all campaigns, by number. The slice is not to be changed.
func (l *Loop) campaigns() []*campaign { return *l.list.Load() }

// numbered returns the campaign of a number, nil if there is none. 0 in messages of the protocol, and
// of the scheduler, stands for the lowest number.
func (l *Loop) numbered(n uint32) *campaign {
	for _, c := range l.campaigns() {
		if c.Number == n || n == 0 {
			return c
		}
	}
	return nil
}

// Numbered returns the campaign of a number; 0 is the lowest one. Errors: ErrNoCampaign.
func (l *Loop) Numbered(n uint32) (*About, error) {
	if c := l.numbered(n); c != nil {
		return c.About, nil
	}
	return nil, tell(ErrNoCampaign, "there is no campaign %d", n)
}

// Campaigns returns all campaigns, by number.
func (l *Loop) Campaigns() []*About {
	var list []*About
	for _, c := range l.campaigns() {
		list = append(list, c.About)
	}
	return list
}

// someNames is how many campaigns are named to somebody who has asked for another one.
const someNames = 10

// Of returns the campaign of a name; an empty name is the campaign with the lowest number. Errors:
// ErrNoCampaign.
func (l *Loop) Of(name string) (*Handle, error) {
	var names []string
	for _, c := range l.campaigns() {
		if c.Name == name || name == "" {
			return &Handle{c.About, l, c}, nil
		}
		names = append(names, c.Name)
	}
	if len(names) > someNames {
		names = append(names[:someNames], "others")
	}
	return nil, tell(ErrNoCampaign, "there is no campaign %.80q, but %s", name, strings.Join(names, ", "))
}

// Handle is one campaign of a loop, for questions and changes.
type Handle struct {
	*About
	loop *Loop
	c    *campaign
}

// Change changes the settings of the campaign, durably, and returns what is known of it then: the loop may end with
// the change. Errors: ErrFixed, those of Campaigns.Change, ErrEnded, those of ctx.
func (h *Handle) Change(ctx context.Context, change store.Change) (v View, err error) {
	l := h.loop
	if l.cfg.Campaigns == nil {
		return v, ErrFixed
	}
	ctx, done, err := l.alone(ctx)
	if err != nil {
		return v, err
	}
	defer done()
	s, err := l.cfg.Campaigns.Change(h.Number, change)
	if err != nil {
		return v, err
	}
	reply := make(chan View, 1)
	return await(ctx, l, message{func() { l.change(h.c, s) }, func() { reply <- l.view(h.c) }}, reply)
}

// alone waits until no other change of campaigns is on its way, so that the loop gets them in the order
// of the store. The context that it returns does not end: once a change is in the store the loop has to
// know, whoever waits for that; so it does not end meanwhile because all campaigns are over. done lets the next one
// go on.
func (l *Loop) alone(ctx context.Context) (lasting context.Context, done func(), err error) {
	select {
	case l.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	lasting, done = context.WithoutCancel(ctx), func() { <-l.changing }
	if err := l.order(lasting, func() {}); err != nil { // it has ended
		done()
		return nil, nil, err
	}
	return lasting, done, nil
}

// Add adds a campaign and begins with it. Errors: ErrFixed, those of Campaigns, ErrEnded, those of ctx.
func (l *Loop) Add(ctx context.Context, asked Asked) (*Handle, error) {
	if l.cfg.Campaigns == nil {
		return nil, ErrFixed
	}
	ctx, done, err := l.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := l.cfg.Campaigns.Add(asked)
	if err != nil {
		return nil, err
	}
	// From now on the facts are gathered that its tree, which is read from the store, may lack.
	g := &gathering{pool: c.Pool}
	if err := l.order(ctx, func() {
		for _, p := range l.pending.persist {
			l.collect(g, p)
		}
		l.gatherings = append(l.gatherings, g)
	}); err != nil {
		return nil, err
	}
	name := c.Name
	c, err = l.cfg.Campaigns.Grow(c.Number)
	if err != nil {
		_ = l.order(ctx, func() { l.gathered(g) })
		return nil, fmt.Errorf("campaign %s is in the store and cannot be begun: %v", name, err)
	}
	n := newCampaign(c, l.cfg.Metrics)
	if err := l.order(ctx, func() { l.gathered(g); l.adopt(n, g) }); err != nil {
		return nil, err
	}
	return &Handle{n.About, l, n}, nil
}

// gathering collects the facts of the campaigns of one pool.
type gathering struct {
	pool  uint32
	list  []proof.Fact
	stale bool // facts were taken back meanwhile, which the new tree may have
}

// gathered ends the collecting.
func (l *Loop) gathered(g *gathering) {
	l.gatherings = slices.DeleteFunc(l.gatherings, func(o *gathering) bool { return o == g })
}

func (l *Loop) collect(g *gathering, p tree.Persist) {
	if c := l.numbered(p.Campaign); c != nil && c.Pool == g.pool {
		g.list = append(g.list, p.Facts...)
	}
}

// adopt takes in a campaign, with the facts that its tree lacks.
func (l *Loop) adopt(c *campaign, g *gathering) {
	list := append(slices.Clone(l.campaigns()), c)
	l.list.Store(&list)
	l.ended = false
	l.cfg.Log.Info("campaign added", "campaign", c.Name, "root", c.Root.String(), "priority", c.Priority, "share",
		c.Share)
	if g.stale {
		l.regrow(c)
	} else {
		l.begun(c)
	}
	l.stepOf(c.Number, tree.PoolFacts{Facts: g.list})
	if l.draining != nil {
		l.stepOf(c.Number, tree.Drain{})
	}
}

// begun puts a campaign under the scheduler.
func (l *Loop) begun(c *campaign) {
	c.halted = l.paused || l.full != nil || c.Paused
	l.take(nil, 0, l.plan.Add(schedule.Campaign{Number: c.Number, Tree: c.Tree, Pool: c.Pool, Priority: c.Priority,
		Share: max(c.Share, 1), Paused: c.halted}), nil)
	if c.Ended {
		l.stepOf(c.Number, tree.Drain{})
	}
}

// change gives a campaign its settings as they are in the store now.
func (l *Loop) change(c *campaign, s Settings) {
	was := c.Settings
	c.Settings = s
	l.cfg.Log.Info("campaign changed", "campaign", c.Name, "priority", s.Priority, "share", s.Share, "paused", s.Paused,
		"ended", s.Ended)
	l.take(nil, 0, l.plan.Set(c.Number, s.Priority, s.Share), nil)
	if s.Ended && !was.Ended {
		l.stepOf(c.Number, tree.Drain{})
	}
	l.pauses()
}

// pauses tells each tree whether it is to pause: the farm does, or the campaign.
func (l *Loop) pauses() {
	for _, c := range l.campaigns() {
		halt := l.paused || l.full != nil || c.Paused
		if halt == c.halted {
			continue
		}
		c.halted = halt
		if halt {
			l.stepOf(c.Number, tree.Pause{})
		} else {
			l.stepOf(c.Number, tree.Resume{})
		}
	}
}
