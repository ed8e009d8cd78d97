package loop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/hints"
	"amazonsfarm/master/ledger"
	"amazonsfarm/master/schedule"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/proof"
)

// Loop owns campaigns: their trees, the sessions of workers, how far they are. Run does the work; all
// other methods ask it.
type Loop struct {
	cfg   Config
	store Store
	inbox chan message
	done  chan struct{} // closed when Run has ended: nobody reads the inbox any more

	list     atomic.Pointer[[]*campaign] // replaced by the loop alone
	changing chan struct{}               // a token for the one operator whose change is on its way
	shown    chan *regrown               // an explored tree that was put away; its holder may change it

	// The fields below belong to the goroutine of Run.
	plan       *schedule.Scheduler
	hints      *hints.Cache
	crew       crew
	book       *trust.Book
	saver      saver
	gatherings []*gathering
	started    time.Time
	draining   error // what Run returns once the leases are back
	ended      bool  // workers have been told that all is over
	paused     bool
	begin      func(*campaign) // begins to conclude
	pending    pending         // what the next commit writes, and what waits for it
	full       error           // why nothing can be written; nil: there is room
	crowded    crowded
	waiting    []*Event        // what workers want acknowledged, until there is room
	ctx        context.Context // of what runs beside the loop
	aside      func(func(ctx context.Context))

	verification verification
}

// New makes a loop around the campaigns of a store, by number, at least one. Each has a root, a tree,
// ReadRoots and Conclude. Run starts it. Errors are those of Store.Quarantines and Standings.
func New(cfg Config, campaigns []Campaign, s Store) (*Loop, error) {
	cfg.complete()
	var list []*campaign
	for _, c := range campaigns {
		list = append(list, newCampaign(c, cfg.Metrics))
	}
	quarantines, err := s.Quarantines()
	if err != nil {
		return nil, err
	}
	standings, err := s.Standings()
	if err != nil {
		return nil, err
	}
	l := &Loop{
		cfg:      cfg,
		store:    s,
		inbox:    make(chan message, queued),
		done:     make(chan struct{}),
		changing: make(chan struct{}, 1),
		shown:    make(chan *regrown, 1),
		plan:     schedule.New(cfg.Credit),
		hints:    hints.NewCache(cfg.HintBytes),
		crew:     crew{map[string]*Session{}, map[string]*Session{}, ledger.New()},
		book:     trust.NewBook(cfg.MaxOffences, cfg.Limits.Parties, quarantines, standings),
		saver:    saver{results: make(chan saved, 1)},

		verification: verification{queue: checks.NewQueue(), verified: map[string][]proof.ID{},
			disputed: map[uint32]bool{}, turn: make(chan struct{}, 1)},
	}
	l.list.Store(&list)
	l.shown <- &regrown{}
	return l, nil
}

// Done is closed when Run has ended.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Store returns the store, for what needs no turn of the loop: certificates and backups.
func (l *Loop) Store() Store { return l.store }

// Metrics returns the figures of the loop.
func (l *Loop) Metrics() *Metrics { return l.cfg.Metrics }

// Heartbeat returns how often a worker is to report.
func (l *Loop) Heartbeat() time.Duration { return l.cfg.Heartbeat }

// Run owns the trees until every campaign is over, unless Config.Stay. A campaign is over when it is settled and
// concluded, or an operator has ended it, or a contradiction or an error of Conclude has stopped it. Run returns the
// error that stopped the first of the stopped campaigns, nil if none was stopped. It ends earlier with ErrDrained when
// it was drained, with ErrLimit at the node limit, with ErrStore when a commit fails, and with ctx. When it returns,
// all work streams have been ended. It is called once.
func (l *Loop) Run(ctx context.Context) error {
	l.started = l.cfg.Now()
	work, cancel := context.WithCancel(ctx)
	var concluding sync.WaitGroup
	defer func() {
		cancel()
		close(l.done)
		concluding.Wait()
		l.keepVerified()
		l.saveLast()
	}()
	ticks := l.cfg.Ticks
	if ticks == nil {
		ticker := time.NewTicker(l.cfg.Heartbeat)
		defer ticker.Stop()
		ticks = ticker.C
	}
	l.ctx = work
	l.aside = func(f func(context.Context)) { concluding.Go(func() { f(work) }) }
	turns := make(chan struct{}, 1) // one after the other: each may take gigabytes of memory
	l.begin = func(c *campaign) {
		evidence, generation := c.evidence, c.generation
		concluding.Go(func() { l.concludeIn(work, turns, c, evidence, generation) })
	}
	err := l.turns(ctx, ticks)
	l.endLinks(err)
	return err
}

