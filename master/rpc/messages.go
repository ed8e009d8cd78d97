package rpc

import (
	"cmp"
	"slices"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
)

// answerMessage writes an answer of the loop to a worker.
func (f *farmService) answerMessage(a loop.Answer) *farmv1.WorkResponse {
	switch a := a.(type) {
	case loop.Lease:
		l := &farmv1.Lease{Id: uint64(a.ID), Epoch: a.Epoch, Key: farmv1.WriteKey(a.Key), Patient: a.Patient,
			Parent: farmv1.WriteParent(a.Parent), BudgetNodes: a.Budget, Campaign: campaignMessage(a.Campaign, false),
			Hints: a.Hints}
		farmv1.CarryFacts(l, a.Facts)
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: l}}
	case loop.News:
		n := &farmv1.News{Campaign: a.Campaign}
		farmv1.CarryFacts(n, a.Facts)
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_News{News: n}}
	case loop.Cancel:
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{
			Lease: uint64(a.Lease), Reason: a.Reason.String(), Campaign: a.Campaign}}}
	case loop.Check:
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Check{Check: f.checkMessage(a)}}
	case loop.NoWork:
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_NoWork{NoWork: &farmv1.NoWork{
			Reason: a.Reason.String()}}}
	case loop.Ack:
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Ack{Ack: &farmv1.Ack{Serial: a.Serial,
			Refused: a.Refused, OldLease: a.OldLease, FactsRefused: a.FactsRefused}}}
	case loop.Hold:
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Hold{Hold: &farmv1.Hold{Reason: a.Why}}}
	case loop.Finished:
		return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Finished{Finished: &farmv1.Finished{Reason: a.Why}}}
	}
	panic("an answer of no known kind")
}

// campaignMessage describes a campaign to workers and operators.
func campaignMessage(c *loop.About, moves bool) *farmv1.Campaign {
	out := &farmv1.Campaign{Board: c.Root.Board.String(), Root: c.Root.String(), RulesOnly: c.RulesOnly,
		Number: c.Number, Name: c.Name}
	if moves {
		out.FirstMoves = farmv1.WriteMoves(c.FirstMoves)
	}
	return out
}

// statusMessage writes a view, which may have come with an error.
func statusMessage(v loop.View, err error) (*farmv1.StatusResponse, error) {
	if err != nil {
		return nil, err
	}
	t := v.Tree
	out := &farmv1.StatusResponse{
		Campaign: campaignMessage(v.About, true), State: v.State, Why: v.Why, Verdict: farmv1.WriteVerdict(t.Verdict),
		RootPhi: t.Phi, RootDelta: t.Delta, Nodes: t.Spent, RunningNodes: t.Running, Seconds: v.Seconds,
		TreePositions: uint64(t.Nodes), Frontier: uint64(t.Frontier), Leased: uint64(t.Leased),
		SetAside: uint64(t.Aside), FactsWon: uint64(t.FactsWon), FactsLost: uint64(t.FactsLost),
		Certificates: uint64(v.Certs), CertificateBytes: uint64(v.CertBytes),
		Workers: farmv1.WriteCount(v.Connected), StoreFile: v.StoreFile, Quarantined: farmv1.WriteCount(v.Quarantined),
		Priority: int32(v.Priority), Share: uint32(v.Share), Winner: cli.WinnerName(v.Root, t.Verdict),
		Phase: phaseMessage(v.Phase), Evidence: v.Evidence,
	}
	for _, each := range v.All {
		out.Campaigns = append(out.Campaigns, summaryMessage(each))
	}
	if c := v.Conclusion; c != nil {
		out.Verified, out.CertificateFile, out.CertificatePositions = c.Verified, c.File.Path, c.File.Positions
		out.CertificateFileBytes, out.CertificateSha256 = uint64(c.File.Bytes), c.File.SHA256
		out.VerifiedBy = c.VerifiedBy
	}
	for _, f := range t.FirstMoves {
		// The position's verdict is for its side to move; the move's is for the other side.
		out.FirstMoves = append(out.FirstMoves, &farmv1.FirstMove{Move: f.Move.String(),
			Verdict: farmv1.WriteVerdict(f.Verdict.Other()), Phi: f.Phi,
			Delta: f.Delta, Nodes: f.Nodes, Leased: f.Leased, Expanded: f.Expanded})
	}
	return out, nil
}

