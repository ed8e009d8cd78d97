package rpc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// controlService is what operators call.
// It does not ask who calls: the guard has done that, and without a guard everybody may call it.
type controlService struct {
	farmv1.UnimplementedControlServer
	loop    *loop.Loop
	backups chan struct{} // a token for the one that runs
	log     *slog.Logger
}

func newControlService(l *loop.Loop, log *slog.Logger) *controlService {
	return &controlService{loop: l, backups: make(chan struct{}, 1), log: log}
}

func (c *controlService) Status(ctx context.Context, r *farmv1.StatusRequest) (*farmv1.StatusResponse, error) {
	h, err := CampaignOf(c.loop, r.GetCampaign())
	if err != nil {
		return nil, err
	}
	return h.Status(ctx)
}

// The shortest and the longest period of Watch.
const (
	minWatchPeriod = 100 * time.Millisecond
	maxWatchPeriod = time.Hour
)

// Watch sends the status at once, and then after each period in which it has changed. The seconds of the
// campaign always change, so they alone are no change.
func (c *controlService) Watch(r *farmv1.WatchRequest, stream farmv1.Control_WatchServer) error {
	seconds := cmp.Or(r.GetPeriodSeconds(), 1)
	if !(seconds >= minWatchPeriod.Seconds() && seconds <= maxWatchPeriod.Seconds()) {
		return status.Errorf(codes.InvalidArgument, "a period is 0 (one second) or %v to %v", minWatchPeriod,
			maxWatchPeriod)
	}
	h, err := CampaignOf(c.loop, r.GetCampaign())
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
		case <-c.loop.Done():
			return loop.ErrEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *controlService) Workers(ctx context.Context, _ *farmv1.WorkersRequest) (*farmv1.WorkersResponse, error) {
	list, err := c.loop.Workers(ctx)
	return &farmv1.WorkersResponse{Workers: workerMessages(list)}, err
}

// do carries out an event for all campaigns, and returns the status of the first.
func (c *controlService) do(ctx context.Context, ev tree.Event) (*farmv1.StatusResponse, error) {
	return statusMessage(c.loop.Do(ctx, ev))
}

// change changes the settings of a campaign and returns its status.
func (c *controlService) change(ctx context.Context, name string, change store.Change) (*farmv1.StatusResponse, error) {
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "a campaign has to be named")
	}
	h, err := c.loop.Of(name)
	if err != nil {
		return nil, err
	}
	return statusMessage(h.Change(ctx, change))
}

func (c *controlService) Pause(ctx context.Context, r *farmv1.PauseRequest) (*farmv1.StatusResponse, error) {
	if r.GetCampaign() == "" {
		return c.do(ctx, tree.Pause{})
	}
	return c.change(ctx, r.GetCampaign(), store.Change{Paused: new(true)})
}

func (c *controlService) Resume(ctx context.Context, r *farmv1.ResumeRequest) (*farmv1.StatusResponse, error) {
	if r.GetCampaign() == "" {
		return c.do(ctx, tree.Resume{})
	}
	return c.change(ctx, r.GetCampaign(), store.Change{Paused: new(false)})
}

func (c *controlService) Drain(ctx context.Context, _ *farmv1.DrainRequest) (*farmv1.StatusResponse, error) {
	return c.do(ctx, tree.Drain{})
}

func (c *controlService) Quarantines(ctx context.Context, _ *farmv1.QuarantinesRequest) (*farmv1.QuarantinesResponse,
	error) {
	list, err := c.loop.Quarantines(ctx)
	return quarantinesMessage(list), err
}

func (c *controlService) Release(ctx context.Context, r *farmv1.ReleaseRequest) (*farmv1.QuarantinesResponse, error) {
	list, err := c.loop.Release(ctx, r.GetName())
	if err != nil && !errors.Is(err, loop.ErrNotQuarantined) {
		err = status.Error(codes.Unavailable, err.Error())
	}
	return quarantinesMessage(list), err
}

// Explore implements farmv1.ControlServer.
func (c *controlService) Explore(ctx context.Context, r *farmv1.ExploreRequest) (*farmv1.ExploreResponse, error) {
	h, err := CampaignOf(c.loop, r.GetCampaign())
	if err != nil {
		return nil, err
	}
	way, _, err := explore.Follow(h.Root(), r.GetMoves())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return h.Explore(ctx, way)
}

func (c *controlService) SetCampaign(ctx context.Context, r *farmv1.SetCampaignRequest) (*farmv1.StatusResponse,
	error) {
	var change store.Change
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
	return c.change(ctx, r.GetCampaign(), store.Change{End: true})
}

func (c *controlService) AddCampaign(ctx context.Context, r *farmv1.AddCampaignRequest) (*farmv1.StatusResponse,
	error) {
	root, err := amazons.ParsePosition(r.GetPosition())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	asked := loop.Asked{Name: r.GetName(), Root: root, RulesOnly: r.GetRulesOnly(), Priority: int(r.GetPriority()),
		Share: int(r.GetShare())}
	if asked.FirstMoves, err = root.ParseMoves(r.GetFirstMoves()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "first move: %v", err)
	}
	// Stores compare first moves as they are written (record.Campaign.Same). So the same question has
	// the same text, in whatever order an operator gives the moves.
	slices.SortFunc(asked.FirstMoves, func(a, b amazons.Move) int { return strings.Compare(a.String(), b.String()) })
	h, err := c.loop.Add(ctx, asked)
	if err != nil {
		return nil, err
	}
	return (&Campaign{c.loop, h}).Status(ctx)
}
