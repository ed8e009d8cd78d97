// Package schedule lets workers search for several campaigns, each with its own tree. It decides
// which tree a worker's request is offered, and carries facts from one campaign to those that share
// them. Like a tree it is a pure state machine: Step takes an event and returns its effects, and it
// holds no clock, random source, file, socket or goroutine.
//
// # Whose turn it is
//
// The priority is strict: a request goes to the campaign of the highest priority that has a leaf to
// lease, and a lower one gets what is left over. An operator who puts one question before another
// expects this. Little work is lost, because a tree without a leaf to lease leaves its workers to
// the other trees meanwhile. The scheduler tells such a tree that workers would come back
// (tree.WorkersElsewhere). So the tree splits its leaves as if they waited, and after a while it takes
// as many workers as it can use. Running leases are not cancelled for a campaign of a higher priority:
// they end within a budget.
//
// Among campaigns of one priority the work, in nodes, is divided by their shares: a request goes to
// the campaign with the fewest nodes for each unit of its share. A campaign that could not use its
// share for a while may catch up at most Credit nodes. A worker changes to a campaign on another
// board only when the imbalance between the two has grown to Credit, because it begins the other
// board with an empty table.
//
// # Facts
//
// Facts are about positions, so they are valid for every campaign of the same board and kind of
// proof: a fact that one campaign learns closes nodes of the others in the same step. After a contradiction
// all campaigns of the pool stand still, since one of their shared facts is false, and any of their trees may
// have used it. Campaigns of other pools go on.
//
// # Trust
//
// Whether a worker lies or breaks depends on its owner and its machine, and not on the question. So a
// party (tree.Joined.Party) has one standing in all campaigns: a result that is confirmed in one campaign
// counts in all, and a party that is caught in one is distrusted in all. Otherwise every party would be
// new to each campaign that is added, and its results would be checked just while that campaign has the
// fewest leaves. Each tree still checks a sample of its own results, so a party that lies in one
// campaign alone is caught there.
package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"amazonsfarm/master/tree"
)

// Credit is how far a campaign that could not use its share may catch up afterwards. It is also how
// large an imbalance between two campaigns of one priority must grow before a worker leaves one for
// the board of the other. Unit: nodes, about two minutes of one core. Too small: workers change boards,
// and lose what their tables know, every few leases; too large: a campaign that could not use its
// share for a while has the farm to itself for long.
const Credit = 10_000_000

// Campaign is one of the campaigns of a Scheduler.
type Campaign struct {
	Number   uint32 // at least 1; each has another
	Tree     *tree.Tree
	Pool     uint32 // campaigns of one pool use each other's facts; its first one's number
	Priority int    // the higher goes first
	Share    int    // of the work, among those of one priority; at least 1
	Paused   bool   // its tree begins with a pause
}

// Effect is an effect of the tree of a campaign.
type Effect struct {
	Campaign uint32
	tree.Effect
}

// String returns the effect as a line of a trace.
func (e Effect) String() string { return fmt.Sprintf("%d: %v", e.Campaign, e.Effect) }

// Scheduler is the state machine. It is not safe for concurrent use.
type Scheduler struct {
	credit  float64
	all     []*campaign // by number
	workers map[string]*worker
	roll    []*worker // in the order they joined
	waiting []*worker // with open requests, in the order they asked
	effects []Effect
}

type campaign struct {
	Campaign
	base   float64 // effort that does not count
	missed bool    // it could not use its turn: what it is behind by more than its credit does not count
	wanted bool    // as its tree was told
	open   bool    // it may be granted something, when workers were placed last
}

// had returns the nodes that a campaign has had for each unit of its share.
func (c *campaign) had() float64 { return (float64(c.Tree.NodesGranted()) - c.base) / float64(c.Share) }

// rebase makes the campaign one that has had so much.
func (c *campaign) rebase(had float64) {
	c.base = float64(c.Tree.NodesGranted()) - had*float64(c.Share)
}

type worker struct {
	name  string
	slots int
	place *campaign // whose tree has its requests; nil: it never asked, or that campaign is gone
	last  *campaign // that granted it a lease last; nil: none, or it is gone
	pool  uint32    // of the campaign that granted it a lease last: what its table is full of; 0: nothing
	asks  int       // requests that stand while there is no campaign
	party string
	// Results of its party that were confirmed, and positions that it solved, as was known when it
	// joined and as the campaigns that are gone know it.
	agreed, solved int
}

