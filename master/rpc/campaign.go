package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/schedule"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Campaign is one of the questions that a master has the farm work on.
type Campaign struct {
	Number     uint32 // in its store, from 1
	Name       string
	Root       amazons.Position
	FirstMoves []amazons.Move // when given, only these are tried
	RulesOnly  bool           // certificates may use leaf rule 1 alone
	// Facts is the campaign whose facts and certificates it shares: the first of its board and kind
	// of proof, perhaps itself.
	Facts uint32

	Settings
	Tree *tree.Tree // of one that is over it is put away; see released.go

	// As in Config.
	ReadRoots func(data []byte) ([]Root, error)
	Admit     func(ctx context.Context, data []byte) (keep func(), err error)
	Conclude  func(ctx context.Context, e Evidence, report func(state, why string)) (Conclusion, error)
	Look      Look
}

// Settings are what an operator changes of a campaign. They are kept in the store.
type Settings struct {
	Priority, Share int  // see package schedule
	Paused          bool // nothing is granted
	Ended           bool // for good: it was given up
}

// Change is what is to be changed of a campaign's settings; nil: it stays.
type Change struct {
	Priority, Share *int
	Paused          *bool
	End             bool
}

// Asked is a campaign that an operator wants to have added.
type Asked struct {
	Name            string // empty: one is found
	Root            amazons.Position
	FirstMoves      []amazons.Move // sorted, each once
	RulesOnly       bool
	Priority, Share int // Share 0: standard
}

// Campaigns keeps the campaigns of a master. Methods may be called at the same time, from
// goroutines that may wait for the disk.
type Campaigns interface {
	// Add makes a campaign durable and returns it without its tree. Errors wrap ErrAsked, ErrTaken
	// or ErrManyCampaigns, or are the store's.
	Add(Asked) (Campaign, error)
	// Grow returns the campaign with the tree that it has by now.
	Grow(Campaign) (Campaign, error)
	// Change makes a change durable and returns the settings as they are then. Errors wrap
	// ErrAsked, or are the store's.
	Change(number uint32, c Change) (Settings, error)
}

// Errors of Campaigns.
var (
	// ErrAsked: what was asked for makes no sense.
	ErrAsked = errors.New("bad campaign")
	// ErrTaken: there is a campaign of that name, or of that question.
	ErrTaken = errors.New("the campaign is there")
	// ErrManyCampaigns: there are as many as allowed.
	ErrManyCampaigns = errors.New("too many campaigns")
)

// campaign is a campaign and how far it is. What is not in the embedded fields belongs to the loop.
type campaign struct {
	Campaign // Settings belong to the loop, the tree to the scheduler

	settled    *tree.Settled
	conclusion *Conclusion
	state, why string         // when not running, paused, draining or ended
	stopped    error          // why the campaign is stopped
	halted     bool           // its tree was told to pause
	counted    uint64         // nodes in the metric
	unsettled  uint64         // checks in the metric
	requeued   uint64         // results in the metric
	expired    map[string]int // leases, by worker
	learned    recent
	evidence   Evidence // of the settled tree
	homeless   bool     // the certificate found no room: it is put together again when there is some
	again      int      // ticks until then, at least
	metrics    *campaignMetrics
	rest       tree.Status // of the tree when it was put away
}

// over reports whether nothing more comes of a campaign.
func (c *campaign) over() bool {
	return c.stopped != nil || c.conclusion != nil || c.Ended && c.settled == nil && c.leased() == 0
}

// message describes the campaign to workers and operators.
func (c *campaign) message(moves bool) *farmv1.Campaign {
	out := &farmv1.Campaign{Board: c.Root.Board.String(), Root: c.Root.String(), RulesOnly: c.RulesOnly,
		Number: c.Number, Name: c.Name}
	if moves {
		out.FirstMoves = farmv1.WriteMoves(c.FirstMoves)
	}
	return out
}

// positionText writes a key with the colours it has in this campaign: whose turn it is follows from
// the number of arrows.
func (c *campaign) positionText(k amazons.Key) string {
	s, err := k.State(c.Root.Board)
	if err != nil {
		return fmt.Sprintf("%x:%x", k.A, k.B)
	}
	side := c.Root.ToMove
	if (s.Arrows(c.Root.Board)-c.Root.Arrows())%2 != 0 {
		side = side.Other()
	}
	return amazons.PositionOf(c.Root.Board, s, side).String()
}

