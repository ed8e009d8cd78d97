package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
	"amazonsfarm/worker/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func position(t testing.TB, text string) amazons.Position {
	t.Helper()
	p, err := amazons.ParsePosition(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// solve runs a campaign to its end, or until it is drained.
func solve(t testing.TB, o Options, drain <-chan struct{}, workers int) (cli.SolveResult, error) {
	t.Helper()
	o.Services.Build = agent.Build()
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	var list []agent.Config
	for range workers {
		list = append(list, agent.Config{Cores: 1, TableBytes: 4 << 20})
	}
	err = f.RunEmbedded(t.Context(), drain, list)
	r := f.Result(err)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return r, err
}

// TestEmbedded solves with one worker, whose answer is the whole certificate, and with three and a
// tree that is split early, so that the certificate is put together from many parts and the
// tree's own entries. The winners are from README.md.
func TestEmbedded(t *testing.T) {
	for _, c := range []struct {
		name, text, winner string
		moves              []string
		workers            int
		budget, split      uint64
		rulesOnly          bool
	}{
		{"4x4 alone", "4x4", "second", nil, 1, 0, 0, false},
		{"4x4 split", "4x4", "second", nil, 3, 50, 100, false},
		{"5x4 split", "5x4", "first", nil, 3, 20, 40, false},
		{"5x4 by a first move", "5x4", "first", []string{"D1-D2xB2"}, 2, 20, 40, false},
		{"black to move", "4x3: ", "", nil, 2, 50, 100, false},
		{"rules only", "4x3: ", "", nil, 2, 100, 200, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasSuffix(c.text, ": ") {
				c.text = "B..B/..../W..W b"
			}
			root := position(t, c.text)
			o := Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"), RulesOnly: c.rulesOnly,
				Tree: tree.Config{InitialBudget: c.budget, SplitAfter: c.split},
				Loop: loop.Config{Heartbeat: 50 * time.Millisecond}}
			for _, text := range c.moves {
				m, err := root.ParseMove(text)
				if err != nil {
					t.Fatal(err)
				}
				o.FirstMoves = append(o.FirstMoves, m)
			}
			r, err := solve(t, o, nil, c.workers)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Verified || c.winner != "" && r.Winner != c.winner || r.Winner == "" {
				t.Errorf("got %+v", r)
			}
			if _, err := os.Stat(ProofFile(o.StoreFile) + ".unverified"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the draft of the certificate is left: %v", err)
			}
			again, err := solve(t, o, nil, 0)
			if err != nil || again.Winner != r.Winner || again.Certificate.SHA256 != r.Certificate.SHA256 ||
				again.Nodes != r.Nodes ||
				!slices.Equal(again.WinningMoves, r.WinningMoves) {
				t.Errorf("asked again: %+v, %v; before: %+v", again, err, r)
			}
			if err := os.Remove(r.Certificate.File); err != nil {
				t.Fatal(err)
			}
			report, checked, err := VerifyStore(t.Context(), o.StoreFile, checker.Options{})
			if err != nil || !report.Settled || checked == nil || report.CertificateFile != "" {
				t.Errorf("verify the store: %+v, %v", report, err)
			}
			// A larger proof is checked in parts, and put together for those who read it.
			most := packPositions
			packPositions = 0
			if _, checked, err = VerifyStore(t.Context(), o.StoreFile, checker.Options{}); err != nil ||
				checked.Parts == nil || !checked.Complete() {
				t.Errorf("verify the store in parts: %+v, %v", checked, err)
			}
			read, from, err := ReadCertificate(t.Context(), o.StoreFile, "")
			packPositions = most
			if err != nil || from != o.StoreFile || len(read.Roots) != len(checked.Roots) {
				t.Errorf("read %d roots from %s, %v", len(read.Roots), from, err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(o.StoreFile), ".amazons-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			// Parts that came in after the answer may bring other winning moves, so only what
			// is proved is the same.
			made, err := solve(t, o, nil, 0)
			if err != nil || !made.Verified || made.Winner != r.Winner {
				t.Errorf("the certificate is not made again: %+v, %v", made, err)
			}
		})
	}
}

func TestDrainAndGoOn(t *testing.T) {
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Tree: tree.Config{InitialBudget: 2000, SplitAfter: 4000}}
	drain := make(chan struct{})
	timer := time.AfterFunc(100*time.Millisecond, func() { close(drain) })
	defer timer.Stop()
	r, err := solve(t, o, drain, 2)
	if !errors.Is(err, loop.ErrDrained) || r.Winner != "" || r.Stopped == "" {
		t.Fatalf("drained: %+v, %v", r, err)
	}
	report, checked, err := VerifyStore(t.Context(), o.StoreFile, checker.Options{})
	if err != nil || report.Settled || checked != nil {
		t.Errorf("verify an unsettled store: %+v, %v", report, err)
	}
	o.Loop.NodeLimit = r.Nodes + 1
	if r, err := solve(t, o, nil, 2); !errors.Is(err, loop.ErrLimit) {
		t.Fatalf("limit: %+v, %v", r, err)
	}
}