// New makes a scheduler without campaigns. credit takes the place of Credit, in nodes; 0 stands for Credit.
func New(credit uint64) *Scheduler {
	return &Scheduler{credit: float64(cmp.Or(credit, Credit)), workers: map[string]*worker{}}
}

// Add adds a campaign. Its tree is new, and belongs to the scheduler from now on.
func (s *Scheduler) Add(c Campaign) []Effect {
	n := &campaign{Campaign: c}
	n.rebase(s.lead(n))
	s.all = append(s.all, n)
	slices.SortFunc(s.all, func(a, b *campaign) int { return cmp.Compare(a.Number, b.Number) })
	if c.Paused {
		s.step(n, tree.Pause{})
	}
	for _, w := range s.roll {
		agreed, solved := s.standing(w)
		s.step(n, tree.Joined{Worker: w.name, Slots: w.slots, Party: w.party, Confirmed: agreed, Solved: solved})
	}
	for _, w := range s.roll {
		for ; w.asks > 0; w.asks-- {
			s.ask(w)
		}
	}
	return s.finish()
}

// standing returns that of a worker's party.
func (s *Scheduler) standing(w *worker) (agreed, solved int) {
	agreed, solved = s.Standing(w.party)
	return max(agreed, w.agreed), max(solved, w.solved)
}

// Standing returns how many results of a party were confirmed, in all campaigns together, and how many positions
// of its leases it solved, in the campaign with the most of them. Campaigns that were removed do not count.
func (s *Scheduler) Standing(party string) (agreed, solved int) {
	for _, c := range s.all {
		a, b := c.Tree.Standing(party)
		agreed, solved = max(agreed, a), max(solved, b)
	}
	return agreed, solved
}

// Remove takes out a campaign that is over and has no lease out. The tree belongs to the caller again. Requests that
// wait at this campaign are offered to the others.
func (s *Scheduler) Remove(number uint32) []Effect {
	c := s.find(number)
	if c == nil {
		return nil
	}
	for _, w := range s.roll {
		w.agreed, w.solved = s.standing(w)
	}
	s.all = slices.DeleteFunc(s.all, func(o *campaign) bool { return o == c })
	var left []*worker
	for _, w := range s.waiting {
		if w.place == c {
			w.asks = c.Tree.Requests(w.name)
			left = append(left, w)
		}
	}
	for _, w := range s.roll {
		if w.last == c {
			w.last = nil
		}
		if w.place == c {
			w.place = nil
		}
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w *worker) bool { return w.place == nil })
	if len(s.all) > 0 {
		for _, w := range left {
			for ; w.asks > 0; w.asks-- {
				s.ask(w)
			}
		}
	}
	return s.finish()
}

// Member is a worker that has joined.
type Member struct {
	Name      string
	Confirmed int // results of its party that other parties' searches confirmed, in all campaigns
}

// Workers returns those that have joined, in that order.
func (s *Scheduler) Workers() []Member {
	list := make([]Member, 0, len(s.roll))
	for _, w := range s.roll {
		agreed, _ := s.standing(w)
		list = append(list, Member{w.name, agreed})
	}
	return list
}

// Set changes the priority and share of a campaign.
func (s *Scheduler) Set(number uint32, priority, share int) []Effect {
	c := s.find(number)
	if c == nil {
		return nil
	}
	had, moved := c.had(), priority != c.Priority
	c.Priority, c.Share = priority, share
	if moved {
		had = s.lead(c)
	}
	c.rebase(had)
	for _, o := range s.all {
		o.open = false // workers are placed anew
	}
	return s.finish()
}

// find returns the campaign of a number, nil if there is none.
func (s *Scheduler) find(number uint32) *campaign {
	for _, c := range s.all {
		if c.Number == number {
			return c
		}
	}
	return nil
}

// Step takes an event of a campaign, or with number 0 of all campaigns, and returns its effects; the Persist of each
// tree comes before its other effects. Joined, Left, Ready, Distrusted and Tick go to all campaigns, whatever the
// number says. A Tick tells each tree how many results the other trees demand (tree.Tree.Demand).
func (s *Scheduler) Step(number uint32, ev tree.Event) []Effect {
	switch e := ev.(type) {
	case tree.Joined:
		s.joined(e)
	case tree.Left:
		s.left(e)
	case tree.Ready:
		s.ready(e)
	case tree.Distrusted:
		for _, w := range s.roll {
			if w.party == e.Party {
				w.agreed, w.solved = 0, 0
			}
		}
		s.stepAll(e)
	case tree.Tick:
		all := 0.0
		for _, c := range s.all {
			all += c.Tree.Demand()
		}
		for _, c := range s.all {
			s.step(c, tree.Tick{Elsewhere: all - c.Tree.Demand()})
		}
	default:
		if c := s.find(number); c != nil {
			s.step(c, ev)
		} else if number == 0 {
			s.stepAll(ev)
		}
	}
	return s.finish()
}

