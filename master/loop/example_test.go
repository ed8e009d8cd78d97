package loop_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Example lets one worker have a lease and return it. What the worker is told is on disk by then.
func Example() {
	if err := oneLease(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a lease of campaign 4x4 for 5000000 nodes
	// acknowledged is message 1
	// the loop ended: drained
	// the store has 5000000 nodes
}

func oneLease() error {
	folder, err := os.MkdirTemp("", "loop-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		return err
	}
	s, err := store.Create(filepath.Join(folder, "4x4.store"), store.Campaign{Name: "4x4", Board: "4x4",
		Root: root.String(), Share: 1, Created: time.Now()}, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	top, err := tree.New(tree.Config{Root: root}, tree.Snapshot{})
	if err != nil {
		return err
	}
	campaign := loop.Campaign{Tree: top, Settings: loop.Settings{Share: 1}, About: loop.About{
		Number: 1, Name: "4x4", Root: root, Pool: 1,
		ReadRoots: func([]byte) ([]proof.Citation, error) { return nil, nil },
		Conclude: func(context.Context, loop.Evidence, func(state, why string, p loop.Phase)) (loop.Conclusion, error) {
			return loop.Conclusion{}, nil
		},
	}}
	l, err := loop.New(loop.Config{}, []loop.Campaign{campaign}, s)
	if err != nil {
		return err
	}
	ctx := context.Background()
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()

	// A worker joins, opens its stream and asks for work.
	w, err := l.Join(ctx, loop.Worker{Name: "w"})
	if err != nil {
		return err
	}
	link := l.NewLink()
	if err := l.Attach(ctx, w, link); err != nil {
		return err
	}
	if err := l.Post(ctx, loop.Event{Session: w, Link: link, Tree: tree.Ready{Worker: "w"}}); err != nil {
		return err
	}
	lease := (<-link.Answers).(loop.Lease)
	fmt.Printf("a lease of campaign %s for %d nodes\n", lease.Campaign.Name, lease.Budget)

	// It searches, and returns the lease with the numbers it has. The answer comes after the commit.
	result := tree.Result{Worker: "w", Lease: lease.ID, Epoch: lease.Epoch, Key: lease.Key, Phi: 3, Delta: 4,
		Nodes: lease.Budget}
	if err := l.Post(ctx, loop.Event{Session: w, Link: link, Campaign: lease.Campaign, Tree: result,
		Serial: 1}); err != nil {
		return err
	}
	fmt.Printf("acknowledged is message %d\n", (<-link.Answers).(loop.Ack).Serial)

	if err := l.Drain(ctx); err != nil {
		return err
	}
	fmt.Printf("the loop ended: %v\n", <-ended)
	stats, err := s.Stats()
	if err != nil {
		return err
	}
	fmt.Printf("the store has %d nodes\n", stats.Campaigns[0].Nodes)
	return nil
}
