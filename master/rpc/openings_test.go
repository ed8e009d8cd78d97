package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"amazonsfarm/master/access"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/identity"
)

// TestManyWorkersOfOneAddress has workers behind one address begin more calls at a time than a lone one may:
// those with credentials of their own do not count together, and a credential that many share may begin more.
func TestManyWorkersOfOneAddress(t *testing.T) {
	const shared, own = 128, 80
	c := startCluster(t, false, access.Limits{OpenCalls: 1000})
	answers := make(chan error, shared+own)
	enter := func(folder, name string) func() { // returns what begins a call whose first message does not come
		b := c.enter(folder)
		_, err := b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: name, Build: "this build",
			ProtocolVersion: farmv1.ProtocolVersion, RulesVersion: farmv1.RulesVersion})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return func() {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			stream, err := b.farm.Work(ctx)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			go func() {
				_, err := stream.Recv()
				answers <- err
			}()
		}
	}
	farm := c.member(identity.Worker, "farm", 0)
	var begin []func()
	for i := range shared {
		begin = append(begin, enter(farm, fmt.Sprintf("farm/%d", i)))
	}
	for _, begin := range begin {
		begin()
	}
	for i := range own {
		enter(c.member(identity.Worker, fmt.Sprint("own-", i), 0), fmt.Sprint("own-", i))()
	}
	refused := 0
	for patience := 2 * time.Second; ; {
		select {
		case err := <-answers:
			if status.Code(err) != codes.ResourceExhausted {
				t.Fatal(err)
			}
			refused++
			continue
		case <-time.After(patience):
		}
		break
	}
	if most := maxOpenings + shared/openingShare; refused != shared-most {
		t.Errorf("%d calls were refused, of %d of one credential %d may begin", refused, shared, most)
	}
}

// TestManyThatBegin has addresses begin all the calls that they may, one after the other: all together
// hold no more than is set aside for them, the last one finds room too, and what ends is counted off.
func TestManyThatBegin(t *testing.T) {
	o := &openings{patience: time.Hour, log: slog.New(slog.DiscardHandler), lines: rate.NewLimiter(1, 1),
		of: map[any]int{}}
	var cancels []context.CancelFunc
	begin := func(host int) (begun int) { // as many calls as are let in
		for {
			at := peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(host)), Port: 1}}
			ctx, cancel := context.WithCancel(peer.NewContext(t.Context(), &at))
			cancels = append(cancels, cancel)
			if _, err := o.tap(ctx, &tap.Info{}); err != nil {
				return begun
			}
			begun++
		}
	}
	const hosts = 20
	if n := begin(0); n != maxOpenings {
		t.Errorf("the first one begins %d calls", n)
	}
	for host := 1; host < hosts; host++ {
		if n := begin(host); n < fewOpenings || n > maxOpenings {
			t.Errorf("number %d begins %d calls", host, n)
		}
	}
	if o.n > allOpenings+hosts*fewOpenings {
		t.Errorf("%d calls have begun", o.n)
	}
	for _, cancel := range cancels {
		cancel()
	}
	for range 1000 {
		o.mu.Lock()
		n, names := o.n, len(o.of)
		o.mu.Unlock()
		if n == 0 && names == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("calls that have ended still count")
}