func (s *Scheduler) joined(e tree.Joined) {
	w := s.workers[e.Worker]
	if w == nil {
		w = &worker{name: e.Worker}
		s.workers[e.Worker] = w
		s.roll = append(s.roll, w)
	}
	if party := cmp.Or(e.Party, e.Worker); party != w.party {
		w.party, w.agreed, w.solved = party, e.Confirmed, e.Solved
	}
	w.slots, w.asks = e.Slots, 0
	s.stepAll(e)
}

func (s *Scheduler) left(e tree.Left) {
	w := s.workers[e.Worker]
	if w == nil {
		return
	}
	delete(s.workers, w.name)
	is := func(o *worker) bool { return o == w }
	s.roll, s.waiting = slices.DeleteFunc(s.roll, is), slices.DeleteFunc(s.waiting, is)
	s.stepAll(e)
}

func (s *Scheduler) ready(e tree.Ready) {
	w := s.workers[e.Worker]
	switch {
	case len(s.all) == 0 && w != nil:
		w.asks = min(w.asks+1, max(w.slots, 1))
		s.effects = append(s.effects, Effect{Effect: tree.NoWork{Worker: w.name, Reason: tree.NoWorkSettled}})
	case len(s.all) > 0 && w == nil:
		s.step(s.all[0], e) // refuses it
	case len(s.all) > 0:
		s.ask(w)
	}
}

// ask takes a request of a worker to the campaign whose turn it is, or to where another one waits.
func (s *Scheduler) ask(w *worker) {
	if w.place == nil || w.place.Tree.Requests(w.name) == 0 {
		if w.place = s.best(w, func(c *campaign) bool { return c.Tree.Serves(w.name) }); w.place == nil {
			w.place = s.home(w)
		}
	}
	if !slices.Contains(s.waiting, w) {
		s.waiting = append(s.waiting, w)
	}
	s.step(w.place, tree.Ready{Worker: w.name})
}

// best returns the campaign whose turn it is among those that will do, nil if there is none.
func (s *Scheduler) best(w *worker, will func(*campaign) bool) *campaign {
	var best *campaign
	for _, c := range s.all {
		if will(c) && (best == nil || s.before(c, best)) {
			best = c
		}
	}
	// A worker stays on its board for as long as that is not too unfair.
	if last := w.last; best != nil && last != nil && last.Pool != best.Pool && last.Priority == best.Priority &&
		will(last) &&
		(s.due(last)-s.due(best))*float64(last.Share+best.Share) <= s.credit {
		return last
	}
	return best
}

// lead returns what the campaign has had that has had most for its share, among the others of the
// priority of c that may be granted something; what c has had if there is none.
func (s *Scheduler) lead(c *campaign) float64 {
	lead, found := 0.0, false
	for _, o := range s.all {
		if o == c || o.Priority != c.Priority || o.Tree.Idle() != tree.NoReason {
			continue
		}
		if had := o.had(); !found || had > lead {
			lead, found = had, true
		}
	}
	if !found {
		return c.had()
	}
	return lead
}

// before orders campaigns by whose turn it is.
func (s *Scheduler) before(a, b *campaign) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return s.due(a) < s.due(b)
}

// due is what a campaign has had, but for what it has missed and is behind by more than its credit.
func (s *Scheduler) due(c *campaign) float64 {
	if !c.missed {
		return c.had()
	}
	return max(c.had(), s.lead(c)-s.credit/float64(c.Share))
}

// home returns where a worker waits that nobody has work for: with the campaign whose turn it is,
// so that its tree is split. Where all are halted, one of them says why.
func (s *Scheduler) home(w *worker) *campaign {
	if c := s.best(w, func(c *campaign) bool { return c.Tree.Idle() == tree.NoReason }); c != nil {
		return c
	}
	for _, why := range []tree.NoWorkReason{tree.NoWorkDrain, tree.NoWorkPaused, tree.NoWorkStopped} {
		if c := s.best(w, func(c *campaign) bool { return c.Tree.Idle() == why }); c != nil {
			return c
		}
	}
	return s.best(w, func(*campaign) bool { return true })
}

