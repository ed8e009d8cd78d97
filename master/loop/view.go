package loop

import (
	"context"
	"fmt"
	"time"

	"amazonsfarm/master/outlook"
	"amazonsfarm/master/recent"
	"amazonsfarm/master/tree"
)

// View is what is known of a campaign at one moment.
type View struct {
	*About
	Settings
	State, Why  string
	Phase       Phase   // what is done for it now
	Evidence    float64 // see outlook.Outlook
	Tree        tree.Status
	Settled     *tree.Settled // nil: not yet
	Conclusion  *Conclusion   // nil: not yet
	Seconds     float64       // since Run began
	Connected   int           // workers with a stream
	heard       int           // of them, lately
	Quarantined int           // parties
	Certs       int
	CertBytes   int64
	StoreFile   string
	All         []View // of all campaigns, by number; only in the view that was asked for
}

// View asks the loop what it knows of the campaign.
func (h *Handle) View(ctx context.Context) (View, error) {
	return ask(ctx, h.loop, func() View { return h.loop.view(h.c) })
}

// Views asks the loop what it knows of all campaigns, by number.
func (l *Loop) Views(ctx context.Context) ([]View, error) { return ask(ctx, l, l.views) }

// view is what the loop knows of a campaign.
func (l *Loop) view(of *campaign) (v View) {
	all := l.views()
	for _, each := range all {
		if each.About == of.About {
			v = each
		}
	}
	v.All = all
	return v
}

// quietBeats is the number of heartbeats after which a worker that has work, and says nothing, has stopped.
const quietBeats = 10

// views is what the loop knows of each campaign, by number.
func (l *Loop) views() (all []View) {
	connected, heard := 0, 0
	for _, s := range l.crew.byToken {
		if s.link != nil {
			connected++
			if l.cfg.Now().Sub(s.last) < quietBeats*l.cfg.Heartbeat {
				heard++
			}
		}
	}
	certificates, bytes := l.store.Certificates()
	quarantined := len(l.book.Quarantines())
	for _, c := range l.campaigns() {
		v := View{
			About: c.About, Settings: c.Settings, State: c.state, Why: c.why, Phase: c.phase,
			Tree: c.status(), Settled: c.settled, Conclusion: c.conclusion,
			Seconds: l.since(l.started), StoreFile: l.cfg.StoreFile,
			Connected: connected, heard: heard, Quarantined: quarantined, Certs: certificates, CertBytes: bytes,
		}
		if v.Conclusion != nil {
			v.Tree.Decide(v.Conclusion.WinningMoves)
		}
		l.explain(c, &v)
		all = append(all, v)
	}
	return all
}

// explain finds the state of a campaign that is not over, and why it is so.
func (l *Loop) explain(c *campaign, v *View) {
	switch {
	case l.draining != nil:
	case c.again > 0:
		v.State, v.Why = StatePaused, c.homeless.Error()+"; it is tried again every half minute"
	case l.full != nil && v.State == StateRunning:
		v.State, v.Why = StatePaused, l.full.Error()+"; once that is mended, the campaign goes on by itself"
	}
	if v.State != StateRunning {
		return
	}
	v.Phase = l.phaseOf(c, v.Tree.Workers)
	if l.lookOut(c, v); v.Phase.Name == PhaseSearching {
		wins, refuted := outlook.Decided(v.Tree.FirstMoves)
		v.Phase.Done, v.Phase.Total = uint64(wins+refuted), uint64(len(v.Tree.FirstMoves))
	}
	switch {
	case c.Ended:
		v.State, v.Why = StateEnded, "an operator gave the campaign up"
	case l.draining != nil:
		v.State, v.Why = StateDraining, l.draining.Error()+"; leases are cancelled"
	case l.paused:
		v.State, v.Why = StatePaused, "an operator paused all campaigns"
	case c.Paused:
		v.State, v.Why = StatePaused, "an operator paused this campaign"
	case v.Connected == 0:
		v.Why = "no worker is connected"
	case v.Tree.Leased == 0 && v.Phase.Name != "":
		v.Why = "the workers gather and deliver evidence for leases that are over"
	case v.Tree.Leased == 0 && v.Tree.NoWork == tree.NoReason && v.heard == 0:
		v.Why = fmt.Sprintf("no worker has been heard of for %v", quietBeats*l.cfg.Heartbeat)
	case v.Tree.Leased == 0 && v.Tree.NoWork == tree.NoReason && len(l.campaigns()) > 1:
		v.Why = "the workers are with other campaigns"
	case v.Tree.Leased == 0 && v.Tree.NoWork == tree.NoReason:
		v.Why = "the workers are between two leases"
	case v.Tree.Leased == 0:
		v.Why = v.Tree.NoWork.String()
	case v.Tree.Leased == 1:
		v.Why = "one position is leased"
	default:
		v.Why = fmt.Sprintf("%d positions are leased", v.Tree.Leased)
	}
	if v.State == StateRunning && l.cfg.Now().Sub(l.crowded.at) <= crowdedFor {
		v.Why += "; " + l.crowded.why
	}
}

