package main

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/identity"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/engine"
)

// target is a master that is attacked.
type target struct {
	address string // of workers
	pages   string
	board   amazons.Board
	build   string
	folder  string // of a credential; empty: none
}

// client is one hostile worker. It speaks the protocol, and does with it what its kind says. It keeps the
// first error, the end of its context among them, and does nothing after it.
type client struct {
	target
	name   string
	random *rand.Rand
	parts  *parts

	ctx     context.Context // of what it does now
	err     error
	conn    *grpc.ClientConn
	farm    farmv1.FarmClient
	session string
	stream  farmv1.Farm_WorkClient
	in      chan *farmv1.WorkResponse // closed with the stream
	serial  uint64
	lease   *farmv1.Lease // the last one
}

// ok reports whether the client may go on.
func (c *client) ok() bool {
	c.fail(c.ctx.Err())
	return c.err == nil
}

// fail keeps an error.
func (c *client) fail(err error) { c.err = cmp.Or(c.err, err) }

// dial connects. A client that is dialled has no session yet.
func (c *client) dial(ctx context.Context) {
	c.ctx, c.err = ctx, nil
	security := credentials.TransportCredentials(insecure.NewCredentials())
	if c.folder != "" {
		files, err := identity.Open(c.folder, identity.Worker)
		if err != nil {
			c.fail(err)
			return
		}
		security = credentials.NewTLS(files.ClientTLS())
	}
	var err error
	c.conn, err = grpc.NewClient("passthrough:///"+c.address, grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(farmv1.MaxMessageBytes)))
	c.farm = farmv1.NewFarmClient(c.conn)
	c.fail(err)
}

func (c *client) join() {
	if !c.ok() {
		return
	}
	r, err := c.farm.Join(c.ctx, &farmv1.JoinRequest{Worker: c.name, ProtocolVersion: farmv1.ProtocolVersion,
		RulesVersion: farmv1.RulesVersion, Build: c.build, Cores: 1, TableBytes: 1 << 27})
	c.session = r.GetSession()
	c.fail(err)
}

// work opens a work stream in the session, and says hello on it.
func (c *client) work() {
	if !c.ok() {
		return
	}
	var err error
	c.stream, err = c.farm.Work(c.ctx)
	c.fail(err)
	c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: c.session}}})
}

// open joins and opens the work stream, and listens to it.
func (c *client) open() {
	c.join()
	c.work()
	if !c.ok() {
		return
	}
	ctx, stream, in := c.ctx, c.stream, make(chan *farmv1.WorkResponse, 64)
	c.in = in
	go func() {
		defer close(in)
		_ = farm.Receive(ctx, stream, in)
	}()
}

func (c *client) send(m *farmv1.WorkRequest) {
	if c.ok() {
		c.fail(c.stream.Send(m))
	}
}

var errOver = errors.New("the stream is over")

// next returns the next answer, nil after patience or an error.
func (c *client) next(patience time.Duration) *farmv1.WorkResponse {
	if !c.ok() {
		return nil
	}
	select {
	case m, ok := <-c.in:
		if !ok {
			c.fail(errOver)
		} else if l := m.GetLease(); l != nil {
			c.lease = l
		}
		return m
	case <-time.After(patience):
	case <-c.ctx.Done():
	}
	return nil
}

// wait waits.
func (c *client) wait(d time.Duration) {
	if c.ok() {
		c.fail(farm.Wait(c.ctx, d))
	}
}

func (c *client) ready() {
	c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}})
}

// take asks for a lease and waits for it.
func (c *client) take() {
	c.lease = nil
	for c.ready(); c.lease == nil && c.ok(); {
		c.next(time.Second)
	}
}

// position takes a lease and returns its position.
func (c *client) position() (s amazons.State) {
	if c.take(); c.ok() {
		key, err := amazons.KeyFromBytes(c.lease.GetKey())
		if err == nil {
			s, err = key.State(c.board)
		}
		c.fail(err)
	}
	return s
}

// progress reports on a lease.
func (c *client) progress(p *farmv1.Progress) {
	c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: p}})
}

func (c *client) facts(list ...proof.Fact) {
	c.serial++
	c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: c.serial,
		Facts: farmv1.WriteFacts(list)}}})
}

// result ends the lease.
func (c *client) result(r *farmv1.Result) {
	c.serial++
	r.Serial, r.Lease, r.Epoch, r.Key = c.serial, c.lease.GetId(), c.lease.GetEpoch(), c.lease.GetKey()
	c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: r}})
}

// honest makes a true part that nobody has asked for.
func (c *client) honest() (p engine.Part) {
	if c.ok() {
		var err error
		p, err = c.parts.honest(c.ctx, c.random)
		c.fail(err)
	}
	return p
}

// claim makes a part that claims a position without any reason.
func (c *client) claim(s amazons.State, v eval.Verdict) ([]byte, proof.Fact) {
	if !c.ok() {
		return nil, proof.Fact{}
	}
	data, fact, err := c.parts.claim(s, v)
	c.fail(err)
	return data, fact
}

// upload sends a part in chunks.
func (c *client) upload(data []byte) (id proof.ID) {
	id = proof.IDOf(data)
	c.chunks(id, data, uint64(len(data)), farmv1.ChunkBytes, 0)
	return id
}

// deliver uploads a part and sends facts.
func (c *client) deliver(data []byte, list ...proof.Fact) {
	c.upload(data)
	c.facts(list...)
}

// chunks uploads data under a name and with a size that may be lies.
func (c *client) chunks(id proof.ID, data []byte, size uint64, chunk int, pause time.Duration) {
	if !c.ok() {
		return
	}
	up, err := c.farm.UploadCertificate(c.ctx)
	c.fail(err)
	m := &farmv1.UploadCertificateRequest{Session: c.session, Sha256: id[:], Size: size}
	for c.ok() {
		n := min(chunk, len(data))
		m.Data, data = data[:n], data[n:]
		if up.Send(m) != nil || len(data) == 0 { // CloseAndRecv says why it was not taken
			_, err = up.CloseAndRecv()
			c.fail(err)
			return
		}
		m = new(farmv1.UploadCertificateRequest)
		c.wait(pause)
	}
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
	}
}

// raw opens connections without a word of gRPC.
func (c *client) raw(n int, say func(i int, conn net.Conn)) (list []net.Conn) {
	for i := range n {
		conn, err := elsewhere.Dial("tcp", c.address)
		if err != nil {
			continue
		}
		list = append(list, conn)
		if say != nil {
			say(i, conn)
		}
	}
	return list
}

func closeAll(list []net.Conn) {
	for _, c := range list {
		c.Close()
	}
}
