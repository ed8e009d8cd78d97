package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// connection is one stay with the master: the call of Join, the stream, and the uploads beside it.
// A nil connection is none: its channels never have anything.
// The agent's goroutine alone touches outgoing. talk sets session before it tells Joined, and nobody
// changes it then.
type connection struct {
	*agent
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup // goroutines that wait for the network

	events   chan Event                // Joined, Lost, Uploaded and Alive
	in       chan *farmv1.WorkResponse // what the master sends
	out      chan *farmv1.WorkRequest  // to the goroutine that writes
	outgoing []*farmv1.WorkRequest     // what waits for it
	checking chan struct{}             // a token for the one check under way

	session *farmv1.JoinResponse // once joined
}

// maxOutgoing bounds the messages that wait for the writer: beyond it nothing is read that may
// cause more.
const maxOutgoing = 256

// connect begins to join the master.
func (a *agent) connect(ctx context.Context) *connection {
	ctx, cancel := context.WithCancel(ctx)
	c := &connection{agent: a, ctx: ctx, cancel: cancel, events: make(chan Event),
		in: make(chan *farmv1.WorkResponse), out: make(chan *farmv1.WorkRequest), checking: make(chan struct{}, 1)}
	c.running.Go(c.talk)
	return c
}

// hangUp ends the connection and waits for its goroutines.
func (c *connection) hangUp() {
	c.cancel()
	c.running.Wait()
}

// channels returns what an agent selects on: what the connection tells; what the master sends, while
// there is room for the messages that this may cause; and the writer with the next message for it.
// A channel is nil where nothing can happen on it.
func (c *connection) channels() (told <-chan Event, received <-chan *farmv1.WorkResponse,
	writer chan<- *farmv1.WorkRequest, next *farmv1.WorkRequest) {
	if c == nil {
		return nil, nil, nil, nil
	}
	if len(c.outgoing) < maxOutgoing {
		received = c.in
	}
	if len(c.outgoing) > 0 {
		writer, next = c.out, c.outgoing[0]
	}
	return c.events, received, writer, next
}

// send queues a message. A report on a lease replaces an older one that still waits.
func (c *connection) send(m *farmv1.WorkRequest) {
	if p := m.GetProgress(); p != nil {
		for i, old := range c.outgoing {
			if o := old.GetProgress(); o != nil && o.GetLease() == p.GetLease() && o.GetEpoch() == p.GetEpoch() &&
				o.GetCampaign() == p.GetCampaign() {
				c.outgoing[i] = m
				return
			}
		}
	}
	c.outgoing = append(c.outgoing, m)
}

// tell hands an event over. It returns false when the connection ends.
func (c *connection) tell(ev Event) bool { return hand(c.ctx, c.events, ev) }

// talk joins the master, opens a stream, and reads from it to its end.
func (c *connection) talk() {
	if err := c.join(); err != nil {
		c.tell(Lost{Err: err})
		return
	}
	work, err := c.client.Work(c.ctx)
	if err != nil {
		c.tell(Lost{Err: streamError(err)})
		return
	}
	if !c.tell(Joined{Session: c.session}) {
		return
	}
	c.running.Go(func() { c.write(work) })
	for {
		m, err := work.Recv()
		if err != nil {
			c.tell(Lost{Err: streamError(err), Again: status.Code(err) == codes.FailedPrecondition})
			return
		}
		if !hand(c.ctx, c.in, m) {
			return
		}
	}
}

// join introduces the worker. Errors wrap ErrRefused where there is no use in trying again.
func (c *connection) join() (err error) {
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	c.session, err = c.client.Join(ctx, &farmv1.JoinRequest{
		Worker: c.Name, ProtocolVersion: farmv1.ProtocolVersion, RulesVersion: farmv1.RulesVersion, Build: Build(),
		Cores: uint32(c.Cores), TableBytes: uint64(c.TableBytes),
	})
	switch code := status.Code(err); {
	case code == codes.OK:
		return nil
	case code == codes.FailedPrecondition, code == codes.InvalidArgument, code == codes.Unimplemented,
		refusedForGood(err):
		return fmt.Errorf("%w: %s", ErrRefused, Reason(err))
	case IsWrongMaster(err):
		return fmt.Errorf("%w: %s", ErrWrongMaster, Reason(err))
	default:
		return errors.New(Reason(err))
	}
}

// streamError is the end of a stream as the machine is told of it.
func streamError(err error) error {
	if refusedForGood(err) {
		return fmt.Errorf("%w: %s", ErrRefused, Reason(err))
	}
	return fmt.Errorf("%w: %s", errLost, Reason(err))
}