// summaryMessage writes the parts of a view that tell campaigns apart.
func summaryMessage(v loop.View) *farmv1.CampaignSummary {
	t := v.Tree
	return &farmv1.CampaignSummary{
		Campaign: campaignMessage(v.About, false), State: v.State, Why: v.Why, Priority: int32(v.Priority),
		Share: uint32(v.Share), RootPhi: t.Phi, RootDelta: t.Delta, Nodes: t.Spent, RunningNodes: t.Running,
		Leased: uint64(t.Leased), Winner: cli.WinnerName(v.Root, t.Verdict),
		Verified: v.Conclusion != nil && v.Conclusion.Verified,
	}
}

// phaseMessage writes a phase, nil where there is none.
func phaseMessage(p loop.Phase) *farmv1.Phase {
	if p.Name == "" {
		return nil
	}
	return &farmv1.Phase{Name: p.Name, Done: p.Done, Total: p.Total}
}

func workerMessages(list []loop.Member) []*farmv1.Worker {
	var out []*farmv1.Worker
	for _, w := range list {
		out = append(out, &farmv1.Worker{
			Name: w.Name, Address: w.Address, Build: w.Build, Cores: w.Cores, TableBytes: w.TableBytes,
			ConnectedSeconds: w.Connected, SilentSeconds: w.Silent, Nodes: w.Nodes, Results: w.Results, Facts: w.Facts,
			TableFill: w.TableFill, Confirmed: uint64(w.Confirmed), Contradicted: farmv1.WriteCount(w.Contradicted),
			Offences: farmv1.WriteCount(w.Offences), Campaign: w.Campaign, Lease: uint64(w.Lease), Position: w.Position,
			LeaseNodes: w.LeaseNodes, BudgetNodes: w.LeaseBudget, LeaseSeconds: w.LeaseSeconds,
			Phase: phaseMessage(w.Phase),
		})
	}
	return out
}

func quarantinesMessage(list []trust.Quarantine) *farmv1.QuarantinesResponse {
	out := new(farmv1.QuarantinesResponse)
	for _, q := range list {
		out.Quarantines = append(out.Quarantines, &farmv1.Quarantine{Name: q.Name, Credential: q.Credential,
			Since: q.Since.Unix(), Offences: farmv1.WriteCount(q.Offences), Offence: q.Offence, Why: q.Why,
			Worker: q.Worker, Address: q.Address})
	}
	return out
}

// ExploreMessage writes what is known of a position.
func ExploreMessage(p amazons.Position, e explore.Explored) *farmv1.ExploreResponse {
	here := knownMessage(e.At)
	after := make(map[amazons.Move]*farmv1.Known, len(e.Moves))
	for _, m := range e.Moves {
		after[m.Move] = knownMessage(m.After)
	}
	if e.Proved != nil {
		believe(here, e.Proved.Verdict)
		for m, o := range e.Proved.After {
			believe(after[m], o)
		}
	}
	out := &farmv1.ExploreResponse{Position: p.String(), Known: here, Line: farmv1.WriteMoves(e.Line)}
	for _, m := range e.Moves {
		out.Moves = append(out.Moves, &farmv1.ExploredMove{Move: m.Move.String(), After: after[m.Move]})
	}
	// The verdict is that of the side to move after the move. So lost positions are winning moves, and
	// come first.
	rank := [...]int{farmv1.Verdict_VERDICT_LOST: 0, farmv1.Verdict_VERDICT_UNSPECIFIED: 1,
		farmv1.Verdict_VERDICT_WON: 2}
	slices.SortStableFunc(out.Moves, func(a, b *farmv1.ExploredMove) int {
		return cmp.Compare(rank[a.GetAfter().GetVerdict()], rank[b.GetAfter().GetVerdict()])
	})
	return out
}

// believe gives a position that the tree does not know the outcome that a certificate proves.
func believe(k *farmv1.Known, o eval.Verdict) {
	if k.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED || o == eval.Open {
		return
	}
	k.Verdict, k.Basis = farmv1.WriteVerdict(o), "certificate"
	k.Phi, k.Delta = graph.NumbersOf(o)
}

func knownMessage(p graph.Position) *farmv1.Known {
	return &farmv1.Known{
		Verdict: farmv1.WriteVerdict(p.Verdict), Basis: p.Basis.String(), Phi: p.Phi, Delta: p.Delta, Nodes: p.Nodes,
		AtLeast: p.AtLeast, InTree: p.InTree, Expanded: p.Expanded, Leased: p.Leased, SetAside: p.Aside,
	}
}