// TestLyingPart holds that a false part of an earlier worker does not become an answer: what it claims is
// taken back, and the campaign ends right.
func TestLyingPart(t *testing.T) {
	root := position(t, "4x4") // the second player wins: README.md
	for _, parts := range []int{1, 2} {
		o := Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store")}
		f, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		key := root.State().CanonicalKey(root.Board)
		m := root.State().Moves(nil)[0]
		for i := range parts {
			set := new(proof.Set)
			if i == 0 {
				_, symmetry := root.State().Canonical(root.Board)
				set.Add(proof.Entry{Key: key, Move: root.Board.ApplyMove(symmetry, m)})
			}
			data, err := proof.Encode(proof.Certificate{Board: root.Board,
				Roots: []proof.Root{proof.RootOf(root, eval.Won)}, Set: set})
			if err != nil {
				t.Fatal(err)
			}
			id := proof.ID(sha256.Sum256(data))
			if _, err := f.store.PutCertificate(1, id, data); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				continue
			}
			p := tree.Persist{Epoch: 1, Facts: []proof.Fact{{Key: key, Verdict: eval.Won, Nodes: 1, Certificate: id}}}
			if err := f.store.Commit([]tree.Persist{p}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := solve(t, o, nil, 1)
		if err != nil || !r.Verified || r.Winner != "second" {
			t.Errorf("%d parts: %+v, %v", parts, r, err)
		}
		s, _, err := VerifyStore(t.Context(), o.StoreFile, checker.Options{})
		if err != nil || s.Winner != "second" {
			t.Errorf("%d parts: the store: %+v, %v", parts, s, err)
		}
	}
}

// TestBlameInParts has the check of a proof in parts meet a false one, or a fact that names a part which proves
// something else: the error names the part, so that it can be taken back and the campaign goes on. Only in the first
// case its maker has lied.
func TestBlameInParts(t *testing.T) {
	root := position(t, "4x4") // the second player wins: README.md
	for _, verdict := range []eval.Verdict{eval.Won, eval.Lost} {
		f, err := Open(Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"), Embedded: true})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, err := proof.Encode(proof.Certificate{Board: root.Board,
			Roots: []proof.Root{proof.RootOf(root, eval.Won)}, Set: new(proof.Set)})
		if err != nil {
			t.Fatal(err)
		}
		id := proof.IDOf(data)
		if _, err := f.store.PutCertificate(1, id, data); err != nil {
			t.Fatal(err)
		}
		key := root.State().CanonicalKey(root.Board)
		p := tree.Persist{Epoch: 1, Facts: []proof.Fact{{Key: key, Verdict: verdict, Nodes: 1, Certificate: id}}}
		if err := f.store.Commit([]tree.Persist{p}, nil); err != nil {
			t.Fatal(err)
		}
		c := f.campaigns[0]
		parts, err := c.gather(t.Context(), []proof.Root{proof.RootOf(root, verdict)}, nil)
		if err == nil {
			err = c.concludeInParts(t.Context(), parts, func(string, string, loop.Phase) {})
		}
		wrong := (*checks.FalsePartsError)(nil)
		if !errors.As(err, &wrong) || !slices.Equal(wrong.IDs, []proof.ID{id}) ||
			errors.Is(err, loop.ErrLost) != (verdict == eval.Lost) {
			t.Errorf("%v: the check ends with %v", verdict, err)
		}
	}
}

// proved gives the store of a campaign a part that proves the root, and says that another worker has verified it.
func proved(t *testing.T, c *campaign, verdict eval.Verdict, data []byte) {
	t.Helper()
	s, id := c.farm.store, proof.IDOf(data)
	_, put := s.PutCertificate(1, id, data)
	fact := proof.Fact{Key: c.root.State().CanonicalKey(c.root.Board), Verdict: verdict, Nodes: 1, Certificate: id}
	commit := s.Commit([]tree.Persist{{Epoch: 1, Facts: []proof.Fact{fact}}}, nil)
	if err := errors.Join(put, commit, s.SetVerified([]proof.ID{id}, "another")); err != nil {
		t.Fatal(err)
	}
}

