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
	"google.golang.org/grpc/status"

	"amazonsfarm/master/access"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// TestResets has a client begin and reset calls without end, over TCP: its connection is closed after so many
// as a connection may waste, and another client of the same address is served all the time.
func TestResets(t *testing.T) {
	l, cfg, _, _ := newLoop(t, newMemory(), nil)
	server, err := NewServer(l, cfg.services, ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(access.NewDoor(listener, 16, true)) }()
	t.Cleanup(server.Stop)
	dial := func() *grpc.ClientConn {
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = farmv1.NewFarmClient(honest).Join(ctx, &farmv1.JoinRequest{})
	if code := status.Code(err); code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.OK {
		t.Errorf("the other client is told %v", err)
	}
	if honest.GetState() != connectivity.Ready {
		t.Error("the other client's connection is closed too")
	}
}
