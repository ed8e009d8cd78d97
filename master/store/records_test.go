package store

import (
	"bytes"
	"flag"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

var update = flag.Bool("update", false, "write testdata anew, for a new format only")

// oneCampaign is what testdata/format4-one.store holds.
func oneCampaign() (Campaign, tree.Snapshot, []byte, Result) {
	c := testCampaign
	c.FirstMoves = []string{"B1-B4xD4"}
	c.RulesOnly = true
	p, id := payloadOf(11, 3000)
	snap := tree.Snapshot{
		Nodes: []tree.NodeRecord{nodeOf(1), nodeOf(2), nodeOf(3)},
		Facts: []proof.Fact{factOf(4, id), factOf(5, id)},
		Spent: 1_234_567,
		Epoch: 7,
	}
	snap.Contradiction = &tree.Contradiction{
		Key:   keyOf(4),
		Known: graph.Claim{Verdict: eval.Won, Basis: graph.ByFact, Fact: snap.Facts[0], Worker: "w1"},
		Claim: graph.Claim{Verdict: eval.Lost, Basis: graph.ByRules},
	}
	r := Result{
		Verdict: "won", Winner: "white", WinningMove: "B1-B4xD4", Verified: true, Nodes: 99, Seconds: 1.5, Workers: 3,
		Certificate: CertificateFile{Path: "x.cert", SHA256: strings.Repeat("a", 64), Bytes: 10, Positions: 3},
		Finished:    time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), Build: "test",
	}
	return c, snap, p, r
}

// TestFormatOneCampaign reads a store of today's format with every kind of record. Later builds keep
// passing it.
func TestFormatOneCampaign(t *testing.T) {
	const golden = "testdata/format4-one.store"
	campaign, want, payload, result := oneCampaign()
	if *update {
		s, err := Create(filepath.Join(t.TempDir(), "large"), campaign, quick)
		if err != nil {
			t.Fatal(err)
		}
		upload(t, s, payload)
		if err := s.commit(tree.Persist{Nodes: want.Nodes, Facts: want.Facts, Spent: want.Spent, Epoch: want.Epoch,
			Contradiction: want.Contradiction}); err != nil {
			t.Fatal(err)
		}
		if err := s.SetResult(1, result); err != nil {
			t.Fatal(err)
		}
		s.Close()
		keepGolden(t, s.Path(), golden)
	}
	holdsOneCampaign(t, openCopy(t, golden))
}

