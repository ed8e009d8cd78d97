package agent

import (
	"fmt"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/worker/engine"
)

// campaign is one of the questions that a master has its workers search for. Two masters may give
// one number to different ones.
type campaign struct {
	number uint32
	root   string // as text
	board  amazons.Board
	rules  bool // rules only
}

// campaignOf reads a campaign of the wire. Errors wrap ErrProtocol.
func campaignOf(m *farmv1.Campaign) (campaign, error) {
	root, err := amazons.ParsePosition(m.GetRoot())
	if err != nil {
		return campaign{}, fmt.Errorf("%w: root of campaign %d: %v", ErrProtocol, m.GetNumber(), err)
	}
	return campaign{m.GetNumber(), root.String(), root.Board, m.GetRulesOnly()}, nil
}

// maxCampaigns bounds the campaigns of one master that a worker remembers, some hundred bytes each:
// more than any master has.
const maxCampaigns = 1 << 14

// note remembers a campaign that a lease names. The error wraps ErrProtocol.
func (a *agent) note(c campaign) error {
	if _, known := a.campaigns[c.number]; !known && len(a.campaigns) >= maxCampaigns {
		return fmt.Errorf("%w: it names more than %d campaigns", ErrProtocol, maxCampaigns)
	}
	a.campaigns[c.number] = c
	return nil
}

// meet notes the campaigns of the master that was joined, and drops what waits for others: it would
// be taken for something else.
func (a *agent) meet(r *farmv1.JoinResponse) error {
	all := r.GetCampaigns()
	if len(all) > maxCampaigns {
		return fmt.Errorf("%w: it names %d campaigns, where %d are allowed", ErrProtocol, len(all), maxCampaigns)
	}
	if len(all) == 0 {
		all = []*farmv1.Campaign{r.GetCampaign()}
	}
	a.campaigns = map[uint32]campaign{}
	for i, m := range all {
		c, err := campaignOf(m)
		if err != nil {
			return err
		}
		if i == 0 {
			a.first = c
		}
		a.campaigns[c.number] = c
	}
	kept := a.waiting[:0]
	for _, p := range a.waiting {
		if a.wanted(p) {
			kept = append(kept, p)
		}
	}
	clear(a.waiting[len(kept):])
	a.waiting = kept
	if a.lease != nil && a.campaigns[a.lease.of.number] != a.lease.of {
		a.lease.cancel()
	}
	return nil
}

// wanted reports whether a parcel is for a campaign of the present master, and notes where it is not.
func (a *agent) wanted(p *parcel) bool {
	if a.campaigns[p.of.number] == p.of {
		return true
	}
	a.Log.Warn("what was found out is dropped: the master has another campaign of that number", "campaign", p.of.number,
		"root", p.of.root)
	a.Stats.Refused.Add(1)
	return false
}

// ready readies the engine for a campaign. One for the same board and kind of proof goes on with
// its table; for another one a new engine takes the place of the old one, since an entry of the
// table does not say what board it is of.
func (a *agent) ready(c campaign) error {
	if a.solver != nil && a.board == c.board && a.rules == c.rules {
		return nil
	}
	if a.solver != nil {
		a.Log.Info("changing to another board", "campaign", c.number, "root", c.root)
		err := a.solver.Close()
		a.solver = nil
		if err != nil {
			return fmt.Errorf("%w: %w", errEngine, err)
		}
	}
	o := a.engine
	o.Board, o.RulesOnly = c.board, c.rules
	solver, err := a.NewSolver(o)
	if err != nil {
		return fmt.Errorf("%w: %w", errEngine, err)
	}
	a.solver, a.board, a.rules = solver, c.board, c.rules
	return nil
}

// hear tells the engine of facts that others have proved. Those of another board than that of its
// table are passed over. Errors wrap ErrProtocol.
func (a *agent) hear(m *farmv1.News) error {
	of, ok := a.campaigns[m.GetCampaign()]
	if m.GetCampaign() == 0 {
		of, ok = a.first, true
	}
	if !ok || a.solver == nil || a.board != of.board || a.rules != of.rules {
		return nil
	}
	facts, err := readFacts(of.board, m.GetFacts())
	if err != nil {
		return fmt.Errorf("news: %w", err)
	}
	a.solver.Learn(facts)
	return nil
}

// engineOf returns what the answer to Join says about engines.
func (a *agent) engineOf(r *farmv1.JoinResponse) engine.Config {
	return engine.Config{
		TableBytes: a.TableBytes, Cores: a.Cores,
		MinFactNodes: max(1, r.GetMinFactNodes()), MaxFacts: factLimit(r.GetMaxFactsPerMessage()),
		MaxEntries: a.MaxEntries,
		MaxMemory:  int(min(r.GetMaxMemoryEntries(), 1<<18)), Log: a.Log,
	}
}
