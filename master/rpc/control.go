package rpc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
)

// controlService is what operators call.
type controlService struct {
	farmv1.UnimplementedControlServer
	master *Master
}

func (c *controlService) Status(ctx context.Context, r *farmv1.StatusRequest) (*farmv1.StatusResponse, error) {
	h, err := c.master.Of(r.GetCampaign())
	if err != nil {
		return nil, err
	}
	return h.Status(ctx)
}

// Status asks the loop how far the first campaign is.
func (m *Master) Status(ctx context.Context) (*farmv1.StatusResponse, error) {
	return (&Handle{m, m.first()}).Status(ctx)
}

// The shortest and the longest period of Watch.
const (
	minWatchPeriod = 100 * time.Millisecond
	maxWatchPeriod = time.Hour
)

func (c *controlService) Watch(r *farmv1.WatchRequest, stream farmv1.Control_WatchServer) error {
	seconds := r.GetPeriodSeconds()
	if seconds == 0 {
		seconds = 1
	}
	if !(seconds >= minWatchPeriod.Seconds() && seconds <= maxWatchPeriod.Seconds()) {
		return status.Errorf(codes.InvalidArgument, "a period is 0 (one second) or %v to %v", minWatchPeriod,
			maxWatchPeriod)
	}
	h, err := c.master.Of(r.GetCampaign())
	if err != nil {
		return err
	}
	ctx := stream.Context()
	ticker := time.NewTicker(time.Duration(seconds * float64(time.Second)))
	defer ticker.Stop()
	var last *farmv1.StatusResponse
	for {
		now, err := h.Status(ctx)
		if err != nil {
			return err
		}
		same := proto.Clone(now).(*farmv1.StatusResponse)
		same.Seconds = last.GetSeconds()
		if last == nil || !proto.Equal(same, last) {
			if err := stream.Send(now); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-ticker.C:
		case <-c.master.done:
			return errEnded
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

func (c *controlService) Workers(ctx context.Context, _ *farmv1.WorkersRequest) (*farmv1.WorkersResponse, error) {
	list, err := c.master.Workers(ctx)
	if err != nil {
		return nil, err
	}
	return &farmv1.WorkersResponse{Workers: list}, nil
}

// Workers asks the loop who is there and what they do, in the order they joined.
func (m *Master) Workers(ctx context.Context) ([]*farmv1.Worker, error) {
	reply := make(chan []*farmv1.Worker, 1)
	return await(ctx, m, workersQuery{reply}, reply)
}

// command has the loop take an event for all campaigns, and returns the status of the first.
func (c *controlService) command(ctx context.Context, ev tree.Event, end error) (*farmv1.StatusResponse, error) {
	v, err := c.master.command(ctx, ev, end)
	if err != nil {
		return nil, err
	}
	return c.master.first().statusMessage(v), nil
}

// change changes the settings of a campaign and returns its status.
func (c *controlService) change(ctx context.Context, name string, change Change) (*farmv1.StatusResponse, error) {
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "a campaign has to be named")
	}
	h, err := c.master.Of(name)
	if err != nil {
		return nil, err
	}
	if err := h.Change(ctx, change); err != nil {
		return nil, err
	}
	return h.Status(ctx)
}

func (c *controlService) Pause(ctx context.Context, r *farmv1.PauseRequest) (*farmv1.StatusResponse, error) {
	if r.GetCampaign() == "" {
		return c.command(ctx, tree.Pause{}, nil)
	}
	return c.change(ctx, r.GetCampaign(), Change{Paused: new(true)})
}

func (c *controlService) Resume(ctx context.Context, r *farmv1.ResumeRequest) (*farmv1.StatusResponse, error) {
	if r.GetCampaign() == "" {
		return c.command(ctx, tree.Resume{}, nil)
	}
	return c.change(ctx, r.GetCampaign(), Change{Paused: new(false)})
}

func (c *controlService) Drain(ctx context.Context, _ *farmv1.DrainRequest) (*farmv1.StatusResponse, error) {
	return c.command(ctx, tree.Drain{}, ErrDrained)
}

func (c *controlService) Quarantines(context.Context, *farmv1.QuarantinesRequest) (*farmv1.QuarantinesResponse, error) {
	return quarantinesMessage(c.master.Quarantines()), nil
}

func (c *controlService) Release(_ context.Context, r *farmv1.ReleaseRequest) (*farmv1.QuarantinesResponse, error) {
	list, err := c.master.Release(r.GetName())
	switch {
	case errors.Is(err, ErrNotQuarantined):
		return nil, status.Error(codes.NotFound, err.Error())
	case err != nil:
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return quarantinesMessage(list), nil
}

func quarantinesMessage(list []Quarantine) *farmv1.QuarantinesResponse {
	out := new(farmv1.QuarantinesResponse)
	for _, q := range list {
		out.Quarantines = append(out.Quarantines, &farmv1.Quarantine{Name: q.Name, Credential: q.Certificate,
			Since:    q.Since.Unix(),
			Offences: farmv1.WriteCount(q.Offences), Offence: q.Offence, Why: q.Why, Worker: q.Worker, Address: q.Address})
	}
	return out
}

func (c *controlService) SetCampaign(ctx context.Context, r *farmv1.SetCampaignRequest) (*farmv1.StatusResponse,
	error) {
	var change Change
	if r.Priority != nil {
		change.Priority = new(int(r.GetPriority()))
	}
	if r.Share != nil {
		change.Share = new(int(r.GetShare()))
	}
	return c.change(ctx, r.GetCampaign(), change)
}

func (c *controlService) EndCampaign(ctx context.Context, r *farmv1.EndCampaignRequest) (*farmv1.StatusResponse,
	error) {
	return c.change(ctx, r.GetCampaign(), Change{End: true})
}

func (c *controlService) AddCampaign(ctx context.Context, r *farmv1.AddCampaignRequest) (*farmv1.StatusResponse,
	error) {
	root, err := amazons.ParsePosition(r.GetPosition())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	asked := Asked{Name: r.GetName(), Root: root, RulesOnly: r.GetRulesOnly(), Priority: int(r.GetPriority()),
		Share: int(r.GetShare())}
	for _, text := range r.GetFirstMoves() {
		m, err := root.ParseMove(text)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "first move: %v", err)
		}
		if !slices.Contains(asked.FirstMoves, m) {
			asked.FirstMoves = append(asked.FirstMoves, m)
		}
	}
	slices.SortFunc(asked.FirstMoves, func(a, b amazons.Move) int { return strings.Compare(a.String(), b.String()) })
	h, err := c.master.Add(ctx, asked)
	if err != nil {
		return nil, err
	}
	return h.Status(ctx)
}

