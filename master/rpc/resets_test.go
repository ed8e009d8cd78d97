package rpc

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/access"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// doored serves a master behind a Door over TCP, and returns what connects to it.
func doored(t *testing.T) (dial func() *grpc.ClientConn) {
	l, cfg, _, _ := newLoop(t, newMemory(), nil)
	server := NewServer(l, cfg.services, ServerOptions{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(access.NewDoor(listener, 32, true)) }()
	t.Cleanup(server.Stop)
	return func() *grpc.ClientConn {
		conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.Connect()
		for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
			if !conn.WaitForStateChange(t.Context(), state) {
				t.Fatal("no connection")
			}
		}
		return conn
	}
}

// TestResets has a client begin and reset calls without end: its connection is closed after so many as a
// connection may waste, and another client of the same address is served.
func TestResets(t *testing.T) {
	dial := doored(t)
	hostile, honest := dial(), dial()
	calls := 0
	for ; hostile.GetState() == connectivity.Ready; calls++ {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := farmv1.NewFarmClient(hostile).Work(ctx)
		cancel()
		if calls > 1e6 {
			t.Fatalf("the connection is open after %d resets; %v", calls, err)
		}
	}
	t.Logf("closed after %d resets", calls)
	served(t, honest)
	if honest.GetState() != connectivity.Ready {
		t.Error("the other client's connection is closed too")
	}
}

// TestManyOfOneAddress has eight clients begin all the calls they can, of which no message comes: a ninth of the
// same address is served all the same.
func TestManyOfOneAddress(t *testing.T) {
	dial := doored(t)
	for range 8 {
		hostile := farmv1.NewFarmClient(dial())
		for range maxOpenings {
			if _, err := hostile.Work(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	time.Sleep(100 * time.Millisecond) // the calls come
	served(t, dial())
}

// served fails the test unless a call is heard: it is refused for what it says.
func served(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := farmv1.NewFarmClient(conn).Join(ctx, &farmv1.JoinRequest{})
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.InvalidArgument:
	default:
		t.Errorf("a client that does no harm is told %v", err)
	}
}

// TestConnectionEnds: what hangs on the context of a connection ends with it, whatever deadline it has.
func TestConnectionEnds(t *testing.T) {
	var c connections
	conn := c.TagConn(t.Context(), nil)
	call, cancel := context.WithTimeout(c.TagRPC(conn, nil), 1000*time.Hour)
	defer cancel()
	c.HandleConn(conn, &stats.ConnBegin{})
	if call.Err() != nil {
		t.Fatal("the call has ended before its connection")
	}
	c.HandleConn(conn, &stats.ConnEnd{})
	if call.Err() == nil {
		t.Error("the call goes on after its connection")
	}
}
