package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// child starts this test binary again to run children[name].
func child(t testing.TB, name, path string, env ...string) (*exec.Cmd, io.ReadCloser) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), append(env, childEnv+"="+name, childEnv+"_PATH="+path)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, out
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// killCampaigns are those of a store that is killed or cut off: the second shares the facts of the
// first, the third has another board.
var killCampaigns = []Campaign{
	testCampaign,
	{Number: 2, Name: "kin", Board: "5x6", Root: "5x6", FirstMoves: []string{"B1-B4xD4"}, Pool: 1},
	{Number: 3, Name: "other", Board: "6x5", Root: "6x5", Pool: 3},
}

// killEvidence is the certificate of the batches of a campaign.
func killEvidence(about Campaign) ([]byte, proof.ID) { return payloadOf(uint64(about.Pool-1)<<40, 100) }

// tree.Persist i of a caller in the kill test: three facts and two nodes, of which one is written again
// and again.
func killBatch(about Campaign, caller, i uint64) tree.Persist {
	_, id := killEvidence(about)
	b := tree.Persist{Campaign: about.Number, Epoch: 1}
	at := caller<<20 + 10*i
	for j := range uint64(3) {
		f := factOf(at+j, id)
		f.Key = keyOn(about.ParsedBoard(), at+j)
		b.Facts = append(b.Facts, f)
	}
	last, node := nodeOf(caller<<40), nodeOf(at+3)
	last.Nodes = i
	last.Key, node.Key = keyOn(about.ParsedBoard(), caller<<40), keyOn(about.ParsedBoard(), at+3)
	b.Nodes = []tree.NodeRecord{last, node}
	return b
}

// killCampaign is the campaign of a caller in the kill test.
func killCampaign(caller uint64) Campaign { return killCampaigns[caller%uint64(len(killCampaigns))] }

// factsIn returns the facts of a campaign by position.
func factsIn(s *Store, campaign uint32) (map[amazons.Key]proof.Fact, error) {
	snap, err := s.Snapshot(campaign)
	facts := make(map[amazons.Key]proof.Fact, len(snap.Facts))
	for _, f := range snap.Facts {
		facts[f.Key] = f
	}
	return facts, err
}

// put uploads a certificate for the facts of a campaign.
func put(s *Store, campaign uint32, p []byte, id proof.ID) error {
	_, err := s.PutCertificate(campaign, id, p)
	return err
}

const killCallers = 4

func init() {
	// commits: callers commit batches to several campaigns, an operator changes one of these, a
	// certificate comes now and then, and what was acknowledged is printed.
	children["commits"] = func(path string) {
		start, _ := strconv.ParseUint(os.Getenv(childEnv+"_START"), 10, 64)
		s, err := Open(path, quick)
		must(err)
		var mu sync.Mutex
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			os.Stdout.WriteString(fmt.Sprintf(format, args...))
		}
		for _, about := range killCampaigns {
			p, id := killEvidence(about)
			must(put(s, about.Number, p, id))
		}
		say("ready\n")
		for c := range uint64(killCallers) {
			go func() {
				for i := start; ; i++ {
					must(s.commit(killBatch(killCampaign(c), c, i)))
					say("%d %d\n", c, i)
				}
			}()
		}
		go func() {
			for i := int(start); ; i++ {
				_, err := s.ChangeCampaign(2, Change{Priority: &i})
				must(err)
				say("priority %d\n", i)
			}
		}()
		for i := start; ; i++ {
			p, id := payloadOf(i+1, 1<<20+int(i%7)*100_000)
			must(put(s, uint32(1+i%3), p, id))
			say("certificate %d\n", i)
		}
	}
	// hold keeps the store open until its input ends.
	children["hold"] = func(path string) {
		s, err := Open(path, quick)
		must(err)
		fmt.Println("open")
		time.Sleep(time.Minute)
		s.Close()
	}
	// create kills itself at one step of Create.
	children["create"] = func(path string) {
		step := os.Getenv(childEnv + "_STEP")
		disk.AfterStep = func(at string) {
			if at == step {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		s, err := Create(path, testCampaign, quick)
		must(err)
		s.Close()
		fmt.Println("created")
	}
	// full fills the store up to a limit that the system sets on files, raises the limit and goes on.
	children["full"] = func(path string) {
		s, err := Open(path, quick)
		must(err)
		var limit syscall.Rlimit
		must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
		must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1 << 20, Max: limit.Max}))
		ignoreFileSizeSignal()
		for i := uint64(0); ; i++ {
			var b tree.Persist
			for j := range uint64(500) {
				b.Nodes = append(b.Nodes, nodeOf(i*500+j))
			}
			if err := s.commit(b); err != nil {
				for range 3 {
					if again := s.commit(b); !errors.Is(again, ErrNoRoom) || errors.Is(again, ErrFailed) {
						must(fmt.Errorf("a commit without room is: %w", again))
					}
				}
				must(s.Check())
				must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))
				must(s.commit(b))
				must(s.Check())
				fmt.Println("went on", i)
				s.Close()
				return
			}
		}
	}
}

