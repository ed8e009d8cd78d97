package rpc

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/access"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// The most cores and the largest table that a worker may claim. No machine has more, and a larger number would be shown
// as a negative one.
const (
	maxCores      = 1 << 16
	maxTableBytes = 1 << 50
)

// farmService is what workers call. It judges messages by themselves; whether they fit a campaign's
// progress is the tree's to say.
type farmService struct {
	farmv1.UnimplementedFarmServer
	loop    *loop.Loop
	cfg     Config
	known   *knownClaims
	log     *slog.Logger
	lines   *rate.Limiter // of the log about workers that come and go, which they may do without end
	uploads uploads
	crowd   chan struct{}          // a token for each part that is tried or waits for that
	trial   chan struct{}          // a token while one is tried
	traffic *prometheus.CounterVec // bytes of parts that passed through, received and sent
}

func newFarmService(l *loop.Loop, c Config, log *slog.Logger) *farmService {
	f := &farmService{loop: l, cfg: c, log: log, known: newKnownClaims(c.Limits.Claims),
		lines: rate.NewLimiter(1, c.Limits.Lines), crowd: make(chan struct{}, trialCrowd),
		trial:   make(chan struct{}, 1),
		uploads: newUploads(c.Limits.Uploads, c.Limits.SmallUploads, c.MaxCertificateBytes),
		traffic: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "amazons_master_evidence_bytes_total",
			Help: "Bytes of parts that workers sent through the master, and got from it. With a bucket none do."},
			[]string{"way"})}
	for _, way := range []string{"received", "sent"} {
		f.traffic.WithLabelValues(way)
	}
	return f
}

// Join is the gate: a worker that does not fit is told which version, rules or build is asked for.
func (f *farmService) Join(ctx context.Context, r *farmv1.JoinRequest) (*farmv1.JoinResponse, error) {
	cfg := &f.cfg
	refuse := func(format string, args ...any) error {
		return status.Errorf(codes.FailedPrecondition, format, args...)
	}
	name, build := r.GetWorker(), r.GetBuild()
	switch {
	case name == "" || !farmv1.Printable(name, farmv1.MaxNameBytes):
		return nil, status.Errorf(codes.InvalidArgument, "a worker's name has 1 to %d printable characters",
			farmv1.MaxNameBytes)
	case !farmv1.Printable(build, farmv1.MaxBuildBytes):
		return nil, status.Errorf(codes.InvalidArgument, "a build's name has at most %d printable characters",
			farmv1.MaxBuildBytes)
	case r.GetCores() > maxCores || r.GetTableBytes() > maxTableBytes:
		return nil, status.Errorf(codes.InvalidArgument, "a worker has at most %d cores and a table of %s", maxCores,
			cli.FormatSize(maxTableBytes))
	case r.GetProtocolVersion() != farmv1.ProtocolVersion:
		return nil, refuse("this master speaks protocol version %d, the worker version %d; "+
			"use worker and master of one release", farmv1.ProtocolVersion, r.GetProtocolVersion())
	case r.GetRulesVersion() != farmv1.RulesVersion:
		return nil, refuse("this campaign is solved with rules version %d, the worker has version %d; "+
			"use worker and master of one release", farmv1.RulesVersion, r.GetRulesVersion())
	case cfg.Build != "" && build != cfg.Build && !cfg.AllowOtherBuilds:
		return nil, refuse("this campaign is solved by build %s, the worker is build %.80s; "+
			"use the same build, or start the master with --allow-other-builds", cfg.Build, cmp.Or(build, "none"))
	}
	owner, err := access.OwnName(ctx, name)
	if err != nil {
		return nil, err
	}
	w := loop.Worker{Name: name, Build: build, Cores: r.GetCores(), TableBytes: r.GetTableBytes(), Owner: owner,
		Messages: rate.NewLimiter(rate.Limit(cfg.SessionMessages), cfg.Limits.Burst)}
	if p, ok := peer.FromContext(ctx); ok {
		w.Address = p.Addr.String()
	}
	s, err := f.loop.Join(ctx, w)
	if err != nil {
		return nil, err
	}
	if f.lines.Allow() {
		f.log.Info("worker joined", "worker", w.Name, "address", w.Address, "build", w.Build, "cores", w.Cores)
	}
	out := &farmv1.JoinResponse{
		Session:             s.Token,
		HeartbeatSeconds:    f.loop.Heartbeat().Seconds(),
		MaxCertificateBytes: uint64(cfg.MaxCertificateBytes),
		MaxFactsPerMessage:  uint32(cfg.Limits.Facts),
		MinFactNodes:        minFactNodes,
		MaxHintEntries:      hintEntries,
		Bucket:              f.loop.Store().Bucket() != nil,
	}
	for i, c := range f.loop.Campaigns() {
		if i == 0 {
			out.Campaign = campaignMessage(c, true)
		}
		out.Campaigns = append(out.Campaigns, campaignMessage(c, false))
	}
	return out, nil
}