// statusMessage writes a view as the contract has it.
func (c *campaign) statusMessage(v View) *farmv1.StatusResponse {
	t := v.Tree
	out := &farmv1.StatusResponse{
		Campaign: c.message(true), State: v.State, Why: v.Why, Verdict: farmv1.WriteVerdict(t.Verdict),
		RootPhi: t.Phi, RootDelta: t.Delta, Nodes: t.Spent, RunningNodes: t.Running, Seconds: v.Seconds,
		TreePositions: uint64(t.Nodes), Frontier: uint64(t.Frontier), Leased: uint64(t.Leased), SetAside: uint64(t.Aside),
		FactsWon: uint64(t.FactsWon), FactsLost: uint64(t.FactsLost),
		Certificates: uint64(v.Certs), CertificateBytes: uint64(v.CertBytes),
		Workers: farmv1.WriteCount(v.Connected), StoreFile: v.StoreFile, Quarantined: farmv1.WriteCount(v.Quarantined),
		Priority: int32(v.Priority), Share: uint32(v.Share), Campaigns: v.Campaigns,
	}
	if t.Verdict != eval.Open {
		out.Winner = cli.WinnerName(c.Root, t.Verdict == eval.Won)
	}
	if c := v.Conclusion; c != nil {
		out.Verified, out.CertificateFile, out.CertificatePositions = c.Verified, c.File, c.Positions
		out.CertificateFileBytes, out.CertificateSha256 = c.Bytes, c.SHA256
	}
	for _, f := range t.FirstMoves {
		// The position's verdict is for its side to move; the move's is for the other side.
		out.FirstMoves = append(out.FirstMoves, &farmv1.FirstMove{Move: f.Move.String(),
			Verdict: farmv1.WriteVerdict(f.Verdict.Other()), Phi: f.Phi, Delta: f.Delta, Nodes: f.Nodes,
			Leased: f.Leased, Expanded: f.Expanded})
	}
	return out
}

// summary writes the parts of a view that tell campaigns apart.
func (c *campaign) summary(v View) *farmv1.CampaignSummary {
	t := v.Tree
	out := &farmv1.CampaignSummary{
		Campaign: c.message(false), State: v.State, Why: v.Why, Priority: int32(v.Priority), Share: uint32(v.Share),
		RootPhi: t.Phi, RootDelta: t.Delta, Nodes: t.Spent, RunningNodes: t.Running, Leased: uint64(t.Leased),
	}
	if t.Verdict != eval.Open {
		out.Winner = cli.WinnerName(c.Root, t.Verdict == eval.Won)
	}
	out.Verified = v.Conclusion != nil && v.Conclusion.Verified
	return out
}
