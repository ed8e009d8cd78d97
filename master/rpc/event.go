package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/outlook"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// event translates a message of a worker. An error ends the stream: a sound worker does not cause it.
// unfounded says what the worker claims against its own evidence, nil if nothing.
func (f *farmService) event(worker string, msg *farmv1.WorkRequest) (e loop.Event, unfounded, err error) {
	switch k := msg.GetKind().(type) {
	case *farmv1.WorkRequest_Ready:
		return loop.Event{Tree: tree.Ready{Worker: worker}}, nil, nil
	case *farmv1.WorkRequest_Progress:
		p := k.Progress
		c, err := f.campaign(p.GetCampaign())
		if err == nil && !(p.GetTableFill() >= 0 && p.GetTableFill() <= 1) {
			err = status.Errorf(codes.InvalidArgument, "a table is %v full; 0 to 1 is possible", p.GetTableFill())
		}
		return loop.Event{
			Campaign: c,
			Tree: tree.Progress{Worker: worker, Lease: tree.LeaseID(p.GetLease()), Epoch: p.GetEpoch(),
				Nodes: p.GetNodes(), Activity: p.GetEvaluations()},
			Evaluations: p.GetEvaluations(), TableFill: p.GetTableFill(), Phase: workPhase(p.GetPhase()),
			Outlook: readOutlook(p.GetOutlook()),
		}, nil, err
	case *farmv1.WorkRequest_Facts:
		return f.factsEvent(worker, k.Facts)
	case *farmv1.WorkRequest_Result:
		return f.resultEvent(worker, k.Result)
	case *farmv1.WorkRequest_Hello:
		return e, nil, status.Error(codes.InvalidArgument, "hello comes once, first")
	}
	return e, nil, status.Error(codes.InvalidArgument, "a message of no known kind")
}

// readOutlook reads what a search knows of its position, nil where that makes no sense.
func readOutlook(o *farmv1.Outlook) *outlook.Outlook {
	if o == nil || max(len(o.GetChildren()), len(o.GetNodes())) > outlook.MaxChildren ||
		!(o.GetEvidence() >= 0 && o.GetEvidence() <= 1) {
		return nil
	}
	return &outlook.Outlook{Phi: o.GetPhi(), Delta: o.GetDelta(), Children: string(o.GetChildren()),
		Nodes: o.GetNodes(), Evidence: o.GetEvidence()}
}

// workPhase reads the phase of a lease. A name that is none of ours says nothing.
func workPhase(p *farmv1.Phase) loop.Phase {
	if name := p.GetName(); name == "extracting" || name == "delivering" {
		return loop.Phase{Name: name, Done: min(p.GetDone(), 1<<60), Total: min(p.GetTotal(), 1<<60)}
	}
	return loop.Phase{}
}

// campaign returns the campaign that a message of a worker names.
func (f *farmService) campaign(number uint32) (*loop.About, error) {
	c, err := f.loop.Numbered(number)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return c, nil
}

// factsEvent translates facts in the middle of a lease.
func (f *farmService) factsEvent(worker string, m *farmv1.Facts) (e loop.Event, unfounded, err error) {
	c, err := f.campaign(m.GetCampaign())
	if err != nil {
		return e, nil, err
	}
	facts, err := f.facts(c, m.GetFacts())
	if err != nil {
		return e, nil, err
	}
	e = loop.Event{Campaign: c, Serial: m.GetSerial(), Refused: facts.refused, Tree: tree.Proved{
		Worker: worker, Lease: tree.LeaseID(m.GetLease()), Epoch: m.GetEpoch(), Nodes: m.GetNodes(),
		Facts: facts.list, Certificates: facts.certificates}}
	if len(m.GetHints()) > 0 {
		key, err := keyIn(c, m.GetKey())
		if err != nil {
			return e, nil, err
		}
		e.Hint = hints.Hint{Place: hints.Place{Campaign: c.Number, Key: key}, Data: m.GetHints()}
	}
	return e, facts.unfounded, nil
}

