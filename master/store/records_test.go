package store

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

var update = flag.Bool("update", false, "write testdata anew, for a new format only")

// oneCampaign is what testdata/format3-one.store holds.
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
		Known: tree.Claim{Verdict: eval.Won, Basis: tree.ByFact, Fact: snap.Facts[0], Worker: "w1"},
		Claim: tree.Claim{Verdict: eval.Lost, Basis: tree.ByRules},
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
	const golden = "testdata/format3-one.store"
	campaign, want, payload, result := oneCampaign()
	if *update {
		os.Remove(golden)
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
		if _, err := Compact(t.Context(), s.Path(), golden, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	s := openCopy(t, golden)
	wantSnapshot(t, s, want)
	if d := cmp.Diff(campaign, s.Campaign()); d != "" {
		t.Error(d)
	}
	if r, ok, err := s.Result(1); r != result || !ok || err != nil {
		t.Error(r, ok, err)
	}
	list, err := s.CertificatesOf(1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	r, n, err := s.OpenCertificate(list[0])
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
	contradiction, _ := encodeContradiction(1, tree.Contradiction{Key: keyOf(1)})
	standing, _ := encodeJSON(string(kindStanding.key(trust.Party{Name: "w", Credential: true})), trust.Standing{Party: trust.Party{Name: "w", Credential: true}, Confirmed: 3,
		Seen: time.Unix(1700000000, 0).UTC()})
	for _, kv := range [][2][]byte{
		pair(encodeNode(bucketNodes, nodeOf(1))), pair(encodeNode(bucketNodes, nodeOf(6))),
		pair(encodeFact(bucketFacts, factOf(1, id))),
		{id[:], encodeCertificate(id, certRecord{1, 2, 1})}, {id[:], encodeCertificate(id, certRecord{1, 2, 3})},
		{uploadKey(3), encodeUpload(3, id, 4)},
		{[]byte(keyCounters), encodeCounters(counters{tally: tally{positions: 1}})}, {[]byte(keyFormat), encodeFormat(1)},
		{[]byte(keyContradiction), contradiction}, {kindStanding.key(trust.Party{Name: "w", Credential: true}), standing},
	} {
		f.Add(kv[0], kv[1][:len(kv[1])-sumBytes], true)
		f.Add(kv[0], kv[1], false)
	}
	f.Fuzz(func(t *testing.T, key, payload []byte, whole bool) {
		value := func(bucket string) []byte {
			if whole {
				return seal(bucket, key, payload)
			}
			return payload
		}
		same := func(k, v []byte, bucket string) {
			if !bytes.Equal(k, key) || !bytes.Equal(v, value(bucket)) {
				t.Errorf("%s: %x=%x decodes and encodes to %x=%x", bucket, key, value(bucket), k, v)
			}
		}
		if n, err := decodeNode(bucketNodes, key, value(bucketNodes)); err == nil {
			k, v := encodeNode(bucketNodes, n)
			same(k, v, bucketNodes)
		}
		if f, err := decodeFact(bucketFacts, key, value(bucketFacts)); err == nil {
			k, v := encodeFact(bucketFacts, f)
			same(k, v, bucketFacts)
		}
		if id, c, err := decodeCertificate(key, value(bucketCertificates)); err == nil {
			same(id[:], encodeCertificate(id, c), bucketCertificates)
		}
		if n, id, size, err := decodeUpload(key, value(bucketUploads)); err == nil {
			same(uploadKey(n), encodeUpload(n, id, size), bucketUploads)
		}
		meta := func(key string) []byte {
			if whole {
				return seal(bucketMeta, []byte(key), payload)
			}
			return payload
		}
		if c, err := decodeCounters(meta(keyCounters)); err == nil &&
			!bytes.Equal(encodeCounters(c), meta(keyCounters)) {
			t.Error("counters")
		}
		if v, err := decodeFormat(meta(keyFormat)); err == nil && !bytes.Equal(encodeFormat(v), meta(keyFormat)) {
			t.Error("format")
		}
		if c, err := decodeContradiction(1, meta(keyContradiction)); err == nil {
			again, err := encodeContradiction(1, *c)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := decodeContradiction(1, again); err != nil || !cmp.Equal(c, d) {
				t.Error(c, d, err)
			}
		}
		if q, err := decodeParty(kindQuarantine, partyOfQuarantine, kindQuarantine.key(trust.Party{Name: "w", Credential: false}),
			meta(string(kindQuarantine.key(trust.Party{Name: "w", Credential: false})))); err == nil && (q.Name != "w" || q.Credential) {
			t.Error(q)
		}
		if st, err := decodeParty(kindStanding, partyOfStanding, kindStanding.key(trust.Party{Name: "w", Credential: true}),
			meta(string(kindStanding.key(trust.Party{Name: "w", Credential: true})))); err == nil {
			again, err := encodeJSON(string(kindStanding.key(trust.Party{Name: "w", Credential: true})), st)
			if err != nil {
				t.Fatal(err)
			}
			if d, err := decodeParty(kindStanding, partyOfStanding, kindStanding.key(trust.Party{Name: "w", Credential: true}), again); err != nil ||
				d.Name != "w" || !d.Credential || !cmp.Equal(d, st) {
				t.Error(d, st, err)
			}
		}
		if p, err := unseal(bucketHints, key, value(bucketHints)); err == nil &&
			!bytes.Equal(seal(bucketHints, key, p), value(bucketHints)) {
			t.Error("hint")
		}
		decodeJSON(keyCampaign, meta(keyCampaign), &Campaign{})
		decodeJSON(keyResult, meta(keyResult), &Result{})
	})
}

func pair(k, v []byte) [2][]byte { return [2][]byte{k, v} }