// campaigns returns all campaigns, by number. The slice is not to be changed.
func (m *Master) campaigns() []*campaign { return *m.list.Load() }

// first returns the campaign that is meant where none is named.
func (m *Master) first() *campaign { return m.campaigns()[0] }

// numbered returns the campaign that a message of a worker names; 0 is the first.
func (m *Master) numbered(n uint32) (*campaign, error) {
	for _, c := range m.campaigns() {
		if c.Number == n || n == 0 {
			return c, nil
		}
	}
	return nil, status.Errorf(codes.InvalidArgument, "there is no campaign %d", n)
}

// Of returns the campaign of a name, the first one for an empty name. Errors have the code NOT_FOUND.
func (m *Master) Of(name string) (*Handle, error) {
	for _, c := range m.campaigns() {
		if c.Name == name || name == "" {
			return &Handle{m, c}, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "there is no campaign %.80q", name)
}

// Names returns the names of all campaigns, by number.
func (m *Master) Names() []string {
	var names []string
	for _, c := range m.campaigns() {
		names = append(names, c.Name)
	}
	return names
}

// Handle is one campaign of a master.
type Handle struct {
	m *Master
	c *campaign
}

// Name returns the campaign's name.
func (h *Handle) Name() string { return h.c.Name }

// Root returns the position that the campaign is about.
func (h *Handle) Root() amazons.Position { return h.c.Root }

// View asks the loop what it knows.
func (h *Handle) View(ctx context.Context) (View, error) {
	reply := make(chan View, 1)
	return await(ctx, h.m, query{h.c, reply}, reply)
}

// Status asks the loop how far the campaign is. What it costs does not grow with the tree.
func (h *Handle) Status(ctx context.Context) (*farmv1.StatusResponse, error) {
	v, err := h.View(ctx)
	if err != nil {
		return nil, err
	}
	return h.c.statusMessage(v), nil
}

// Workers asks the loop who is there and what they do, for whatever campaign, in the order they joined.
func (h *Handle) Workers(ctx context.Context) ([]*farmv1.Worker, error) { return h.m.Workers(ctx) }

// Pause grants nothing of the campaign any more, also after the master has started again; running
// leases go on.
func (h *Handle) Pause(ctx context.Context) error {
	return h.Change(ctx, Change{Paused: new(true)})
}

// Resume ends a pause.
func (h *Handle) Resume(ctx context.Context) error {
	return h.Change(ctx, Change{Paused: new(false)})
}

// Change changes the settings of the campaign, durably. Its error is a status.
func (h *Handle) Change(ctx context.Context, change Change) error {
	if h.m.cfg.Campaigns == nil {
		return status.Error(codes.Unimplemented, "this master keeps no settings of campaigns")
	}
	ctx, done, err := h.m.alone(ctx)
	if err != nil {
		return err
	}
	defer done()
	s, err := h.m.cfg.Campaigns.Change(h.c.Number, change)
	if err != nil {
		return campaignError(err)
	}
	reply := make(chan struct{}, 1)
	_, err = await(ctx, h.m, changed{h.c, s, reply}, reply)
	return err
}

// alone waits until no other change of campaigns is on its way, so that the loop gets them in the
// order of the store. The context that it returns does not end: once a change is in the store the
// loop has to know, whoever waits for that. done lets the next one go on. The error, when ctx ends
// first, is a status.
func (m *Master) alone(ctx context.Context) (lasting context.Context, done func(), err error) {
	select {
	case m.changing <- struct{}{}:
		return context.WithoutCancel(ctx), func() { <-m.changing }, nil
	case <-ctx.Done():
		return nil, nil, status.FromContextError(ctx.Err()).Err()
	}
}

// campaignError gives an error of Campaigns its code.
func campaignError(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, ErrAsked):
		code = codes.InvalidArgument
	case errors.Is(err, ErrTaken):
		code = codes.AlreadyExists
	case errors.Is(err, ErrManyCampaigns), errors.Is(err, ErrNoRoom):
		code = codes.ResourceExhausted
	}
	return status.Error(code, err.Error())
}