// session returns the session of a token, if it is the caller's.
// A token that somebody else has seen is of no use without a credential of the same name.
func (f *farmService) session(ctx context.Context, token string) (*loop.Session, error) {
	s, err := f.loop.Session(ctx, token)
	if err != nil {
		return nil, err
	}
	return s, access.OwnSession(ctx, s.Owner)
}

// Work is a worker's stream. This goroutine sends; another one receives, and ends with the stream.
func (f *farmService) Work(stream farmv1.Farm_WorkServer) error {
	ctx := stream.Context()
	first, err := within(f.cfg.CallIdle, stream.Recv)
	if errors.Is(err, errSilent) {
		return status.Errorf(codes.DeadlineExceeded, "no hello came for %v", f.cfg.CallIdle)
	} else if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return status.Error(codes.InvalidArgument, "the first message of a work stream is hello")
	}
	s, err := f.session(ctx, hello.GetSession())
	if errors.Is(err, loop.ErrNoSession) { // not the code of ErrAgain: no facts were taken back
		return status.Error(codes.Aborted, err.Error())
	} else if err != nil {
		return err
	}
	link := f.loop.NewLink()
	if err := f.loop.Attach(ctx, s, link); err != nil {
		return err
	}
	// It ends with this function: the return ends the stream, and with it a Recv that waits.
	go f.receive(stream, s, link)
	for {
		select {
		case a := <-link.Answers:
			if err := stream.Send(f.answerMessage(a)); err != nil {
				return err
			}
		case <-link.Ended:
			// What was queued before the end is still sent, such as the word that the campaign is over.
			for {
				select {
				case a := <-link.Answers:
					if err := stream.Send(f.answerMessage(a)); err != nil {
						return err
					}
				default:
					return link.Err()
				}
			}
		case <-f.loop.Done():
			link.End(loop.ErrEnded) // unless it has been ended
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// receive turns a worker's messages into events until the stream ends.
func (f *farmService) receive(stream farmv1.Farm_WorkServer, s *loop.Session, link *loop.Link) {
	ctx := stream.Context()
	goodbye := false
	// The offence is counted before the stream ends, so it counts also where the worker hangs up.
	offend := func(kind string, err error) {
		f.loop.Offend(ctx, s, kind, err)
		link.End(err)
	}
	for {
		msg, err := stream.Recv()
		if err != nil {
			if kind := unreadable(ctx, err); kind != "" {
				offend(kind, err)
			}
			break
		}
		if !s.Messages.Allow() {
			offend(trust.Flood, status.Errorf(codes.ResourceExhausted, "worker %s sends more than %v messages a second",
				s.Name, f.cfg.SessionMessages))
			break
		}
		if msg.GetGoodbye() != nil {
			goodbye = true
			break
		}
		if m := msg.GetChecked(); m != nil && len(m.GetSha256()) == len(proof.ID{}) {
			if err := f.loop.Examined(ctx, s, loop.Examined{
				ID: proof.ID(m.GetSha256()), Holds: m.GetHolds(), Fault: trust.Clip(m.GetFault(), trust.MaxWhy),
				Failed: trust.Clip(m.GetFailed(), trust.MaxWhy), Returned: m.GetReturned()}); err != nil {
				link.End(err)
				break
			}
			continue
		}
		e, unfounded, err := f.event(s.Name, msg)
		if status.Code(err) == codes.Unavailable { // it is the master that cannot read something now
			link.End(err)
			break
		} else if err != nil {
			offend(trust.Malformed, err)
			break
		}
		// The stream goes on, and so does the message: its other facts may be good.
		if unfounded != nil {
			f.loop.Offend(ctx, s, trust.UnfoundedClaim, unfounded)
		}
		e.Session, e.Link = s, link
		if err := f.loop.Post(ctx, e); err != nil {
			link.End(err)
			break
		}
	}
	if goodbye && f.lines.Allow() {
		f.log.Info("worker left", "worker", s.Name)
	}
	// One goroutine posts all messages of a stream, so this comes after them in the loop's queue.
	f.loop.Detach(s, link, goodbye)
}

// offence counts an offence of a worker, and returns its error. One without a code gets that of a wrong argument.
func (f *farmService) offence(ctx context.Context, s *loop.Session, kind string, err error) error {
	f.loop.Offend(ctx, s, kind, err)
	if _, coded := status.FromError(err); coded {
		return err
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// unasked refuses evidence that leases do not account for. That is an offence, unless it may be of leases from before
// the start of this master.
func (f *farmService) unasked(ctx context.Context, s *loop.Session, err error) error {
	if s.Brings() {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return f.offence(ctx, s, trust.Unasked, err)
}

// unreadable judges why no message could be received. It returns the kind of the offence: the message
// was over the limit of its size, or was none. It returns an empty kind where the stream is over, also
// where the guard has ended it.
func unreadable(ctx context.Context, err error) (kind string) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return ""
	}
	switch status.Code(err) {
	case codes.ResourceExhausted:
		return trust.Oversize
	case codes.Internal:
		return trust.Malformed
	}
	return ""
}
