package store

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// model is what a store should hold.
type model struct {
	nodes         map[amazons.Key]tree.NodeRecord
	facts         map[amazons.Key]proof.Fact
	certificates  map[proof.ID][]byte
	verified      map[proof.ID]string
	spent, epoch  uint64
	contradiction *tree.Contradiction
	result        *Result
}

// commit says what Commit should answer, and does it.
func (m *model) commit(b tree.Persist) error {
	fresh := map[amazons.Key]proof.Fact{}
	for _, f := range b.Facts {
		if first, ok := fresh[f.Key]; ok && first.Verdict != f.Verdict {
			return ErrContradiction
		} else if !ok {
			fresh[f.Key] = f
		}
	}
	clear(fresh)
	if b.Epoch != 0 && b.Epoch < m.epoch {
		return ErrInvalid
	}
	for _, f := range b.Facts {
		if old, ok := m.facts[f.Key]; ok {
			if old.Verdict != f.Verdict {
				return ErrContradiction
			}
			continue
		}
		if m.certificates[f.Certificate] == nil {
			return ErrNoEvidence
		}
		if _, ok := fresh[f.Key]; !ok {
			fresh[f.Key] = f
		}
	}
	for k, f := range fresh {
		m.facts[k] = f
	}
	for _, n := range b.Nodes {
		m.nodes[n.Key] = n
	}
	m.spent, m.epoch = max(m.spent, b.Spent), max(m.epoch, b.Epoch)
	if b.Contradiction != nil {
		m.contradiction = b.Contradiction
	}
	return nil
}

func (m *model) snapshot() tree.Snapshot {
	s := tree.Snapshot{Spent: m.spent, Epoch: m.epoch, Contradiction: m.contradiction}
	for _, n := range m.nodes {
		s.Nodes = append(s.Nodes, n)
	}
	for _, f := range m.facts {
		s.Facts = append(s.Facts, f)
	}
	return s
}