// write sends what it is given, up to a Goodbye.
func (c *connection) write(work farmv1.Farm_WorkClient) {
	for {
		select {
		case m := <-c.out:
			if err := work.Send(m); err != nil {
				return // the reader gets the reason
			}
			if m.GetGoodbye() != nil {
				work.CloseSend()
				return
			}
		case <-c.ctx.Done():
			return
		}
	}
}

// upload uploads a part in a goroutine of its own. What failed for reasons that pass is tried
// again, for as long as the stream lives: a master without room may have to wait for a person.
func (c *connection) upload(e Upload) {
	c.running.Go(func() {
		if err := c.uploadPart(e); c.ctx.Err() == nil {
			c.tell(Uploaded{err})
		}
	})
}

func (c *connection) uploadPart(e Upload) error {
	if limit := c.session.GetMaxCertificateBytes(); limit > 0 && uint64(len(e.Part.Data)) > limit {
		return fmt.Errorf("%w: it has %d bytes, the master accepts %d", errUpload, len(e.Part.Data), limit)
	}
	var told time.Time
	for pause := c.BackoffMin; ; pause = min(2*pause, c.BackoffMax) {
		err := c.uploadOnce(e)
		switch status.Code(err) {
		case codes.OK:
			return nil
		case codes.InvalidArgument, codes.DataLoss, codes.OutOfRange:
			return fmt.Errorf("%w: %s", errUpload, Reason(err))
		case codes.ResourceExhausted, codes.Aborted, // too many uploads at a time, or no room
			codes.Unavailable: // it is stopping, and the stream will say why; or it is gone, and the stream breaks
			if time.Since(told) >= sayAgain {
				told = time.Now()
				c.Log.Warn("the master accepts no upload now, trying again", "reason", Reason(err))
			}
		default: // FailedPrecondition among them: a master that was started anew does not know the session
			return errors.New(Reason(err))
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (c *connection) uploadOnce(e Upload) error {
	ctx, cancel := context.WithTimeout(c.ctx, uploadTimeout)
	defer cancel() // a stream that is left early is ended
	if c.session.GetBucket() {
		return c.place(ctx, e)
	}
	return UploadPart(ctx, c.client, c.session.GetSession(), e, func(sent int) {
		c.tell(Alive{Upload: true, Done: sent, Total: len(e.Part.Data)})
	})
}

// UploadPart tries once to upload a part to a master. It tells how many bytes it has sent after each chunk.
// Errors are those of gRPC, with the master's reason where the master has refused the part.
func UploadPart(ctx context.Context, client farmv1.FarmClient, session string, e Upload, told func(sent int)) error {
	up, err := client.UploadCertificate(ctx)
	if err != nil {
		return err
	}
	m := &farmv1.UploadCertificateRequest{Session: session, Sha256: e.Part.ID[:], Size: uint64(len(e.Part.Data)),
		Campaign: e.Campaign}
	for rest := e.Part.Data; ; {
		n := min(farmv1.ChunkBytes, len(rest))
		m.Data, rest = rest[:n], rest[n:]
		err := up.Send(m)
		if errors.Is(err, io.EOF) {
			break // the master has heard enough: CloseAndRecv says why
		}
		if err != nil {
			return err
		}
		told(len(e.Part.Data) - len(rest))
		if len(rest) == 0 {
			break
		}
		m = &farmv1.UploadCertificateRequest{}
	}
	_, err = up.CloseAndRecv()
	return err
}

// Reason returns what a person needs of an error that may come from gRPC.
// It takes off what gRPC puts around a cause, and adds what to do where the cause alone is a riddle.
func Reason(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		text = s.Message()
	}
	// connection error: desc = "transport: Error while dialing: dial tcp ...: connect: connection
	// refused", and so on
	for _, before := range []string{"Error while dialing: ", "authentication handshake failed: ",
		"error reading server preface: "} {
		if _, cause, ok := strings.Cut(text, before); ok {
			text = strings.ReplaceAll(strings.TrimSuffix(cause, `"`), `\"`, `"`)
		}
	}
	switch {
	case text == "EOF":
		text = "the connection was closed at once; a master that serves with --credentials does so where they " +
			"are missing"
	case text == "tls: first record does not look like a TLS handshake":
		text += "; a master that serves without --credentials answers so, and so does the port of its pages"
	case text == expired:
		text += "; renew the credential, or see whether the clock of the master's machine is right"
	case text == "remote error: tls: bad certificate":
		text += "; the credential is revoked, or not made for this use"
	case strings.Contains(text, "http2: frame too large"):
		text = "what answers there does not speak gRPC; perhaps it is the port of the pages (--http)"
	case strings.HasSuffix(text, "use of closed network connection"): // gRPC gave the connection up
		text = "a connection was made, and nothing came over it in time"
	case strings.HasSuffix(text, "no such host"), strings.HasSuffix(text, "produced zero addresses"):
		text = "no machine has this name"
	}
	return text
}