// stepAll steps the trees of all campaigns.
func (s *Scheduler) stepAll(ev tree.Event) {
	for _, c := range s.all {
		s.step(c, ev)
	}
}

// step steps a tree, and those that share its facts.
func (s *Scheduler) step(c *campaign, ev tree.Event) {
	for _, effect := range c.Tree.Step(ev) {
		switch e := effect.(type) {
		case tree.Persist:
			e.Campaign = c.Number
			s.effects = append(s.effects, Effect{c.Number, e})
			if len(e.Facts) > 0 {
				s.share(c, tree.PoolFacts{Facts: e.Facts})
			}
			continue
		case tree.Contradiction:
			s.share(c, tree.PoolContradiction{Contradiction: e})
		case tree.Grant:
			if w := s.workers[e.Worker]; w != nil {
				if w.pool != c.Pool {
					s.forget(w)
				}
				w.last, w.pool = c, c.Pool
			}
			s.served(c)
		case tree.Checked:
			if e.Confirmed {
				for _, o := range s.all {
					if o != c {
						s.step(o, tree.PartyConfirmed{Party: e.Party})
					}
				}
			}
		}
		s.effects = append(s.effects, Effect{c.Number, effect})
	}
}

// served notes that a campaign has been granted something, and who could not use that turn.
func (s *Scheduler) served(c *campaign) {
	if c.missed {
		had := s.due(c)
		c.missed = false
		c.rebase(had)
	}
	for _, o := range s.all {
		if o != c && o.Priority == c.Priority && !o.Tree.Free() {
			o.missed = true
		}
	}
}

// share tells those that share a campaign's facts something.
func (s *Scheduler) share(c *campaign, ev tree.Event) {
	for _, o := range s.all {
		if o != c && o.Pool == c.Pool {
			s.step(o, ev)
		}
	}
}

// forget tells those whose facts a worker's table is full of that it is empty.
func (s *Scheduler) forget(w *worker) {
	for _, o := range s.all {
		if o.Pool == w.pool {
			s.step(o, tree.TableCleared{Worker: w.name})
		}
	}
}

// finish places the workers that wait and returns the effects of the step.
func (s *Scheduler) finish() []Effect {
	if len(s.all) > 1 {
		s.place()
		s.want()
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(w *worker) bool { return w.place.Tree.Requests(w.name) == 0 })
	effects := s.effects
	s.effects = nil
	return effects
}

// place moves workers that wait to where there is work for them.
func (s *Scheduler) place() {
	for again := true; again; {
		again = false
		if !slices.ContainsFunc(s.all, func(c *campaign) bool { return c.Tree.Free() }) {
			break
		}
		for _, w := range s.waiting {
			if w.place.Tree.Requests(w.name) == 0 {
				continue
			}
			if c := s.best(w, func(c *campaign) bool { return c.Tree.Serves(w.name) }); c != nil && c != w.place {
				s.move(w, c) // it or another one that waits there is granted a lease, so this ends
				again = true
				break
			}
		}
	}
	changed := false
	for _, c := range s.all {
		open := c.Tree.Idle() == tree.NoReason
		changed = changed || open != c.open
		c.open = open
	}
	if !changed {
		return
	}
	for _, w := range s.waiting {
		if w.place.Tree.Requests(w.name) == 0 {
			continue
		}
		if home := s.home(w); home != w.place && (!w.place.open || home.Priority > w.place.Priority) {
			s.move(w, home)
		}
	}
}

// move takes the requests of a worker to another campaign.
func (s *Scheduler) move(w *worker, to *campaign) {
	asks := w.place.Tree.Requests(w.name)
	s.step(w.place, tree.RequestsWithdrawn{Worker: w.name})
	w.place = to
	for range asks {
		s.step(to, tree.Ready{Worker: w.name})
	}
}

// want tells each tree whether there are workers elsewhere that would search there if it had leaves
// to lease: those of campaigns of a lower priority, and of the same one while it is behind its
// share by all its credit.
func (s *Scheduler) want() {
	for _, c := range s.all {
		wanted := false
		if c.Tree.Idle() == tree.NoReason && !c.Tree.Free() {
			behind := s.lead(c)-c.had() >= s.credit/float64(c.Share)
			wanted = slices.ContainsFunc(s.all, func(o *campaign) bool {
				return o != c && o.Tree.Leased() > 0 && (o.Priority < c.Priority || o.Priority == c.Priority && behind)
			})
		}
		if wanted != c.wanted {
			c.wanted = wanted
			s.step(c, tree.WorkersElsewhere{Waiting: wanted})
		}
	}
}