// TestModel does the same things to a store and to a model, with the store opened again now and then.
func TestModel(t *testing.T) {
	outer := t
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		flag.Set("rapid.checks", "25") // each costs 0.1 s
	}
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "store")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		path := filepath.Join(folder, "store")
		s, err := Create(path, testCampaign, quick)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { s.Close() }()
		s.db.NoSync = true // nothing crashes here
		m := &model{nodes: map[amazons.Key]tree.NodeRecord{}, facts: map[amazons.Key]proof.Fact{},
			certificates: map[proof.ID][]byte{}, verified: map[proof.ID]string{}}
		strays := func(s *Store) int { return leftAfterCollect(outer, s) }

		keys := make([]amazons.Key, 12)
		for i := range keys {
			keys[i] = keyOf(uint64(i))
		}
		payloads := make([][]byte, 3)
		ids := make([]proof.ID, len(payloads))
		for i, size := range []int{10, 4096, 100_000} {
			payloads[i], ids[i] = payloadOf(uint64(i), size)
		}
		key := rapid.SampledFrom(keys)
		number := rapid.Uint32Range(1, graph.Infinity-1)
		node := rapid.Custom(func(t *rapid.T) tree.NodeRecord {
			n := tree.NodeRecord{Key: key.Draw(t, "key"), Phi: number.Draw(t, "phi"), Delta: number.Draw(t, "delta"),
				Nodes: rapid.Uint64().Draw(t, "work"), Budget: rapid.Uint64().Draw(t, "budget"),
				Expanded: rapid.Bool().Draw(t, "expanded")}
			if n.Expanded && rapid.Bool().Draw(t, "children") {
				n.Expansion, n.Children = rapid.Uint64Min(1).Draw(t, "expansion"),
					childrenOf(rapid.Uint64Range(0, 5000).Draw(t, "of"))
			}
			return n
		})
		fact := rapid.Custom(func(t *rapid.T) proof.Fact {
			outcome := eval.Won // mostly, so that most batches are taken
			if rapid.IntRange(0, 9).Draw(t, "outcome") == 0 {
				outcome = eval.Lost
			}
			return proof.Fact{Key: key.Draw(t, "key"), Verdict: outcome, Nodes: rapid.Uint64().Draw(t, "work"),
				Certificate: rapid.SampledFrom(ids).Draw(t, "certificate")}
		})
		expect := func(got, want error) {
			if !errors.Is(got, want) || want == nil && got != nil {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				b := tree.Persist{
					Nodes: rapid.SliceOfN(node, 0, 5).Draw(t, "nodes"),
					Facts: rapid.SliceOfN(fact, 0, 3).Draw(t, "facts"),
					Spent: rapid.Uint64Range(0, 1000).Draw(t, "spent"),
					Epoch: rapid.Uint64Range(0, 3).Draw(t, "epoch"),
				}
				if rapid.IntRange(0, 19).Draw(t, "contradiction") == 0 {
					b.Contradiction = &tree.Contradiction{Key: key.Draw(t, "key"),
						Known: graph.Claim{Verdict: eval.Won, Basis: graph.ByFact, Fact: fact.Draw(t, "fact"),
							Worker: rapid.String().Draw(t, "worker")}}
				}
				want := m.commit(b)
				expect(s.commit(b), want)
			},
			"certificate": func(t *rapid.T) {
				i := rapid.IntRange(0, len(ids)-1).Draw(t, "certificate")
				if rapid.Bool().Draw(t, "abandoned") {
					_, err := s.PutCertificateFrom(1, ids[i], int64(len(payloads[i])),
						iotest.ErrReader(io.ErrNoProgress))
					if m.certificates[ids[i]] == nil {
						expect(err, io.ErrNoProgress)
					}
					return
				}
				known, err := s.PutCertificate(1, ids[i], payloads[i])
				expect(err, nil)
				if known != (m.certificates[ids[i]] != nil) {
					t.Fatal("known:", known)
				}
				m.certificates[ids[i]] = payloads[i]
			},
			"retract": func(t *rapid.T) {
				gone := rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(t, "gone")
				want := 0
				for _, f := range m.facts {
					if slices.Contains(gone, f.Certificate) {
						delete(m.facts, f.Key)
						want++
					}
				}
				for _, id := range gone {
					if want > 0 || m.certificates[id] != nil {
						m.contradiction = nil
					}
					delete(m.certificates, id)
					delete(m.verified, id)
				}
				facts, err := s.Retract(gone)
				expect(err, nil)
				if len(facts[1]) != want {
					t.Fatalf("%d facts were retracted, want %d", len(facts[1]), want)
				}
			},
			"remove": func(t *rapid.T) {
				want := map[proof.ID]bool{}
				some := rapid.SliceOfN(rapid.SampledFrom(ids), 0, 3).Draw(t, "unneeded")
				for _, id := range some {
					named := func(f proof.Fact) bool { return f.Certificate == id }
					if m.certificates[id] != nil && !slices.ContainsFunc(slices.Collect(maps.Values(m.facts)), named) {
						want[id] = true
						delete(m.certificates, id)
						delete(m.verified, id)
					}
				}
				removed, err := s.RemoveParts(some)
				if expect(err, nil); len(removed) != len(want) || !maps.Equal(unique(removed), want) {
					t.Fatalf("%x were removed, want %v", removed, want)
				}
			},
			"verified": func(t *rapid.T) {
				id, by := rapid.SampledFrom(ids).Draw(t, "part"), rapid.StringN(0, 40, 200).Draw(t, "by")
				expect(s.SetVerified([]proof.ID{id, id}, by), nil)
				if m.certificates[id] != nil { // one that is not there is passed over
					m.verified[id] = by
				}
			},
			"result": func(t *rapid.T) {
				r := Result{Verdict: rapid.SampledFrom([]string{"won", "lost"}).Draw(t, "outcome"),
					Nodes: rapid.Uint64().Draw(t, "nodes")}
				if m.result != nil && m.result.Verdict != r.Verdict {
					expect(s.SetResult(1, r), ErrContradiction)
					return
				}
				expect(s.SetResult(1, r), nil)
				m.result = &r
			},
			"reopen": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "with a part on its way") {
					expect(unfinished(s, 1<<20), nil)
				}
				expect(s.Close(), nil)
				s, err = Open(path, quick)
				expect(err, nil)
				s.db.NoSync = true
			},
			"": func(t *rapid.T) {
				got, err := s.Snapshot(1)
				expect(err, nil)
				if d := cmp.Diff(m.snapshot(), got, byKey); d != "" {
					t.Fatal(d)
				}
				r, ok, err := s.Result(1)
				expect(err, nil)
				if ok != (m.result != nil) || ok && !reflect.DeepEqual(r, *m.result) {
					t.Fatal(r, m.result)
				}
				parts, err := s.Parts(1)
				expect(err, nil)
				if len(parts) != len(m.certificates) || strays(s) != 0 {
					t.Fatal(parts, strays(s))
				}
				for _, p := range parts {
					if p.Verified != m.verified[p.ID] || p.Bytes != int64(len(m.certificates[p.ID])) {
						t.Fatalf("%+v", p)
					}
				}
				for i, id := range ids {
					reader, n, err := s.OpenCertificate(id)
					if m.certificates[id] == nil {
						expect(err, ErrNoCertificate)
						continue
					}
					expect(err, nil)
					p, err := io.ReadAll(io.NewSectionReader(reader, 0, n))
					expect(err, nil)
					if !bytes.Equal(p, payloads[i]) {
						t.Fatal("certificate differs")
					}
				}
				expect(s.Check(), nil)
			},
		})
	})
}
