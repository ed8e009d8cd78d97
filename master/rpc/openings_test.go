package rpc

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
