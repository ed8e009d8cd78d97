package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/access"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// farmService is what workers call. It judges messages by themselves; whether they fit the
// campaign's progress is the tree's to say.
type farmService struct {
	farmv1.UnimplementedFarmServer
	master *Master
}

// Join is the gate: who does not fit is told which version, rules or build is asked for.
func (f *farmService) Join(ctx context.Context, r *farmv1.JoinRequest) (*farmv1.JoinResponse, error) {
	cfg := &f.master.cfg
	refuse := func(format string, args ...any) error {
		return status.Errorf(codes.FailedPrecondition, format, args...)
	}
	name := r.GetWorker()
	switch {
	case len(name) < 1 || len(name) > 128 || strings.ContainsFunc(name,
		func(r rune) bool { return !unicode.IsPrint(r) }):
		return nil, status.Error(codes.InvalidArgument, "a worker's name has 1 to 128 printable characters")
	case len(r.GetBuild()) > 256:
		return nil, status.Error(codes.InvalidArgument, "a build's name has at most 256 bytes")
	case r.GetProtocolVersion() != farmv1.ProtocolVersion:
		return nil, refuse("this master speaks protocol version %d, the worker version %d; use worker and master of one release", farmv1.ProtocolVersion, r.GetProtocolVersion())
	case r.GetRulesVersion() != farmv1.RulesVersion:
		return nil, refuse("this campaign is solved with rules version %d, the worker has version %d; use worker and master of one release", farmv1.RulesVersion, r.GetRulesVersion())
	case cfg.Build != "" && r.GetBuild() != cfg.Build && !cfg.AllowOtherBuilds:
		return nil, refuse("this campaign is solved by build %s, the worker is build %s; use the same build, or start the master with --allow-other-builds", cfg.Build, orNone(r.GetBuild()))
	}
	owner, err := access.OwnName(ctx, name)
	if err != nil {
		return nil, err
	}
	info := workerInfo{build: r.GetBuild(), cores: r.GetCores(), tableBytes: r.GetTableBytes(), owner: owner}
	if p, ok := peer.FromContext(ctx); ok {
		info.address = p.Addr.String()
	}
	s, err := f.master.open(name, info)
	if err != nil {
		return nil, err
	}
	cfg.Log.Info("worker joined", "worker", name, "address", info.address, "build", info.build, "cores", info.cores)
	var all []*farmv1.Campaign
	for _, c := range f.master.campaigns() {
		all = append(all, c.message(false))
	}
	return &farmv1.JoinResponse{
		Session:             s.token,
		Campaign:            f.master.first().message(true),
		Campaigns:           all,
		HeartbeatSeconds:    cfg.Heartbeat.Seconds(),
		MaxCertificateBytes: uint64(cfg.MaxCertificateBytes),
		MaxFactsPerMessage:  uint32(cfg.MaxFacts),
		MinFactNodes:        cfg.MinFactNodes,
		MaxHintEntries:      uint32(cfg.MaxMemoryEntries),
	}, nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return clip(s, 80)
}

