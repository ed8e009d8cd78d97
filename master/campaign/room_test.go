package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/disk"
	"amazonsfarm/worker/agent"
)

// TestFullDisk runs a campaign whose disk is full every other moment, also in the midst of uploads
// and commits: it pauses, says why, goes on by itself, and ends with the right, verified answer.
func TestFullDisk(t *testing.T) {
	var asked, refused atomic.Int64
	file := filepath.Join(t.TempDir(), "s.store")
	r, err := solve(t, Options{Root: position(t, "5x5"), StoreFile: file,
		Tree: tree.Config{InitialBudget: 5000, SplitAfter: 20_000}, Loop: loop.Config{Heartbeat: 20 * time.Millisecond},
		Store: store.Options{MinFreeBytes: 1 << 20, FreeBytes: func(string) (int64, bool) {
			if n := asked.Add(1); n > 2 && n/20%2 == 0 && n < 3000 {
				refused.Add(1)
				return 1000, true
			}
			return 1 << 40, true
		}}}, nil, 2)
	if err != nil || !r.Verified || r.Winner != "first" /* README.md */ {
		t.Errorf("%+v, %v", r, err)
	}
	if refused.Load() < 10 {
		t.Errorf("the disk was full %d times only", refused.Load())
	}
	if found, err := store.CheckFile(t.Context(), file, nil); err != nil || !found.Good {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestBackupWhileRunning takes one backup after the other of a campaign that two workers are busy
// with: each is a good store of that campaign, and the last one can be gone on from.
func TestBackupWhileRunning(t *testing.T) {
	folder := t.TempDir()
	o := Options{Root: position(t, "5x5"), StoreFile: filepath.Join(folder, "s.store"),
		Services: rpc.Config{Build: agent.Build()}, Tree: tree.Config{InitialBudget: 2000, SplitAfter: 8000},
		Loop: loop.Config{Heartbeat: 20 * time.Millisecond, Stay: true}}
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	listener := bufconn.Listen(1 << 20)
	server := rpc.NewServer(f.Loop, f.Services, rpc.ServerOptions{})
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(listener) })
	defer all.Wait()
	defer server.Stop()
	defer conn.Close()
	ended := make(chan error, 1)
	all.Go(func() {
		ended <- f.RunEmbedded(t.Context(), nil, []agent.Config{{Cores: 1, TableBytes: 4 << 20},
			{Cores: 1, TableBytes: 4 << 20}})
	})
	operator := farmv1.NewControlClient(conn)
	last, facts := "", uint64(0)
	for n := 0; ; n++ {
		status, err := operator.Status(t.Context(), &farmv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(folder, fmt.Sprintf("backup-%d", n%2))
		_ = os.Remove(name)
		d, err := disk.New(name)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := operator.Backup(t.Context(), &farmv1.BackupRequest{})
		whole := false
		for err == nil {
			var m *farmv1.BackupResponse
			if m, err = stream.Recv(); err == nil {
				whole = whole || len(m.GetSha256()) > 0
				_, err = d.Write(m.GetData())
			}
		}
		if !errors.Is(err, io.EOF) || !whole {
			d.Discard()
			t.Fatal(err)
		}
		r, err := store.PublishCopy(t.Context(), d, nil)
		if err != nil || r.Facts < facts {
			t.Fatalf("backup %d: %+v after %d facts, %v", n, r, facts, err)
		}
		over := status.GetState() == loop.StateSettled
		if !over || facts == 0 {
			last, facts = name, r.Facts
		}
		if over {
			break
		}
	}
	if err := f.Loop.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if facts == 0 {
		t.Error("no facts in the last backup")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// A backup has no parts: they lie in the folder, and are copied after it.
	if err := os.CopyFS(store.EvidenceFolder(last), os.DirFS(store.EvidenceFolder(o.StoreFile))); err != nil {
		t.Fatal(err)
	}
	o.StoreFile, o.ProofFile, o.Loop.Stay = last, "", false
	if r, err := solve(t, o, nil, 1); err != nil || !r.Verified || r.Winner != "first" {
		t.Errorf("from the backup: %+v, %v", r, err)
	}
}
