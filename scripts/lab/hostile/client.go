package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/identity"
	"amazonsfarm/shared/proof"
)

// target is a master that is attacked.
type target struct {
	address string // of workers
	pages   string
	board   amazons.Board
	build   string
	folder  string // of a credential; empty: none
}

// client is one hostile worker. It speaks the protocol, and does with it what its kind says.
type client struct {
	target
	name   string
	random *rand.Rand
	parts  *parts

	conn    *grpc.ClientConn
	farm    farmv1.FarmClient
	session string
	stream  farmv1.Farm_WorkClient
	in      chan *farmv1.WorkResponse // closed with the stream
	serial  uint64
	lease   *farmv1.Lease // the last one
}

// dial connects. A client that is dialled has no session yet.
func (c *client) dial() error {
	security := credentials.TransportCredentials(insecure.NewCredentials())
	if c.folder != "" {
		files, err := identity.OpenClient(c.folder, identity.Worker)
		if err != nil {
			return err
		}
		security = credentials.NewTLS(files.ClientTLS())
	}
	conn, err := grpc.NewClient("passthrough:///"+c.address, grpc.WithTransportCredentials(security),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(farmv1.MaxMessageBytes)))
	if err != nil {
		return err
	}
	c.conn, c.farm = conn, farmv1.NewFarmClient(conn)
	return nil
}

func (c *client) join(ctx context.Context) error {
	r, err := c.farm.Join(ctx, &farmv1.JoinRequest{Worker: c.name, ProtocolVersion: farmv1.ProtocolVersion,
		RulesVersion: farmv1.RulesVersion, Build: c.build, Cores: 1, TableBytes: 1 << 27})
	c.session = r.GetSession()
	return err
}

// open joins and opens the work stream.
func (c *client) open(ctx context.Context) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	stream, err := c.farm.Work(ctx)
	if err != nil {
		return err
	}
	c.stream, c.in = stream, make(chan *farmv1.WorkResponse, 64)
	in := c.in
	go func() {
		defer close(in)
		for {
			m, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case in <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	return c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{Session: c.session}}})
}

func (c *client) send(m *farmv1.WorkRequest) error { return c.stream.Send(m) }

var errOver = errors.New("the stream is over")

// next returns the next answer, nil after patience.
func (c *client) next(ctx context.Context, patience time.Duration) (*farmv1.WorkResponse, error) {
	select {
	case m, ok := <-c.in:
		if !ok {
			return nil, errOver
		}
		if l := m.GetLease(); l != nil {
			c.lease = l
		}
		return m, nil
	case <-time.After(patience):
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pause takes the next answer, or waits, and looks at nothing but the lease in it.
func (c *client) pause(ctx context.Context, patience time.Duration) error {
	_, err := c.next(ctx, patience)
	return err
}

func (c *client) ready() error {
	return c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Ready{Ready: &farmv1.Ready{}}})
}

// take asks for a lease and waits for it.
func (c *client) take(ctx context.Context) error {
	c.lease = nil
	if err := c.ready(); err != nil {
		return err
	}
	for c.lease == nil {
		if err := c.pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// position takes a lease and returns its position.
func (c *client) position(ctx context.Context) (amazons.State, error) {
	if err := c.take(ctx); err != nil {
		return amazons.State{}, err
	}
	key, err := amazons.KeyFromBytes(c.lease.GetKey())
	if err != nil {
		return amazons.State{}, err
	}
	return key.State(c.board)
}

func (c *client) progress(p *farmv1.Progress) error {
	return c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: p}})
}

func (c *client) facts(list ...proof.Fact) error {
	c.serial++
	return c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: c.serial,
		Facts: farmv1.WriteFacts(list)}}})
}

// result ends the lease.
func (c *client) result(r *farmv1.Result) error {
	c.serial++
	r.Serial, r.Lease, r.Epoch, r.Key = c.serial, c.lease.GetId(), c.lease.GetEpoch(), c.lease.GetKey()
	return c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: r}})
}

func (c *client) checked(m *farmv1.Checked) error {
	return c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Checked{Checked: m}})
}

// upload sends a part in chunks.
func (c *client) upload(ctx context.Context, data []byte) (id proof.ID, err error) {
	id = proof.IDOf(data)
	_, err = c.chunks(ctx, id, data, uint64(len(data)), farmv1.ChunkBytes, 0)
	return id, err
}

// deliver uploads a part and sends facts.
func (c *client) deliver(ctx context.Context, data []byte, list ...proof.Fact) error {
	if _, err := c.upload(ctx, data); err != nil {
		return err
	}
	return c.facts(list...)
}

// chunks uploads data under a name and with a size that may be lies.
func (c *client) chunks(ctx context.Context, id proof.ID, data []byte, size uint64, chunk int,
	pause time.Duration) (*farmv1.UploadCertificateResponse, error) {
	up, err := c.farm.UploadCertificate(ctx)
	if err != nil {
		return nil, err
	}
	m := &farmv1.UploadCertificateRequest{Session: c.session, Sha256: id[:], Size: size}
	for {
		n := min(chunk, len(data))
		m.Data, data = data[:n], data[n:]
		if up.Send(m) != nil || len(data) == 0 { // CloseAndRecv says why it was not taken
			return up.CloseAndRecv()
		}
		m = new(farmv1.UploadCertificateRequest)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
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

// wait waits, or says that the time is over.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func unique(name string, r *rand.Rand) string { return fmt.Sprintf("%s-%08x", name, r.Uint32()) }