// lookOut adds to a view what its workers see: how much of their nodes is evidence, and, while the whole
// campaign is one lease, the numbers of its root and first moves.
func (l *Loop) lookOut(c *campaign, v *View) {
	var nodes, decided float64
	alone := false
	for _, w := range v.Tree.Workers {
		if s := l.crew.byName[w.Name]; s != nil && len(w.Leases) > 0 {
			lease := w.Current()
			share := float64(1 + lease.Nodes)
			nodes, decided = nodes+share, decided+share*s.evidence
			alone = alone || w.Name == c.outlookOf && lease.Key == c.Root.State().CanonicalKey(c.Root.Board)
		}
	}
	if nodes > 0 {
		v.Evidence = decided / nodes
	}
	if t := &v.Tree; alone && t.Expanded == 0 && c.outlook.Tell(t.FirstMoves) {
		t.Phi, t.Delta = outlook.Finite(c.outlook.Phi, c.outlook.Delta)
	}
}

// phaseOf is what the workers of a campaign do. They search while one of them does; otherwise they work on
// their evidence, also after a lease was lost, and what they have of it counts together.
func (l *Loop) phaseOf(c *campaign, workers []tree.WorkerStatus) (p Phase) {
	for _, w := range workers {
		s := l.crew.byName[w.Name]
		switch {
		case s == nil || len(w.Leases) == 0 && (s.phase.Name == "" || s.phaseIn != c.Number):
		case s.phase.Name == "":
			return Phase{Name: PhaseSearching}
		case p.Name == "" || p.Name == s.phase.Name:
			p = Phase{s.phase.Name, p.Done + s.phase.Done, p.Total + s.phase.Total}
		}
	}
	return p
}

// Member is a worker that is there, and what it does.
type Member struct {
	Worker
	Connected, Silent                 float64 // seconds since it joined, and since it was heard
	Nodes, Results, Facts             uint64
	TableFill                         float64
	Confirmed, Contradicted, Offences int    // of its party
	Campaign                          string // of its lease; empty: it has none
	Lease                             tree.LeaseID
	Position                          string
	LeaseNodes, LeaseBudget           uint64
	LeaseSeconds                      float64
	Phase                             Phase
}

// Workers asks the loop who is there and what they do, in the order they joined.
func (l *Loop) Workers(ctx context.Context) ([]Member, error) { return ask(ctx, l, l.workers) }

func (l *Loop) workers() []Member {
	var list []Member
	at := map[string]int{}
	for _, member := range l.plan.Workers() {
		s := l.crew.byName[member.Name]
		if s == nil {
			continue
		}
		known := l.book.Standing(s.Party)
		at[s.Name] = len(list)
		list = append(list, Member{
			Worker: s.Worker, Connected: l.since(s.since), Silent: l.since(s.last),
			Nodes: s.nodes, Results: s.results, Facts: s.facts, TableFill: s.fill,
			Confirmed: member.Confirmed, Contradicted: known.Contradicted, Offences: known.Offences,
		})
	}
	for _, c := range l.campaigns() {
		for _, w := range c.status().Workers {
			i, ok := at[w.Name]
			if !ok || len(w.Leases) == 0 || list[i].Lease != 0 {
				continue
			}
			out, lease := &list[i], w.Current()
			out.Campaign, out.Lease, out.Position = c.Name, lease.ID, c.Text(lease.Key)
			out.LeaseNodes, out.LeaseBudget = lease.Nodes, lease.Budget
			out.Phase = l.crew.byName[w.Name].phase
			out.LeaseSeconds = float64(lease.Age) * l.cfg.Heartbeat.Seconds()
		}
	}
	return list
}

// since returns the seconds that have passed by the clock that people see, none where it was set back.
func (l *Loop) since(t time.Time) float64 { return max(0, l.cfg.Now().Sub(t).Seconds()) }

// Recent asks the loop for the facts that the campaign's workers brought and that became durable last,
// the latest first, at most Limits.Recent.
func (h *Handle) Recent(ctx context.Context) ([]recent.Entry, error) {
	return ask(ctx, h.loop, func() []recent.Entry { return h.c.learned.Latest(h.Text) })
}