// turns takes one turn after the other until the run is over.
func (l *Loop) turns(ctx context.Context, ticks <-chan time.Time) error {
	batch := make([]message, 0, batched)
	for _, c := range l.campaigns() {
		l.begun(c)
	}
	// A campaign that was settled or stopped before says so at its first event.
	if err := l.turn(nil, true); err != nil {
		return err
	}
	var next tickTurn
	for {
		if end, err := l.over(); end {
			return err
		}
		batch = batch[:0]
		select {
		case msg := <-l.inbox:
			batch = append(batch, msg)
		case <-ticks:
			next.due(len(l.inbox))
		case <-ctx.Done():
			return ctx.Err()
		}
	fill:
		for len(batch) < cap(batch) {
			select {
			case msg := <-l.inbox:
				batch = append(batch, msg)
			default:
				break fill
			}
		}
		l.cfg.Metrics.queue.Set(float64(len(l.inbox)))
		if len(batch) > 0 {
			l.cfg.Metrics.batch.Observe(float64(len(batch)))
		}
		if err := l.turn(batch, next.after(len(batch))); err != nil {
			return err
		}
	}
}

// tickTurn puts a tick after all messages that waited when it was due: a master that is behind would
// take leases for lost whose heartbeats it has not read yet. Ticks that come meanwhile are one with
// it.
type tickTurn struct {
	waits  bool
	before int // messages that come first
}

// due says that a tick is due while so many messages wait.
func (t *tickTurn) due(waiting int) {
	if !t.waits {
		t.waits, t.before = true, waiting
	}
}

// after says that so many messages were read, and reports whether the tick comes right after them.
func (t *tickTurn) after(read int) bool {
	t.before -= read
	now := t.waits && t.before <= 0
	t.waits = t.waits && !now
	return now
}

// turn applies each message, commits what must survive, and then answers.
func (l *Loop) turn(batch []message, tick bool) error {
	if tick {
		waited, err := l.lookForRoom()
		if err != nil {
			return err
		}
		batch = append(waited, batch...)
	}
	l.release()
	for _, msg := range batch {
		if msg.apply != nil {
			msg.apply()
		}
	}
	if tick {
		l.tick()
	}
	if l.verification.stale {
		l.assign()
	}
	l.drainAtLimit()
	if err := l.flush(); err != nil {
		return err
	}
	for _, msg := range batch {
		if msg.reply != nil {
			msg.reply()
		}
	}
	over := l.allOver()
	if over && !l.ended && !slices.ContainsFunc(l.campaigns(),
		func(c *campaign) bool { return errors.Is(c.stopped, store.ErrContradiction) }) {
		l.finish()
	}
	if tick || over {
		l.measure()
	}
	return nil
}

// tick does what is due once a heartbeat. Without room on the disk the ticks of the trees stand still.
func (l *Loop) tick() {
	l.noteSaved()
	for _, q := range l.book.UnkeptQuarantines() {
		l.saveQuarantine(q)
	}
	distrusted := l.book.Tick(l.full == nil)
	if l.full == nil {
		l.retry()
		for _, p := range distrusted {
			l.stepOf(0, tree.Distrusted{Party: p.String()})
		}
		l.sweep()
		l.forgetHints()
		l.hide()
		l.tickChecks()
		l.stepOf(0, tree.Tick{})
	}
	l.saveStandings()
}

// drainAtLimit drains when all campaigns together have as many nodes as they may, also where the store had them before.
func (l *Loop) drainAtLimit() {
	if l.cfg.NodeLimit == 0 || l.draining != nil {
		return
	}
	nodes, open := uint64(0), false
	for _, c := range l.campaigns() {
		nodes += c.searched()
		open = open || c.settled == nil && c.Tree != nil && !c.Tree.Answered()
	}
	if nodes >= l.cfg.NodeLimit && open {
		l.draining = ErrLimit
		l.stepOf(0, tree.Drain{})
	}
}

// over says whether Run ends, and how.
func (l *Loop) over() (bool, error) {
	over, leased, concluding := true, 0, false
	var stopped error
	for _, c := range l.campaigns() {
		over = over && c.over()
		leased += c.leased()
		concluding = concluding || c.settled != nil && !c.over() && c.again == 0 // else it waits for room
		if stopped == nil {
			stopped = c.stopped
		}
	}
	switch {
	case over:
		return l.draining != nil || !l.cfg.Stay && len(l.changing) == 0, stopped
	case l.draining != nil && l.full != nil:
		return true, l.draining // what comes back cannot be kept; the workers bring it to the next master
	case l.draining != nil && !concluding, l.draining == ErrDrained && l.verification.answers.Waiting():
		return leased == 0, l.draining
	}
	return false, nil
}

// allOver reports whether every campaign is over, and none is being added or changed.
func (l *Loop) allOver() bool {
	return len(l.changing) == 0 && !slices.ContainsFunc(l.campaigns(), func(c *campaign) bool { return !c.over() })
}
