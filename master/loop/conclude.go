package loop

import (
	"context"
	"errors"
	"slices"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// ErrLarge says that a part is larger than a part may be.
var ErrLarge = errors.New("the part is too large")

// Evidence is what the tree itself contributes to the certificate of a settled campaign.
type Evidence struct {
	Settled    tree.Settled
	Won        []proof.Entry
	FirstMoves []graph.FirstMove
	Nodes      uint64
}

// Conclusion is what is known of a settled campaign after its certificate was made and checked.
type Conclusion struct {
	Winner     string // first, second, white or black; empty where no given first move wins
	Verified   bool   // the checker of this machine accepted the certificate
	VerifiedBy string // workers, where it was the farm's checkers that accepted all of its parts
	File       store.CertificateFile
	// WinningMoves are those of the root that are known to win, sorted. The tree does not know them where one lease
	// settled the root.
	WinningMoves []string
	// Answer are the facts that the tree's own part of the proof proves, if it has one. The store holds this part.
	Answer []proof.Fact
}

// PhaseSearching is the phase in which workers search.
const PhaseSearching = "searching"

// phases are the phases of a campaign, in the order in which it goes through them.
var phases = []string{PhaseSearching, "extracting", "delivering", "verifying", "assembling", "checking"}

// Phase is what is being done, and how much of it.
type Phase struct {
	Name        string // searching, extracting, delivering, verifying, assembling or checking; empty: nothing
	Done, Total uint64 // first moves, positions, bytes or parts; a Total of 0 is not known
}

// settle begins to conclude a campaign whose tree is settled.
func (l *Loop) settle(c *campaign, e tree.Settled) {
	if c.settled != nil || c.stopped != nil {
		return
	}
	c.settled = &e
	c.state, c.why = StateAssembling, "the winner is known; its certificate is being put together"
	c.phase = Phase{Name: StateAssembling}
	c.evidence = Evidence{Settled: e, Won: slices.Collect(c.Tree.WonNodes()), FirstMoves: c.Tree.FirstMoves(),
		Nodes: c.Tree.Status().Spent}
	l.begin(c)
}

// concludeIn concludes a campaign, beside the loop, when it is its turn.
func (l *Loop) concludeIn(ctx context.Context, turns chan struct{}, c *campaign, evidence Evidence, generation int) {
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return
	}
	// still does something unless the tree was made anew meanwhile, or the campaign stopped for another reason.
	still := func(something func()) {
		_ = l.do(ctx, func() {
			if generation == c.generation && c.stopped == nil {
				something()
			}
		})
	}
	conclusion, err := c.Conclude(ctx, evidence, func(state, why string, p Phase) {
		still(func() { c.state, c.why, c.phase = state, why, p })
	})
	still(func() { l.concluded(c, conclusion, err) })
}

// retry puts together again what found no room a while ago. Other campaigns go on meanwhile.
func (l *Loop) retry() {
	for _, c := range l.campaigns() {
		if c.again > 0 {
			if c.again--; c.again == 0 {
				l.begin(c)
			}
		}
	}
}

// concluded notes what About.Conclude says. Without room it is asked again after a while.
func (l *Loop) concluded(c *campaign, conclusion Conclusion, err error) {
	wrong, partsFalse := errors.AsType[*checks.FalsePartsError](err)
	switch {
	case errors.Is(err, checks.ErrRetracted): // its tree is about to be made anew
	case partsFalse && !errors.Is(err, ErrOwn) && (c.Recheck != nil || errors.Is(err, ErrLost)):
		l.retract(c, wrong.IDs, err)
	case errors.Is(err, store.ErrNoRoom) || disk.Crowded(err):
		if c.homeless == nil {
			l.cfg.Metrics.spacePauses.Inc()
			l.cfg.Log.Error("the certificate finds no room; it is put together again every half minute", "campaign",
				c.Name, "reason", err)
		}
		c.homeless, c.again = err, againTicks
	case err != nil:
		l.stop(c, err)
	default:
		c.conclusion, c.phase, c.homeless = &conclusion, Phase{}, nil
		c.state, c.why = StateSettled, "the winner is known"
		if conclusion.Winner == "" {
			c.why = "no given first move wins"
		}
		if conclusion.Verified || conclusion.VerifiedBy != "" {
			c.why += " and the certificate is verified"
		}
		l.cfg.Log.Info("campaign settled", "campaign", c.Name, "winner", conclusion.Winner, "certificate",
			conclusion.File.Path)
		learned := tree.Proved{Facts: conclusion.Answer} // of no worker
		for _, f := range conclusion.Answer {
			learned.Certificates = append(learned.Certificates, f.Certificate)
		}
		l.stepOf(c.Number, l.founded(c.Number, learned))
	}
}

// stop ends a campaign because of something that a person has to look at.
func (l *Loop) stop(c *campaign, err error) {
	if c.stopped != nil {
		return
	}
	c.stopped, c.state, c.why, c.phase = err, StateStopped, err.Error(), Phase{}
	c.homeless, c.again = nil, 0
	l.cfg.Log.Error("campaign stopped", "campaign", c.Name, "error", err)
}