// TestWinningMoveInParts wants the winning move of a root that one lease proves, where the proof stays in parts: the
// tree does not know the move.
func TestWinningMoveInParts(t *testing.T) {
	root := position(t, "5x5")
	o := Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "solved.store")}
	solved, err := solve(t, o, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(ProofFile(o.StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	o.StoreFile = filepath.Join(t.TempDir(), "s.store")
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := f.campaigns[0]
	proved(t, c, eval.Won, data)
	c.settled = &tree.Settled{Verdict: eval.Won}
	parts, err := c.gather(t.Context(), []proof.Root{proof.RootOf(root, eval.Won)}, nil)
	if err == nil {
		err = c.concludeInParts(t.Context(), parts, func(string, string, loop.Phase) {})
	}
	if moves := c.winningMoves(); err != nil || len(moves) == 0 || !slices.Equal(moves, solved.WinningMoves) {
		t.Errorf("winning moves %v, %v; in one file %v", moves, err, solved.WinningMoves)
	}
}

// TestPublishDropped publishes a proof with a part that is kept as a digest only. The answer of a campaign may do
// without the part; a check of the whole proof may not.
func TestPublishDropped(t *testing.T) {
	root := position(t, "4x4") // the second player wins: README.md
	f, err := Open(Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Store: store.Options{Digest: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	roots := []proof.Root{proof.RootOf(root, eval.Lost)}
	data, err := proof.Encode(proof.Certificate{Board: root.Board, Roots: roots, Set: new(proof.Set)})
	if err != nil {
		t.Fatal(err)
	}
	c := f.campaigns[0]
	proved(t, c, eval.Lost, data)
	parts, err := c.gather(t.Context(), roots, nil)
	if err != nil || !parts.dropped {
		t.Fatalf("%+v, %v", parts, err)
	}
	name := filepath.Join(t.TempDir(), "x.proof")
	if _, err := c.publish(name, parts, true); !errors.Is(err, store.ErrDropped) {
		t.Errorf("a whole proof: %v", err)
	}
	if _, err := c.publish(name, parts, false); err != nil {
		t.Error(err)
	}
}

// TestTopIsChecked has the tree add a part that does not follow: the master looks at it whole, not by lot.
func TestTopIsChecked(t *testing.T) {
	root := position(t, "4x4")
	f, err := Open(Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	claims := []proof.Root{proof.RootOf(root, eval.Won)} // the second player wins
	p := &proofParts{roots: claims, top: proof.Certificate{Board: root.Board, Roots: claims, Set: new(proof.Set)}}
	_, err = f.campaigns[0].keepTop(t.Context(), p)
	if !errors.Is(err, ErrVerification) || !strings.Contains(err.Error(), "what the tree adds") {
		t.Errorf("a false top ends with %v", err)
	}
}

func TestUploadsAreJudged(t *testing.T) {
	root := position(t, "4x4")
	f, err := Open(Options{Root: root, RulesOnly: true, StoreFile: filepath.Join(t.TempDir(), "s.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	encode := func(text string, rulesOnly bool) []byte {
		p := position(t, text)
		data, err := proof.Encode(proof.Certificate{Board: p.Board, Leaves: eval.LeavesOf(rulesOnly),
			Roots: []proof.Root{proof.RootOf(p, eval.Lost)}, Set: new(proof.Set)})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if roots, err := f.campaigns[0].readRoots(encode("4x4", true)); err != nil || len(roots) != 1 ||
		roots[0].Claim != eval.Lost {
		t.Errorf("good: %v, %v", roots, err)
	}
	if _, err := f.campaigns[0].readRoots(encode("4x5", true)); err == nil ||
		!strings.Contains(err.Error(), "board 4x5") {
		t.Errorf("another board: %v", err)
	}
	// The store has a part once. One of the other kind that came first would keep out those who bring it here.
	other, err := Open(Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "o.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for of, rulesOnly := range map[*Farm]bool{f: false, other: true} {
		if _, err := of.campaigns[0].readRoots(encode("4x4", rulesOnly)); !errors.Is(err, loop.ErrOther) {
			t.Errorf("rules only %v, in a campaign of the other kind: %v", rulesOnly, err)
		}
	}
	if data := encode("4x4", true); true {
		if _, err := f.campaigns[0].readRoots(data[:len(data)-1]); err == nil {
			t.Error("cut short: taken")
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	o := Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "s.store")}
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	other := o
	other.RulesOnly = true
	if _, err := Open(other); !errors.Is(err, store.ErrCampaign) {
		t.Errorf("another campaign: %v", err)
	}
}

// TestWorkerCannotStart holds that a campaign does not wait for workers that never come.
func TestWorkerCannotStart(t *testing.T) {
	f, err := Open(Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Services: rpc.Config{Build: agent.Build()}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err = f.RunEmbedded(ctx, nil, []agent.Config{{Cores: -1}})
	if !errors.Is(err, agent.ErrConfig) {
		t.Errorf("ended with %v", err)
	}
}

// TestManyEmbedded runs more workers than one connection may have calls: parts are delivered all the same.
func TestManyEmbedded(t *testing.T) {
	if testing.Short() {
		t.Skip("it stood still once, without a race: what matters is the number of workers")
	}
	f, err := Open(Options{Root: position(t, "4x5"), StoreFile: filepath.Join(t.TempDir(), "s.store"),
		Services: rpc.Config{Build: agent.Build()}, Tree: tree.Config{InitialBudget: 10_000}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Ten seconds, with the race detector on a busy machine more than a minute. It stood still for good once.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err = f.RunEmbedded(ctx, nil, slices.Repeat([]agent.Config{{Cores: 1, TableBytes: 1 << 20}}, 300)); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestLook plays a solved board from its store to the end, again and again: the winner plays what
// the explorer shows, the loser anything. The evidence is in many parts; all that is shown
// agrees with exhaustive search, and nothing that is needed is missing.
func TestLook(t *testing.T) {
	root := position(t, "B..B/..../W..W b")
	solved, err := solve(t, Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store")}, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := proof.ReadFile(solved.Certificate.File)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "scattered.store")}
	scatter(t, o, whole, 5)
	r, err := OpenReader(o.StoreFile, "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	truth := reference.New(root.Board)
	random := rand.New(rand.NewPCG(1, 2))
	byCertificate := 0
	for range 60 {
		way := []amazons.Position{root}
		for {
			p := way[len(way)-1]
			e := r.Explore(way)
			won := truth.Wins(p.State())
			if got := eval.Verdict(e.GetKnown().GetVerdict()); got == eval.Open || (got == eval.Won) != won {
				t.Fatalf("%v is %v by %s; won: %t", p, got, e.GetKnown().GetBasis(), won)
			}
			if e.GetKnown().GetBasis() == "certificate" {
				byCertificate++
			}
			after := map[string]amazons.Position{}
			for _, m := range e.GetMoves() {
				move, err := p.ParseMove(m.GetMove())
				if err != nil {
					t.Fatal(err)
				}
				q := p.After(move)
				after[m.GetMove()] = q
				if got := eval.Verdict(m.GetAfter().GetVerdict()); got != eval.Open &&
					(got == eval.Won) != truth.Wins(q.State()) {
					t.Fatalf("%v after %s is %v by %s", p, m.GetMove(), got, m.GetAfter().GetBasis())
				} else if got == eval.Open && !won {
					t.Fatalf("%v is lost, but its move %s is open", p, m.GetMove())
				}
			}
			if len(after) == 0 {
				break
			}
			next := e.GetMoves()[random.IntN(len(e.GetMoves()))].GetMove()
			if won {
				if next = e.GetMoves()[0].GetMove(); truth.Wins(after[next].State()) {
					t.Fatalf("%v is won, but no winning move is shown", p)
				}
			}
			line := p
			for i, text := range e.GetLine() {
				m, err := line.ParseMove(text)
				if err != nil {
					t.Fatal(err)
				}
				line = line.After(m)
				if truth.Wins(line.State()) != (won == (i%2 == 1)) {
					t.Fatalf("the line %v of %v does not play it out", e.GetLine(), p)
				}
			}
			way = append(way, after[next])
		}
	}
	if byCertificate == 0 {
		t.Error("no position was found in a certificate alone")
	}
	if e := r.look.Look(proof.ID{1}, root.State(), 3); len(e.Line) > 3 {
		t.Errorf("a line of %d moves, asked for 3", len(e.Line))
	}
}

// scatter makes a store in which the entries of a certificate are spread over several parts;
// its fact about the root names the third.
func scatter(t *testing.T, o Options, whole proof.Certificate, parts int) {
	t.Helper()
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sets := make([]*proof.Set, parts)
	for i := range sets {
		sets[i] = new(proof.Set)
	}
	for e := range whole.Set.All() {
		sets[(e.Key.A^e.Key.B)%uint64(parts)].Add(e)
	}
	var third proof.ID
	for i, set := range sets {
		data, err := proof.Encode(proof.Certificate{Board: whole.Board, Roots: whole.Roots, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		id := proof.ID(sha256.Sum256(data))
		if _, err := f.store.PutCertificate(1, id, data); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			third = id
		}
	}
	outcome := eval.Lost
	if whole.Roots[0].Claim == eval.Won {
		outcome = eval.Won
	}
	fact := proof.Fact{Key: o.Root.State().CanonicalKey(o.Root.Board), Verdict: outcome, Nodes: 1, Certificate: third}
	if err := f.store.Commit([]tree.Persist{{Facts: []proof.Fact{fact}}}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestNearestFirst(t *testing.T) {
	var list []store.PartRecord
	for i := range maxLookParts + 100 {
		list = append(list, store.PartRecord{ID: proof.ID{byte(i), byte(i >> 8), 1}})
	}
	for _, c := range []struct {
		all, near   int
		first, last int
		want        int
	}{
		{0, -1, 0, 0, 0},
		{5, 2, 2, 4, 5},
		{5, -1, 4, 0, 5}, // not there: the latest first
		{len(list), 10, 10, maxLookParts - 1, maxLookParts},
		{len(list), maxLookParts + 50, maxLookParts + 50, 51, maxLookParts},
	} {
		near := proof.ID{}
		if c.near >= 0 {
			near = list[c.near].ID
		}
		order := nearestFirst(list[:c.all], near)
		if len(order) != c.want || c.want > 0 && (order[0] != list[c.first] || order[len(order)-1] != list[c.last]) {
			t.Errorf("%+v: %d parts", c, len(order))
		}
	}
}

// TestPlaceOfTheCertificate: nothing takes the place of a file that somebody else put there.
func TestPlaceOfTheCertificate(t *testing.T) {
	folder := t.TempDir()
	o := Options{Root: position(t, "4x4"), StoreFile: filepath.Join(folder, "a.db")}
	if _, err := solve(t, o, nil, 1); err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(ProofFile(o.StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, board string
		data        []byte
		ok          bool
	}{
		{"text", "4x4", []byte("precious"), false}, {"another board", "4x5", own, false},
		{"another position of the board", ".BB./B..B/W..W/.W.W w", own, false},
		{"the same question", "4x4", own, true}, {"nothing", "4x5", nil, true},
	} {
		o := Options{Root: position(t, c.board), StoreFile: filepath.Join(t.TempDir(), "b.db")}
		if c.data != nil {
			if err := os.WriteFile(ProofFile(o.StoreFile), c.data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Open(o)
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			f.Close()
		}
		if is, _ := os.ReadFile(ProofFile(o.StoreFile)); !bytes.Equal(is, c.data) {
			t.Errorf("%s: the file is another one", c.name)
		}
	}
	// What the campaign itself put there it makes again if it was damaged. What somebody else put in its place stays.
	for _, damaged := range [][]byte{own[:len(own)/2], own[:5], nil} {
		if err := os.WriteFile(ProofFile(o.StoreFile), damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := solve(t, o, nil, 1); err != nil || !r.Verified {
			t.Errorf("its own certificate has %d of %d bytes: %+v, %v", len(damaged), len(own), r, err)
		}
	}
	if err := os.WriteFile(ProofFile(o.StoreFile), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, cli.ErrUsage) {
		t.Errorf("a text lies in place of its own certificate: %v", err)
	}
	// Where the place is taken nothing is begun: no store is made, and no campaign is added.
	o = Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "b.db"),
		Services: rpc.Config{Build: agent.Build()}}
	if err := os.WriteFile(ProofFile(o.StoreFile), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Open(o)
	if _, missing := os.Stat(o.StoreFile); !errors.Is(err, cli.ErrUsage) || !errors.Is(missing, fs.ErrNotExist) {
		t.Errorf("a text lies in the place of a certificate: %v; its store: %v", err, missing)
	}
	if err := os.Rename(ProofFile(o.StoreFile), filepath.Join(filepath.Dir(o.StoreFile), "b-4x5.proof")); err != nil {
		t.Fatal(err)
	}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (keeper{b}).Add(loop.Asked{Root: position(t, "4x5")}); !errors.Is(err, cli.ErrUsage) ||
		len(b.store.Campaigns()) != 1 {
		t.Errorf("a text lies in the place of an added campaign's certificate: %v", err)
	}
	if _, err := (keeper{b}).Add(loop.Asked{Root: position(t, "4x5"), Name: "other"}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(o.StoreFile), "b-other.proof"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (keeper{b}).Add(loop.Asked{Root: position(t, "5x4"), Name: "other"}); !errors.Is(err, store.ErrTaken) {
		t.Errorf("a name that is taken, with its proof: %v", err)
	}
	b.Close()
	// A file that came while the campaign ran stays too. Once it is gone, the campaign ends.
	o = Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "c.db"),
		Services: rpc.Config{Build: agent.Build()}}
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ProofFile(o.StoreFile), []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	err = f.RunEmbedded(t.Context(), nil, []agent.Config{{Cores: 1, TableBytes: 4 << 20}})
	if f.Close(); err == nil || errors.Is(err, cli.ErrUsage) || !strings.Contains(err.Error(), "move it, and start") {
		t.Errorf("a file that came meanwhile: %v", err)
	}
	if is, _ := os.ReadFile(ProofFile(o.StoreFile)); string(is) != "precious" {
		t.Errorf("a file that came meanwhile is %q now", is)
	}
	// A file, or a link to another disk, that lies where the folder of the parts will be is named at the start.
	parts := proof.PartsFolder(ProofFile(o.StoreFile))
	for _, put := range []func() error{
		func() error { return os.WriteFile(parts, nil, 0o644) },
		func() error { return errors.Join(os.Remove(parts), os.Symlink("/dev", parts)) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(o); !errors.Is(err, cli.ErrUsage) ||
			!strings.Contains(err.Error(), "no folder on the disk of") {
			t.Errorf("the folder of the parts is none: %v", err)
		}
	}
	if err := os.Remove(parts); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ProofFile(o.StoreFile)); err != nil {
		t.Fatal(err)
	}
	if r, err := solve(t, o, nil, 1); err != nil || !r.Verified {
		t.Errorf("the file is gone: %+v, %v", r, err)
	}
}

// partFiles returns the files of the parts of a store.
func partFiles(t *testing.T, o Options) []string {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(store.EvidenceFolder(o.StoreFile), "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestDamagedPart has a part damaged of a settled campaign whose certificate is gone: what it proves is proved again,
// by workers of this process as by others.
func TestDamagedPart(t *testing.T) {
	o := Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "a.db")}
	if _, err := solve(t, o, nil, 1); err != nil {
		t.Fatal(err)
	}
	parts := partFiles(t, o)
	if len(parts) == 0 {
		t.Fatal("there is no part to damage")
	}
	data, err := os.ReadFile(parts[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := errors.Join(os.WriteFile(parts[0], data, 0o644), os.Remove(ProofFile(o.StoreFile))); err != nil {
		t.Fatal(err)
	}
	if r, err := solve(t, o, nil, 1); err != nil || !r.Verified || r.Winner != "second" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPartsThatChange has parts of an answer damaged on the disk after the store has read them, under the same size.
// Their maker is not to blame, and the error names the part, so that the farm proves again what it proves.
func TestPartsThatChange(t *testing.T) {
	o, f, parts := inParts(t)
	defer f.Close()
	c := f.campaigns[0]
	const header, last = 60, -1 // where a byte changes
	for _, part := range parts.parts[:2] {
		for _, use := range []struct {
			what string
			at   int
			do   func() error
		}{
			{"recheck", header, func() error { return c.recheck(t.Context(), part.ID) }},
			{"recheck", last, func() error { return c.recheck(t.Context(), part.ID) }},
			{"gather", header, func() error {
				_, err := c.gather(t.Context(), parts.roots, nil)
				return lost(err)
			}},
			{"pack", last, func() error {
				_, err := c.pack(t.Context(), filepath.Join(t.TempDir(), "p"), parts, nil)
				return lost(err)
			}},
			{"publish", last, func() error {
				_, err := c.publish(filepath.Join(t.TempDir(), "p.proof"), parts, false)
				return lost(err)
			}},
		} {
			file := filepath.Join(store.EvidenceFolder(o.StoreFile), part.ID.Name()[:2], part.ID.Name())
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := f.store.OpenCertificate(part.ID); err != nil {
				t.Fatal(err)
			}
			changed := slices.Clone(data)
			changed[(len(data)+use.at)%len(data)] ^= 1
			if err := os.WriteFile(file, changed, 0o644); err != nil {
				t.Fatal(err)
			}
			err = use.do()
			wrong := (*checks.FalsePartsError)(nil)
			if !errors.Is(err, loop.ErrLost) || errors.Is(err, loop.ErrFalse) || !errors.As(err, &wrong) ||
				!slices.Equal(wrong.IDs, []proof.ID{part.ID}) {
				t.Errorf("%s, part %v with byte %d changed: %v", use.what, part.ID, use.at, err)
			}
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A damaged part of an earlier draft does not stay in the next one.
	draft := filepath.Join(t.TempDir(), "p.proof")
	link := filepath.Join(proof.PartsFolder(draft), parts.parts[0].ID.Name())
	for range 2 {
		if _, err := c.publish(draft, parts, false); err != nil {
			t.Fatal(err)
		}
		if _, sum, err := disk.SHA256(link); err != nil || sum != parts.parts[0].ID.Name() {
			t.Errorf("a published part: %v, %v", sum, err)
		}
		if err := errors.Join(os.Remove(link), os.WriteFile(link, []byte("damaged"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// many is the folder of 4x5, solved with many leases, without its certificate. The first test that needs it solves it.
var many fstest.MapFS

// inParts returns a store of 4x5, which the second player has won with many leases, without its certificate, and the
// parts that prove the answer; the part of the root is the first.
func inParts(t *testing.T) (Options, *Farm, *proofParts) {
	t.Helper()
	folder := t.TempDir()
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(folder, "a.db"),
		Tree: tree.Config{InitialBudget: 200, SplitAfter: 500, MaxBudget: 1000}}
	if many == nil {
		if _, err := solve(t, o, nil, 2); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(ProofFile(o.StoreFile)); err != nil {
			t.Fatal(err)
		}
		many = fstest.MapFS{}
		for _, name := range append(partFiles(t, o), o.StoreFile) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			many[name[len(folder)+1:]] = &fstest.MapFile{Data: data, Mode: 0o600}
		}
	} else if err := os.CopyFS(folder, many); err != nil {
		t.Fatal(err)
	}
	f, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := f.campaigns[0].gather(t.Context(), []proof.Root{proof.RootOf(o.Root, eval.Lost)}, nil)
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	return o, f, parts
}

// TestForgedAnswer has a store say that a certificate was verified which does not hold, and that all moves win. The
// master believed it.
func TestForgedAnswer(t *testing.T) {
	o := Options{Root: position(t, "5x4"), StoreFile: filepath.Join(t.TempDir(), "a.db")}
	honest, err := solve(t, o, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	part := proof.Certificate{Board: o.Root.Board, Leaves: eval.ClosingLeaves,
		Roots: []proof.Root{proof.RootOf(o.Root, eval.Won)}}
	data, err := proof.Encode(part)
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{"moves alone", "one file", "parts"} {
		sum, name := proof.IDOf(data).Name(), ProofFile(o.StoreFile)
		if forged == "moves alone" {
			sum = honest.Certificate.SHA256
		} else if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if forged == "parts" {
			folder := proof.PartsFolder(name)
			m := proof.Manifest{Board: part.Board, Leaves: part.Leaves, Roots: part.Roots,
				Parts: []proof.Part{proof.PartOf(part, data)}}
			if err := errors.Join(os.Mkdir(folder, 0o755), os.WriteFile(filepath.Join(folder, sum), data, 0o644),
				proof.WriteManifest(name, m)); err != nil {
				t.Fatal(err)
			}
			if _, sum, err = disk.SHA256(name); err != nil {
				t.Fatal(err)
			}
		}
		s, err := store.Open(o.StoreFile, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, _, err := s.Result(1)
		r.Certificate.SHA256, r.WinningMoves = sum, farmv1.WriteMoves(o.Root.State().Moves(nil))
		if err := errors.Join(err, s.SetResult(1, r), s.Close()); err != nil {
			t.Fatal(err)
		}
		again, err := solve(t, o, nil, 0)
		if _, wrong := checker.CheckFile(t.Context(), name, checker.Options{}); err != nil || wrong != nil ||
			!slices.Equal(again.WinningMoves, honest.WinningMoves) {
			t.Errorf("%s: %v wins, %v, and the certificate: %v", forged, again.WinningMoves, err, wrong)
		}
	}
}

// TestDamagedParts has parts damaged and removed of a proof in parts that was verified. Nobody noticed it before: the
// master said that the proof is verified.
func TestDamagedParts(t *testing.T) {
	o, f, parts := inParts(t)
	defer func() { f.Close() }()
	c := f.campaigns[0]
	publish := func() {
		t.Helper()
		if _, err := c.publish(c.proofFile, parts, false); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	silent, roots := func(string, string, loop.Phase) {}, []proof.Root{proof.RootOf(o.Root, eval.Lost)}
	expect := func(what string, want bool, wrong error) {
		t.Helper()
		if stands, top, err := c.partsStand(t.Context(), roots, silent); stands != want || !errors.Is(err, wrong) ||
			len(top.Roots) > 0 {
			t.Errorf("%s: %v, %v; the store lacks a part for %v", what, stands, err, top.Roots)
		}
	}
	expect("as published", true, nil)
	of := func(n int) string { return filepath.Join(proof.PartsFolder(c.proofFile), parts.parts[n].ID.Name()) }
	if len(parts.parts) < 3 {
		t.Fatalf("only %d parts", len(parts.parts))
	}
	if err := os.Remove(of(1)); err != nil {
		t.Fatal(err)
	}
	expect("a part is missing, and the store has it", false, nil)
	publish()
	expect("published again", true, nil)
	// A store of an earlier build lacks what the tree has added. It gets it, and so other campaigns have the answer.
	answer, err := f.store.Snapshot(1)
	if err != nil {
		t.Fatal(err)
	}
	root := o.Root.State().CanonicalKey(o.Root.Board)
	id := answer.Facts[slices.IndexFunc(answer.Facts, func(f proof.Fact) bool { return f.Key == root })].Certificate
	if _, err := f.store.Retract([]proof.ID{id}); err != nil {
		t.Fatal(err)
	}
	_, top, err := c.partsStand(t.Context(), roots, silent)
	if err != nil {
		t.Fatal(err)
	}
	if facts, err := c.keepTop(t.Context(), &proofParts{top: top}); err != nil || len(facts) != 1 ||
		facts[0].Key != root || facts[0].Certificate != id || !f.store.Holds(1, id) {
		t.Errorf("the answer is %v, %v; the store should have %v", facts, err, id)
	}
	if err := f.store.Commit([]tree.Persist{{Facts: []proof.Fact{{Key: root, Verdict: eval.Lost, Nodes: 1,
		Certificate: id}}}}, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(of(2))
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(of(2), data, 0o644); err != nil { // the store has the same file under another name
		t.Fatal(err)
	}
	f.Close()
	if f, err = Open(o); err != nil { // nobody has read the part before
		t.Fatal(err)
	}
	c = f.campaigns[0]
	expect("a part is damaged", false, proof.ErrNotWhole)
	if err := os.Remove(c.proofFile); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if r, err := solve(t, o, nil, 2); err != nil || !r.Verified {
		t.Errorf("proved again: %+v, %v", r, err)
	}
}

// TestOtherMoves makes the certificate of an answer again where the tree has come to other moves meanwhile, which the
// parts of the answer do not prove. They were taken all the same, and evidence was missing.
func TestOtherMoves(t *testing.T) {
	_, f, parts := inParts(t)
	defer f.Close()
	c := f.campaigns[0]
	r, size, err := f.store.OpenCertificate(parts.parts[0].ID) // that of the root
	if err != nil {
		t.Fatal(err)
	}
	top, err := proof.Read(r, size)
	if err != nil {
		t.Fatal(err)
	}
	e := loop.Evidence{Settled: tree.Settled{Verdict: eval.Lost}}
	for entry := range top.Set.All() {
		s, err := entry.Key.State(top.Board)
		if err != nil {
			t.Fatal(err)
		}
		for m := range s.AllMoves() {
			if m != entry.Move {
				e.Won = append(e.Won, proof.Entry{Key: entry.Key, Move: m})
				break
			}
		}
	}
	if len(e.Won) == 0 {
		t.Fatal("the part of the root has no entries")
	}
	got, err := c.conclude(t.Context(), e, func(string, string, loop.Phase) {})
	if err != nil || !got.Verified {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestOlderCopy opens an older copy of a store beside the parts of the newer one: no part is lost, and the newer one
// goes on from them.
func TestOlderCopy(t *testing.T) {
	o := Options{Root: position(t, "4x5"), StoreFile: filepath.Join(t.TempDir(), "a.db"),
		Tree: tree.Config{InitialBudget: 200, SplitAfter: 500, MaxBudget: 1000}, Loop: loop.Config{NodeLimit: 900}}
	if _, err := solve(t, o, nil, 1); !errors.Is(err, loop.ErrLimit) {
		t.Fatal(err)
	}
	count := func() int { return len(partFiles(t, o)) }
	older, err := os.ReadFile(o.StoreFile)
	if err != nil {
		t.Fatal(err)
	}
	o.Loop.NodeLimit = 4000
	if _, err := solve(t, o, nil, 1); err != nil && !errors.Is(err, loop.ErrLimit) {
		t.Fatal(err)
	}
	newer, err := os.ReadFile(o.StoreFile)
	if err != nil {
		t.Fatal(err)
	}
	was := count()
	for _, data := range [][]byte{older, newer} {
		if err := os.WriteFile(o.StoreFile, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(o)
		if err != nil || count() != was {
			t.Fatalf("%d parts of %d are left; %v", count(), was, err)
		}
		f.Close()
	}
	report, _, err := VerifyStore(t.Context(), o.StoreFile, checker.Options{})
	if err != nil {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestRestingOnNonsense: a part that cannot be read goes with the false one. It cannot keep it in the store.
func TestRestingOnNonsense(t *testing.T) {
	f, err := Open(Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "s.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := []byte("nonsense that nobody can read")
	id := proof.IDOf(data)
	if _, err := f.store.PutCertificate(1, id, data); err != nil {
		t.Fatal(err)
	}
	all, err := f.campaigns[0].resting(t.Context(), []proof.ID{{1}})
	if err != nil || !slices.Equal(all, []proof.ID{{1}, id}) {
		t.Errorf("%v, %v", all, err)
	}
}

// TestVastPart: a part that no checker can hold is false. In a bucket nobody looks at its size before, and an answer
// that needs it would wait for a check that each worker, and the master, begins in vain.
func TestVastPart(t *testing.T) {
	f, err := Open(Options{Root: position(t, "4x4"), StoreFile: filepath.Join(t.TempDir(), "s.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const blocks, each = 1 << 10, 1 << 16
	le := binary.LittleEndian
	header := le.AppendUint64(le.AppendUint32(le.AppendUint32([]byte{4, 4, 1, 0}, 1), 1), blocks*each)
	header = append(le.AppendUint64(le.AppendUint64(header, 1), 2), 0, 1, 0, 0, 0, 0, 0, 0) // the root
	header = le.AppendUint64(le.AppendUint32(le.AppendUint32(header, 0), blocks), blocks*each)
	for range blocks { // each of one byte
		header = append(le.AppendUint32(le.AppendUint32(le.AppendUint32(header, each), each*6), 1), 0)
	}
	head := le.AppendUint32(le.AppendUint32([]byte("AMZCERT\n"), 1), 20+24+16)
	sum := sha256.Sum256(append(slices.Clone(head), header...))
	data := slices.Concat(head, sum[:], header)
	id := proof.IDOf(data)
	if _, err := f.store.PutCertificate(1, id, data); err != nil {
		t.Fatal(err)
	}
	if err := f.campaigns[0].recheck(t.Context(), id); !errors.Is(err, loop.ErrFalse) ||
		!errors.Is(err, checker.ErrMemory) {
		t.Errorf("a part of %d positions in %d bytes: %v", blocks*each, len(data), err)
	}
}

// TestPartsElsewhere takes the parts of a settled store away, and gives it those of another store. Neither a start nor
// a collection removes anything then.
func TestPartsElsewhere(t *testing.T) {
	dir := t.TempDir()
	o := Options{Root: position(t, "4x4"), StoreFile: filepath.Join(dir, "a.db"),
		Services: rpc.Config{Build: agent.Build()}}
	if _, err := solve(t, o, nil, 1); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Root, other.StoreFile = position(t, "5x4"), filepath.Join(dir, "b.db")
	if _, err := solve(t, other, nil, 1); err != nil {
		t.Fatal(err)
	}
	parts, foreign := store.EvidenceFolder(o.StoreFile), store.EvidenceFolder(other.StoreFile)
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(parts, filepath.Join(dir, "kept"))
	if r, err := solve(t, o, nil, 1); err != nil || !r.Verified {
		t.Errorf("with its certificate it needs no parts: %+v, %v", r, err)
	}
	move(ProofFile(o.StoreFile), filepath.Join(dir, "kept.proof"))
	_, err := Open(o)
	if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "put back what is missing") {
		t.Errorf("without its certificate: %v", err)
	}
	os.Remove(parts) // an empty one, if Open made it
	move(foreign, parts)
	for _, lost := range []bool{false, true} {
		if c, err := Collect(o.StoreFile, lost); !errors.Is(err, store.ErrCorrupt) || c.Strays > 0 {
			t.Errorf("the parts of another store: %+v, %v", c, err)
		}
	}
	move(parts, foreign)
	if c, err := Collect(other.StoreFile, false); err != nil || c.Parts+c.Strays > 0 {
		t.Errorf("the other store lost parts: %+v, %v", c, err)
	}
	move(filepath.Join(dir, "kept"), parts)
	if r, err := solve(t, o, nil, 1); err != nil || !r.Verified {
		t.Errorf("with its parts again: %+v, %v", r, err)
	}
}