// holdsOneCampaign wants the store to have what oneCampaign returns, and to go on.
func holdsOneCampaign(t *testing.T, s *Store) {
	t.Helper()
	campaign, want, payload, result := oneCampaign()
	wantSnapshot(t, s, want)
	if d := cmp.Diff(campaign, s.Campaign()); d != "" {
		t.Error(d)
	}
	if r, ok, err := s.Result(1); !reflect.DeepEqual(r, result) || !ok || err != nil {
		t.Error(r, ok, err)
	}
	list, err := s.Parts(1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	r, n, err := s.OpenCertificate(list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := io.ReadAll(io.NewSectionReader(r, 0, n)); err != nil || !bytes.Equal(p, payload) {
		t.Error("certificate differs", err)
	}
	if err := s.commit(tree.Persist{Nodes: []tree.NodeRecord{nodeOf(50)}}); err != nil {
		t.Error(err)
	}
	check(t, s)
}

// FuzzDecode gives every decoder arbitrary bytes, with and without a fitting checksum. What decodes is
// what its encoder writes.
func FuzzDecode(f *testing.F) {
	id := proof.ID{1}
	contradiction, _ := record.EncodeContradiction(1, tree.Contradiction{Key: keyOf(1)})
	standing, _ := record.EncodeJSON(string(kindStanding.key(trust.Party{Name: "w", Credential: true})),
		trust.Standing{Party: trust.Party{Name: "w", Credential: true}, Confirmed: 3,
			Seen: time.Unix(1700000000, 0).UTC()})
	for _, kv := range [][2][]byte{
		pair(record.EncodeNode(record.BucketNodes, nodeOf(1))), pair(record.EncodeNode(record.BucketNodes, nodeOf(6))),
		pair(record.EncodeFact(record.BucketFacts, factOf(1, id))),
		{id[:], record.EncodeCertificate(id, record.Certificate{Number: 1, Size: 2, Pool: 1})},
		{id[:], record.EncodeCertificate(id, record.Certificate{Number: 1, Size: 2, Pool: 3,
			Verified: "a party"})},
		{[]byte(record.KeyCounters), record.EncodeCounters(record.Counters{Tally: record.Tally{Positions: 1}})},
		{[]byte(record.KeyFormat), record.EncodeFormat(1)},
		{[]byte(record.KeyContradiction), contradiction}, {kindStanding.key(trust.Party{Name: "w", Credential: true}),
			standing},
	} {
		f.Add(kv[0], kv[1][:len(kv[1])-record.SumBytes], true)
		f.Add(kv[0], kv[1], false)
	}
	f.Fuzz(func(t *testing.T, key, payload []byte, whole bool) {
		value := func(bucket string) []byte {
			if whole {
				return record.Seal(bucket, key, payload)
			}
			return payload
		}
		same := func(k, v []byte, bucket string) {
			if !bytes.Equal(k, key) || !bytes.Equal(v, value(bucket)) {
				t.Errorf("%s: %x=%x decodes and encodes to %x=%x", bucket, key, value(bucket), k, v)
			}
		}
		if n, err := record.DecodeNode(record.BucketNodes, key, value(record.BucketNodes)); err == nil {
			k, v := record.EncodeNode(record.BucketNodes, n)
			same(k, v, record.BucketNodes)
		}
		if f, err := record.DecodeFact(record.BucketFacts, key, value(record.BucketFacts)); err == nil {
			k, v := record.EncodeFact(record.BucketFacts, f)
			same(k, v, record.BucketFacts)
		}
		if id, c, err := record.DecodeCertificate(key, value(record.BucketCertificates)); err == nil {
			same(id[:], record.EncodeCertificate(id, c), record.BucketCertificates)
		}
		meta := func(key string) []byte {
			if whole {
				return record.Seal(record.BucketMeta, []byte(key), payload)
			}
			return payload
		}
		if c, err := record.DecodeCounters(meta(record.KeyCounters)); err == nil &&
			!bytes.Equal(record.EncodeCounters(c), meta(record.KeyCounters)) {
			t.Error("counters")
		}
		if v, err := record.DecodeFormat(meta(record.KeyFormat)); err == nil &&
			!bytes.Equal(record.EncodeFormat(v), meta(record.KeyFormat)) {
			t.Error("format")
		}
		if c, err := record.DecodeContradiction(1, meta(record.KeyContradiction)); err == nil {
			again, err := record.EncodeContradiction(1, *c)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := record.DecodeContradiction(1, again); err != nil || !cmp.Equal(c, d) {
				t.Error(c, d, err)
			}
		}
		if q, err := decodeParty(kindQuarantine, partyOfQuarantine,
			kindQuarantine.key(trust.Party{Name: "w", Credential: false}),
			meta(string(kindQuarantine.key(trust.Party{Name: "w", Credential: false})))); err == nil &&
			(q.Name != "w" || q.Credential) {
			t.Error(q)
		}
		if st, err := decodeParty(kindStanding, partyOfStanding,
			kindStanding.key(trust.Party{Name: "w", Credential: true}),
			meta(string(kindStanding.key(trust.Party{Name: "w", Credential: true})))); err == nil {
			again, err := record.EncodeJSON(string(kindStanding.key(trust.Party{Name: "w", Credential: true})), st)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := decodeParty(kindStanding, partyOfStanding,
				kindStanding.key(trust.Party{Name: "w", Credential: true}), again); err != nil ||
				d.Name != "w" || !d.Credential || !cmp.Equal(d, st) {
				t.Error(d, st, err)
			}
		}
		if p, err := record.Unseal(record.BucketHints, key, value(record.BucketHints)); err == nil &&
			!bytes.Equal(record.Seal(record.BucketHints, key, p), value(record.BucketHints)) {
			t.Error("hint")
		}
		record.DecodeJSON(record.KeyCampaign, meta(record.KeyCampaign), &Campaign{})
		record.DecodeJSON(record.KeyResult, meta(record.KeyResult), &Result{})
	})
}

func pair(k, v []byte) [2][]byte { return [2][]byte{k, v} }