// TestKill kills a process that commits, many times at random moments: what it has acknowledged is
// there each time, what it has not is there as a whole or not at all, and the check is clean.
func TestKill(t *testing.T) {
	kills := 25
	if testing.Short() {
		kills = 5
	}
	s := newStore(t, quick)
	path := s.Path()
	for _, c := range killCampaigns[1:] {
		if _, err := s.AddCampaign(c); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	var next [killCallers]uint64 // of each caller, the first batch that is not acknowledged
	nextCertificate, nextPriority := uint64(0), 0
	random := rand.New(rand.NewPCG(1, 2))
	total := 0
	for range kills {
		start := max(next[0], next[1], next[2], next[3], nextCertificate, uint64(nextPriority))
		c, out := child(t, "commits", path, childEnv+"_START="+strconv.FormatUint(start, 10))
		lines := bufio.NewScanner(out)
		var timer *time.Timer
		for i := range next {
			next[i] = start
		}
		nextCertificate, nextPriority = start, int(start)
		for lines.Scan() {
			line := lines.Text()
			var caller, i uint64
			if line == "ready" {
				timer = time.AfterFunc(time.Duration(random.IntN(120_000))*time.Microsecond,
					func() { c.Process.Kill() })
			} else if _, err := fmt.Sscanf(line, "certificate %d", &i); err == nil {
				nextCertificate = i + 1
			} else if _, err := fmt.Sscanf(line, "priority %d", &i); err == nil {
				nextPriority = int(i) + 1
			} else if _, err := fmt.Sscanf(line, "%d %d", &caller, &i); err == nil {
				if i != next[caller] {
					t.Fatal("a caller's batches are acknowledged out of order:", line)
				}
				next[caller]++
				total++
			} else {
				t.Fatal("child says", line)
			}
		}
		c.Wait()
		if timer == nil {
			t.Fatal("the child could not begin")
		}
		timer.Stop()

		s := mustOpen(t, path, quick)
		check(t, s)
		if got := s.Campaigns()[1].Priority; nextPriority > int(start) && got != nextPriority && got != nextPriority-1 {
			t.Fatalf("the priority is %d, acknowledged up to %d", got, nextPriority)
		}
		for caller := range uint64(killCallers) {
			about := killCampaign(caller)
			facts, err := factsIn(s, about.Number)
			if err != nil {
				t.Fatal(err)
			}
			for i := start; i <= next[caller]; i++ {
				found := 0
				for _, f := range killBatch(about, caller, i).Facts {
					if facts[f.Key] == f {
						found++
					}
				}
				if i < next[caller] && found != 3 || found%3 != 0 {
					t.Fatalf("%d facts of batch %d of caller %d, acknowledged up to %d", found, i, caller, next[caller])
				}
			}
			snap, err := s.Snapshot(about.Number)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range snap.Nodes {
				if a := next[caller]; n.Key == keyOn(about.ParsedBoard(), caller<<40) && a > start && n.Nodes+1 != a &&
					n.Nodes != a {
					t.Fatalf("the last record of caller %d is %d, acknowledged up to %d", caller, n.Nodes, a)
				}
			}
		}
		for i := start; i < nextCertificate; i++ {
			p, id := payloadOf(i+1, 1<<20+int(i%7)*100_000)
			r, n, err := s.OpenCertificate(id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(io.NewSectionReader(r, 0, n)); err != nil || !bytes.Equal(got, p) {
				t.Fatal("certificate differs", err)
			}
		}
		if n := leftAfterCollect(t, s); n != 0 {
			t.Fatal("parts without a record are left:", n)
		}
		s.Close()
	}
	t.Logf("%d kills, %d acknowledged batches", kills, total)
}

// TestKillCreate kills a process at each step of Create.
func TestKillCreate(t *testing.T) {
	for _, step := range []string{"temporary file", "pages", "records", "synced", "linked", "never"} {
		path := filepath.Join(t.TempDir(), "store")
		c, out := child(t, "create", path, childEnv+"_STEP="+step)
		said, _ := io.ReadAll(out)
		c.Wait()
		if (string(said) == "created\n") != (step == "never") {
			t.Fatalf("%s: the child said %q", step, said)
		}
		entries, _ := os.ReadDir(filepath.Dir(path))
		want := map[string]bool{"linked": true, "never": true}[step]
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: %v", step, err)
		}
		s, err := Create(path, testCampaign, quick) // in the way is only a whole store
		if want != errors.Is(err, disk.ErrExists) {
			t.Errorf("%s: %v", step, err)
		}
		if want {
			s = mustOpen(t, path, quick)
		}
		check(t, s)
		s.Close()

		// Leftovers go once they are old.
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				old := time.Now().Add(-2 * time.Hour)
				os.Chtimes(filepath.Join(filepath.Dir(path), e.Name()), old, old)
			}
		}
		mustOpen(t, path, quick).Close()
		if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 2 { // the store and the folder of its parts
			t.Errorf("%s: leftovers stay: %v", step, entries)
		}
	}
}