// Add adds a campaign and begins with it. Its error is a status.
func (m *Master) Add(ctx context.Context, asked Asked) (*Handle, error) {
	if m.cfg.Campaigns == nil {
		return nil, status.Error(codes.Unimplemented, "this master takes no other campaigns")
	}
	ctx, done, err := m.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := m.cfg.Campaigns.Add(asked)
	if err != nil {
		return nil, campaignError(err)
	}
	// From now on the facts are gathered that its tree, which is read from the store, may lack.
	g := &gathering{facts: c.Facts}
	begun := make(chan struct{}, 1)
	if _, err := await(ctx, m, gather{g, begun}, begun); err != nil {
		return nil, err
	}
	c, err = m.cfg.Campaigns.Grow(c)
	reply := make(chan *campaign, 1)
	if err != nil {
		_, _ = await(ctx, m, adopt{g, nil, reply}, reply)
		return nil, status.Errorf(codes.Internal, "campaign %s is in the store and cannot be begun: %v", c.Name, err)
	}
	n, err := await(ctx, m, adopt{g, newCampaign(c, m.cfg.Metrics), reply}, reply)
	if err != nil {
		return nil, err
	}
	return &Handle{m, n}, nil
}

func newCampaign(c Campaign, metrics *Metrics) *campaign {
	return &campaign{Campaign: c, state: StateRunning, metrics: metrics.of(c.Name)}
}

// gathering collects the facts of the campaigns that share some.
type gathering struct {
	facts uint32
	list  []proof.Fact
}

type gather struct { // begin to collect
	into  *gathering
	reply chan struct{}
}

type adopt struct { // take a campaign, or none, with what was collected
	from     *gathering
	campaign *campaign
	reply    chan *campaign
}

type changed struct { // settings are durable
	campaign *campaign
	settings Settings
	reply    chan struct{}
}

func (gather) message()  {}
func (adopt) message()   {}
func (changed) message() {}

// gather begins to collect facts, with those that are not in the store yet.
func (m *Master) gather(g *gathering) {
	for _, p := range m.pending.persist {
		m.collect(g, p)
	}
	m.gatherings = append(m.gatherings, g)
}

func (m *Master) collect(g *gathering, p tree.Persist) {
	if c, err := m.numbered(p.Campaign); err == nil && c.Facts == g.facts {
		g.list = append(g.list, p.Facts...)
	}
}

// adopt takes a campaign among those that are worked on.
func (m *Master) adopt(a adopt) {
	m.gatherings = slices.DeleteFunc(m.gatherings, func(g *gathering) bool { return g == a.from })
	if a.campaign == nil {
		return
	}
	list := append(slices.Clone(m.campaigns()), a.campaign)
	m.list.Store(&list)
	m.ended = false
	m.cfg.Log.Info("campaign added", "campaign", a.campaign.Name, "root", a.campaign.Root.String(), "priority",
		a.campaign.Priority, "share", a.campaign.Share)
	m.begun(a.campaign)
	m.stepOf(nil, 0, a.campaign.Number, tree.PoolFacts{Facts: a.from.list})
	if m.draining != nil {
		m.stepOf(nil, 0, a.campaign.Number, tree.Drain{})
	}
}

// begun puts a campaign under the scheduler.
func (m *Master) begun(c *campaign) {
	c.halted = m.paused || m.full != nil || c.Paused
	m.take(nil, 0, m.plan.Add(schedule.Campaign{Number: c.Number, Tree: c.Tree, Facts: c.Facts, Priority: c.Priority,
		Share: max(c.Share, 1), Paused: c.halted}))
	if c.Ended {
		m.stepOf(nil, 0, c.Number, tree.Drain{})
	}
}

// change takes the settings of a campaign as they are in the store now.
func (m *Master) change(c changed) {
	was := c.campaign.Settings
	c.campaign.Settings = c.settings
	m.cfg.Log.Info("campaign changed", "campaign", c.campaign.Name, "priority", c.settings.Priority, "share",
		c.settings.Share,
		"paused", c.settings.Paused, "ended", c.settings.Ended)
	m.take(nil, 0, m.plan.Set(c.campaign.Number, c.settings.Priority, c.settings.Share))
	if c.settings.Ended && !was.Ended {
		m.stepOf(nil, 0, c.campaign.Number, tree.Drain{})
	}
	m.pauses()
}

// pauses tells each tree whether it is to pause: the farm does, or the campaign.
func (m *Master) pauses() {
	for _, c := range m.campaigns() {
		halt := m.paused || m.full != nil || c.Paused
		if halt == c.halted {
			continue
		}
		c.halted = halt
		if halt {
			m.stepOf(nil, 0, c.Number, tree.Pause{})
		} else {
			m.stepOf(nil, 0, c.Number, tree.Resume{})
		}
	}
}