// resultEvent translates the result of a lease.
func (f *farmService) resultEvent(worker string, r *farmv1.Result) (e loop.Event, unfounded, err error) {
	c, err := f.campaign(r.GetCampaign())
	if err != nil {
		return e, nil, err
	}
	key, err := keyIn(c, r.GetKey())
	if err != nil {
		return e, nil, err
	}
	verdict, err := farmv1.ReadVerdict(r.GetVerdict())
	if err != nil {
		return e, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	facts, err := f.facts(c, r.GetFacts())
	if err != nil {
		return e, nil, err
	}
	unfounded = facts.unfounded
	// A verdict without a fact has no part behind it, so nobody could check it.
	if verdict != eval.Open && !slices.ContainsFunc(r.GetFacts(), func(f *farmv1.Fact) bool {
		return f.GetVerdict() == r.GetVerdict() && bytes.Equal(f.GetKey(), r.GetKey())
	}) {
		unfounded = fmt.Errorf("%s is said to be %v, and no fact says so", c.Text(key), verdict)
	}
	if !(r.GetSeconds() >= 0 && r.GetSeconds() <= math.MaxFloat32) {
		return e, nil, status.Errorf(codes.InvalidArgument, "a search of %v seconds", r.GetSeconds())
	}
	if _, err := numbers.Count(r.GetChildren()); err != nil {
		return e, nil, status.Errorf(codes.InvalidArgument, "children of a result: %v", err)
	}
	return loop.Event{
		Campaign: c, Serial: r.GetSerial(), Refused: facts.refused, Evaluations: r.GetEvaluations(),
		Hint: hints.Hint{Place: hints.Place{Campaign: c.Number, Key: key}, Data: r.GetHints()},
		Tree: tree.Result{
			Worker: worker, Lease: tree.LeaseID(r.GetLease()), Epoch: r.GetEpoch(), Key: key, Verdict: verdict,
			Phi: r.GetPhi(), Delta: r.GetDelta(), Nodes: r.GetNodes(), Facts: facts.list,
			Certificates: facts.certificates, Cancelled: r.GetCancelled(), Children: r.GetChildren(),
		}}, unfounded, nil
}

// keyIn reads a position that a campaign can reach.
func keyIn(c *loop.About, p []byte) (amazons.Key, error) {
	k, _, err := farmv1.ReadKey(c.Root.Board, p)
	if err == nil {
		err = reachable(c, k)
	}
	if err != nil {
		return amazons.Key{}, status.Error(codes.InvalidArgument, err.Error())
	}
	return k, nil
}

// reachable returns an error for a position of the board with other queens than the campaign's, or
// with fewer arrows than its root.
func reachable(c *loop.About, k amazons.Key) error {
	root := c.Root
	s, err := k.State(root.Board)
	if err != nil {
		return err
	}
	// Each move shoots one arrow and gives the turn to the other side. So an odd number of new arrows means
	// that the sides have changed places. Whether the position is in the tree is for the tree to say.
	arrows := s.Arrows(root.Board) - root.Arrows()
	own, opp := root.State().Own, root.State().Opp
	if arrows%2 != 0 {
		own, opp = opp, own
	}
	if arrows < 0 || bits.OnesCount64(s.Own) != bits.OnesCount64(own) ||
		bits.OnesCount64(s.Opp) != bits.OnesCount64(opp) {
		return fmt.Errorf("bad position: %s does not come from the campaign's root", c.Text(k))
	}
	return nil
}

// foundFacts are the facts of a message with their evidence.
type foundFacts struct {
	list         []proof.Fact
	certificates []proof.ID
	refused      []string // what was left out, and why
	unfounded    error    // what is claimed against its own evidence, nil: nothing
}

// facts reads facts and looks up their evidence. A fact whose certificate is not stored, or does not
// claim it, is left out and refused says why; the latter is unfounded as well. A message that is
// malformed is an error.
func (f *farmService) facts(c *loop.About, list []*farmv1.Fact) (found foundFacts, err error) {
	if len(list) > f.cfg.Limits.Facts {
		return found, status.Errorf(codes.ResourceExhausted, "%d facts in a message, the limit is %d", len(list),
			f.cfg.Limits.Facts)
	}
	// Many facts of a message name one part, which is looked up once. Claims of nil stand for a part
	// that cannot be used: its facts are left out, and the reason is given once.
	seen := map[proof.ID]map[amazons.Key]eval.Verdict{}
	for _, m := range list {
		fact, err := farmv1.ReadFact(c.Root.Board, m)
		if err == nil {
			err = reachable(c, fact.Key)
		}
		if err == nil && fact.Certificate == (proof.ID{}) {
			err = errors.New("a fact needs the SHA-256 of its certificate")
		}
		if err != nil {
			return found, status.Error(codes.InvalidArgument, err.Error())
		}
		id := fact.Certificate
		claims, known := seen[id]
		if !known {
			claims, err = f.claims(c, id)
			switch {
			case errors.Is(err, loop.ErrOther):
				found.unfounded = fmt.Errorf("certificate %v: %w", id, err)
				found.refused = append(found.refused, found.unfounded.Error())
			case errors.Is(err, store.ErrNoCertificate), errors.Is(err, store.ErrCorrupt):
				found.refused = append(found.refused,
					fmt.Sprintf("certificate %v is named by a fact and was not uploaded, or is lost since", id))
			case err != nil: // the worker did nothing wrong, and comes again
				return found, status.Errorf(codes.Unavailable, "stored certificate %v: %v", id, err)
			default:
				found.certificates = append(found.certificates, id)
			}
			seen[id] = claims
		}
		if claims == nil {
			continue
		}
		// A position that the part does not claim is Open here, which no fact is.
		if claims[fact.Key] != fact.Verdict {
			found.unfounded = fmt.Errorf("certificate %v does not claim that %s is %v for the side to move", id,
				c.Text(fact.Key), fact.Verdict)
			found.refused = append(found.refused, found.unfounded.Error())
			continue
		}
		found.list = append(found.list, fact)
	}
	return found, nil
}