func TestLockedByProcess(t *testing.T) {
	s := newStore(t, quick)
	path := s.Path()
	// In one process too: a lock belongs to an open file.
	if _, err := Open(path, Options{LockTimeout: 20 * time.Millisecond}); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	s.Close()
	c, out := child(t, "hold", path)
	defer c.Wait()
	defer c.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatal(line, err)
	}
	for _, o := range []Options{{}, {ReadOnly: true}} {
		begin := time.Now()
		_, err := Open(path, o)
		if !errors.Is(err, ErrLocked) || time.Since(begin) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	}
	// The lock goes with the process; who waits gets it.
	time.AfterFunc(50*time.Millisecond, func() { c.Process.Kill() })
	mustOpen(t, path, Options{LockTimeout: 10 * time.Second}).Close()
}

// TestWriteFails lets the system refuse writes: nothing of those commits is there, and once it
// allows them again the store goes on.
func TestWriteFails(t *testing.T) {
	s := newStore(t, quick)
	path := s.Path()
	s.Close()
	c, out := child(t, "full", path)
	said, _ := io.ReadAll(out)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	var batches int
	if _, err := fmt.Sscanf(string(said), "went on %d", &batches); err != nil || batches == 0 {
		t.Fatalf("the child said %q", said)
	}
	s = mustOpen(t, path, quick)
	check(t, s)
	snap, err := s.Snapshot(1)
	if err != nil || len(snap.Nodes) != 500*(batches+1) {
		t.Error(len(snap.Nodes), batches, err)
	}
}