// Work is a worker's stream. This goroutine sends; another one receives, and ends with the stream.
func (f *farmService) Work(stream farmv1.Farm_WorkServer) error {
	m, ctx := f.master, stream.Context()
	first, err := within(m.cfg.CallIdle, stream.Recv)
	if errors.Is(err, errSilent) {
		return status.Errorf(codes.DeadlineExceeded, "no hello came for %v", m.cfg.CallIdle)
	} else if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello == nil {
		return status.Error(codes.InvalidArgument, "the first message of a work stream is hello")
	}
	s, err := m.session(ctx, hello.GetSession())
	if err != nil {
		return err
	}
	l := &link{out: make(chan *farmv1.WorkResponse, m.cfg.SendQueue), ended: make(chan struct{})}
	if err := m.post(ctx, attach{s, l}); err != nil {
		return err
	}
	go f.receive(stream, s, l)
	for {
		select {
		case msg := <-l.out:
			if err := stream.Send(msg); err != nil {
				return err
			}
		case <-l.ended:
			// What was queued before the end is still sent, such as the word that the campaign is over.
			for {
				select {
				case msg := <-l.out:
					if err := stream.Send(msg); err != nil {
						return err
					}
				default:
					return l.err
				}
			}
		case <-m.done:
			select {
			case <-l.ended:
			default:
				l.end(errEnded)
			}
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// receive turns a worker's messages into events until the stream ends.
func (f *farmService) receive(stream farmv1.Farm_WorkServer, s *session, l *link) {
	m, ctx := f.master, stream.Context()
	goodbye := false
	for {
		msg, err := stream.Recv()
		if err != nil {
			m.unreadable(ctx, s, err, l.end)
			break
		}
		if !s.messages.Allow() {
			err := status.Errorf(codes.ResourceExhausted, "worker %s sends more than %v messages a second", s.name,
				m.cfg.SessionMessages)
			m.caught(s, offenceFlood, err)
			l.end(err)
			break
		}
		if msg.GetGoodbye() != nil {
			goodbye = true
			break
		}
		in, err := m.incoming(s.name, msg)
		if err != nil {
			m.caught(s, offenceMalformed, err)
			l.end(err)
			break
		}
		if in.unfounded != nil {
			m.caught(s, offenceClaim, in.unfounded)
		}
		in.session, in.link = s, l
		if err := m.post(ctx, in); err != nil {
			l.end(err)
			break
		}
	}
	// The loop ends the link after it has answered what came before. The stream may be over
	// already, so its context must not keep this from being known.
	_ = m.post(context.WithoutCancel(ctx), detach{session: s, link: l, goodbye: goodbye})
}

// unreadable judges why no message could be received: it was over the limit of its size, or was
// none; or the stream is over, also where the guard has ended it.
func (m *Master) unreadable(ctx context.Context, s *session, err error, end func(error)) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return
	}
	switch status.Code(err) {
	case codes.ResourceExhausted:
		m.caught(s, offenceSize, err)
		end(err)
	case codes.Internal:
		m.caught(s, offenceMalformed, err)
		end(err)
	}
}

// incoming judges a message. Errors end the stream: a sound worker does not cause them.
func (m *Master) incoming(worker string, msg *farmv1.WorkRequest) (incoming, error) {
	switch k := msg.GetKind().(type) {
	case *farmv1.WorkRequest_Ready:
		return incoming{event: tree.Ready{Worker: worker}}, nil
	case *farmv1.WorkRequest_Progress:
		p := k.Progress
		c, err := m.numbered(p.GetCampaign())
		if err != nil {
			return incoming{}, err
		}
		return incoming{
			campaign: c,
			event: tree.Progress{Worker: worker, Lease: tree.LeaseID(p.GetLease()), Epoch: p.GetEpoch(),
				Nodes: p.GetNodes(), Activity: p.GetEvaluations()},
			heard: heard{p.GetEvaluations(), p.GetTableFill()},
		}, nil
	case *farmv1.WorkRequest_Facts:
		c, err := m.numbered(k.Facts.GetCampaign())
		if err != nil {
			return incoming{}, err
		}
		facts, ids, refused, unfounded, err := m.facts(c, k.Facts.GetFacts())
		if err != nil {
			return incoming{}, err
		}
		in := incoming{campaign: c, event: tree.Proved{
			Worker: worker, Lease: tree.LeaseID(k.Facts.GetLease()), Epoch: k.Facts.GetEpoch(),
			Nodes: k.Facts.GetNodes(),
			Facts: facts, Certificates: ids}, serial: k.Facts.GetSerial(), refused: refused, unfounded: unfounded}
		if len(k.Facts.GetHints()) > 0 {
			if in.memory.Key, err = c.key(k.Facts.GetKey()); err != nil {
				return incoming{}, err
			}
			in.memory.Campaign, in.memory.Data = c.Number, k.Facts.GetHints()
		}
		return in, nil
	case *farmv1.WorkRequest_Result:
		r := k.Result
		c, err := m.numbered(r.GetCampaign())
		if err != nil {
			return incoming{}, err
		}
		key, err := c.key(r.GetKey())
		if err != nil {
			return incoming{}, err
		}
		verdict, err := farmv1.ReadVerdict(r.GetVerdict())
		if err != nil {
			return incoming{}, status.Error(codes.InvalidArgument, err.Error())
		}
		facts, ids, refused, unfounded, err := m.facts(c, r.GetFacts())
		if err != nil {
			return incoming{}, err
		}
		if verdict != eval.Open && !slices.ContainsFunc(r.GetFacts(), func(f *farmv1.Fact) bool {
			return f.GetVerdict() == r.GetVerdict() && bytes.Equal(f.GetKey(), r.GetKey())
		}) {
			unfounded = fmt.Errorf("%s is said to be %v, and no fact says so", c.positionText(key), verdict)
		}
		if _, err := numbers.Count(r.GetChildren()); err != nil {
			return incoming{}, status.Errorf(codes.InvalidArgument, "children of a result: %v", err)
		}
		ev := tree.Result{
			Worker: worker, Lease: tree.LeaseID(r.GetLease()), Epoch: r.GetEpoch(), Key: key, Verdict: verdict,
			Phi: r.GetPhi(), Delta: r.GetDelta(), Nodes: r.GetNodes(), Facts: facts, Certificates: ids,
			Cancelled: r.GetCancelled(), Children: r.GetChildren(),
		}
		return incoming{campaign: c, event: ev, serial: r.GetSerial(), refused: refused, unfounded: unfounded,
			heard:  heard{evaluations: r.GetEvaluations()},
			memory: Memory{c.Number, key, r.GetHints()}}, nil
	case *farmv1.WorkRequest_Hello:
		return incoming{}, status.Error(codes.InvalidArgument, "hello comes once, first")
	}
	return incoming{}, status.Error(codes.InvalidArgument, "a message of no known kind")
}

// key reads a position that the campaign can reach.
func (c *campaign) key(p []byte) (amazons.Key, error) {
	k, _, err := farmv1.ReadKey(c.Root.Board, p)
	if err == nil {
		err = c.reachable(k)
	}
	if err != nil {
		return amazons.Key{}, status.Error(codes.InvalidArgument, err.Error())
	}
	return k, nil
}

// reachable returns an error for a position of the board with other queens than the campaign's, or
// with fewer arrows than its root.
func (c *campaign) reachable(k amazons.Key) error {
	root := c.Root
	s, err := k.State(root.Board)
	if err != nil {
		return err
	}
	arrows := s.Arrows(root.Board) - root.Arrows()
	own, opp := root.State().Own, root.State().Opp
	if arrows%2 != 0 {
		own, opp = opp, own
	}
	if arrows < 0 || count(s.Own) != count(own) || count(s.Opp) != count(opp) {
		return fmt.Errorf("bad position: %s does not come from the campaign's root", c.positionText(k))
	}
	return nil
}

func count(s amazons.Set) (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

// facts reads facts and looks up their evidence. A fact whose certificate is not stored, or does
// not claim it, is left out and refused says why; the latter is unfounded as well. A message that
// is malformed is an error.
func (m *Master) facts(c *campaign, list []*farmv1.Fact) (facts []proof.Fact, ids []proof.ID, refused []string, unfounded,
	err error) {
	fail := func(err error) ([]proof.Fact, []proof.ID, []string, error, error) { return nil, nil, nil, nil, err }
	if len(list) > m.cfg.MaxFacts {
		return fail(status.Errorf(codes.ResourceExhausted, "%d facts in a message, the limit is %d", len(list),
			m.cfg.MaxFacts))
	}
	seen := map[proof.ID]map[amazons.Key]eval.Verdict{}
	for _, f := range list {
		fact, err := farmv1.ReadFact(c.Root.Board, f)
		if err == nil {
			err = c.reachable(fact.Key)
		}
		if err == nil && fact.Certificate == (proof.ID{}) {
			err = errors.New("a fact needs the SHA-256 of its certificate")
		}
		if err != nil {
			return fail(status.Error(codes.InvalidArgument, err.Error()))
		}
		id := fact.Certificate
		claims, known := seen[id]
		if !known {
			claims, err = m.claims(c, id)
			switch {
			case errors.Is(err, ErrOther):
				unfounded = fmt.Errorf("certificate %v: %w", id, err)
				refused = append(refused, unfounded.Error())
			case errors.Is(err, ErrNoCertificate):
				refused = append(refused, fmt.Sprintf("certificate %v is named by a fact and was not uploaded", id))
			case err != nil:
				return fail(status.Errorf(codes.DataLoss, "stored certificate %v: %v", id, err))
			default:
				ids = append(ids, id)
			}
			seen[id] = claims
		}
		if claims == nil {
			continue
		}
		if claims[fact.Key] != fact.Verdict {
			unfounded = fmt.Errorf("certificate %v does not claim that %s is %v for the side to move", id,
				c.positionText(fact.Key), fact.Verdict)
			refused = append(refused, unfounded.Error())
			continue
		}
		facts = append(facts, fact)
	}
	return facts, ids, refused, unfounded, nil
}

// claims returns what a stored certificate claims, for the facts of a campaign.
func (m *Master) claims(c *campaign, id proof.ID) (map[amazons.Key]eval.Verdict, error) {
	if known, ok := m.known.get(id); ok {
		if known.facts != c.Facts {
			return nil, ErrOther
		}
		return known.claims, nil
	}
	data, err := m.store.Certificate(c.Number, id)
	if err != nil {
		return nil, err
	}
	claims, err := c.readClaims(data)
	if err != nil {
		return nil, err
	}
	m.known.put(id, claimed{c.Facts, claims})
	return claims, nil
}

func (c *campaign) readClaims(data []byte) (map[amazons.Key]eval.Verdict, error) {
	roots, err := c.ReadRoots(data)
	if err != nil {
		return nil, err
	}
	claims := make(map[amazons.Key]eval.Verdict, len(roots))
	for _, r := range roots {
		if known, ok := claims[r.Key]; ok && known != r.Verdict {
			return nil, fmt.Errorf("it claims both verdicts of %s", c.positionText(r.Key))
		}
		claims[r.Key] = r.Verdict
	}
	return claims, nil
}
