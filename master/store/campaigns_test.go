package store

import (
	"crypto/sha256"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// otherCampaigns are two that TestCampaigns adds: one of testCampaign's board and one of another.
func otherCampaigns() (kin, other Campaign) {
	kin = Campaign{Name: "kin", Board: "5x6", Root: "5x6", FirstMoves: []string{"B1-B4xD4"}, Priority: -3, Share: 7}
	other = Campaign{Board: "4x4", Root: "4x4"}
	return kin, other
}

// small is a position of 4x4.
func small(t *testing.T) amazons.Key {
	t.Helper()
	p, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	return p.State().CanonicalKey(p.Board)
}

// TestCampaigns: what each campaign has is its own, facts, hints and certificates are those of
// its board, and all of it survives.
func TestCampaigns(t *testing.T) {
	s := newStore(t, Options{MinFreeBytes: -1, MaxCampaigns: 3})
	kin, other := otherCampaigns()
	var err error
	if kin, err = s.AddCampaign(kin); err != nil || kin.Number != 2 || kin.Pool != 1 {
		t.Fatal(kin, err)
	}
	if other, err = s.AddCampaign(other); err != nil || other.Number != 3 || other.Pool != 3 || other.Name != "4x4" ||
		other.Share != DefaultShare {
		t.Fatal(other, err)
	}
	for what, c := range map[string]struct {
		campaign Campaign
		want     error
	}{
		"one too many": {Campaign{Board: "4x5", Root: "4x5"}, ErrTooLarge},
		"no board":     {Campaign{Board: "x", Root: "4x5"}, ErrCampaign},
		"bad name":     {Campaign{Name: "../x", Board: "4x5", Root: "4x5"}, ErrCampaign},
		"bad build":    {Campaign{Board: "4x5", Root: "4x5", Build: "go1\nstate settled"}, ErrCampaign},
		"bad share":    {Campaign{Board: "4x5", Root: "4x5", Share: -1}, ErrCampaign},
	} {
		if _, err := s.AddCampaign(c.campaign); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.options.MaxCampaigns = 4
	for what, c := range map[string]Campaign{"name": {Name: "kin", Board: "4x5", Root: "4x5"},
		"question": {Name: "again", Board: "4x4", Root: "4x4"}} {
		if _, err := s.AddCampaign(c); !errors.Is(err, ErrTaken) {
			t.Errorf("the same %s: %v", what, err)
		}
	}

	evidence := upload(t, s, []byte("for both of 5x6"))
	p, id := payloadOf(1, 10)
	if err := put(s, 3, p, id); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutCertificate(2, id, p); !errors.Is(err, ErrMismatch) {
		t.Errorf("evidence for one board is taken for another: %v", err)
	}
	fact := proof.Fact{Key: small(t), Verdict: eval.Lost, Nodes: 3, Certificate: id}
	p4, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	open := p4.State().After(p4.State().Moves(nil)[0]).CanonicalKey(
		p4.Board) // a hint for a position with a fact is not kept
	stop := &tree.Contradiction{Key: fact.Key}
	if err := s.Commit([]tree.Persist{
		{Facts: []proof.Fact{factOf(1, evidence)}, Nodes: []tree.NodeRecord{nodeOf(1)}, Spent: 10, Epoch: 1},
		{Campaign: 2, Facts: []proof.Fact{factOf(1, evidence), factOf(2, evidence)},
			Nodes: []tree.NodeRecord{nodeOf(1), nodeOf(2)}, Spent: 20, Epoch: 2},
		{Campaign: 3, Facts: []proof.Fact{fact}, Spent: 30, Epoch: 3, Contradiction: stop},
	}, []hints.Hint{{Place: hints.Place{Campaign: 3, Key: open}, Data: []byte("m")}}); err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string]tree.Persist{
		"evidence of another board": {Campaign: 2, Facts: []proof.Fact{factOf(3, id)}},
		"evidence for another board": {Campaign: 3,
			Facts: []proof.Fact{{Key: fact.Key, Verdict: eval.Won, Certificate: evidence}}},
		"no such campaign": {Campaign: 9, Spent: 1},
		"an old epoch":     {Campaign: 3, Epoch: 2},
	} {
		if err := s.commit(tree.Persist{Spent: 1000}, b); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if err := s.commit(tree.Persist{Facts: []proof.Fact{{Key: keyOf(9), Verdict: eval.Won, Certificate: evidence}}},
		tree.Persist{Campaign: 2, Facts: []proof.Fact{{Key: keyOf(9), Verdict: eval.Lost,
			Certificate: evidence}}}); !errors.Is(
		err, ErrContradiction) {
		t.Errorf("two campaigns contradict each other: %v", err)
	}
	paused, priority := true, 12
	if c, err := s.ChangeCampaign(3, Change{Paused: &paused, Priority: &priority}); err != nil || !c.Paused ||
		c.Priority != 12 || c.Share != DefaultShare {
		t.Fatal(c, err)
	}
	none := 0
	if _, err := s.ChangeCampaign(3, Change{Share: &none}); !errors.Is(err, ErrCampaign) {
		t.Errorf("a share of nothing: %v", err)
	}
	if err := s.SetResult(2, Result{Verdict: "won", Winner: "white"}); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		check(t, s)
		for n, want := range map[uint32]tree.Snapshot{
			1: {Nodes: []tree.NodeRecord{nodeOf(1)}, Facts: []proof.Fact{factOf(1, evidence), factOf(2, evidence)},
				Spent: 10, Epoch: 1},
			2: {Nodes: []tree.NodeRecord{nodeOf(1), nodeOf(2)},
				Facts: []proof.Fact{factOf(1, evidence), factOf(2, evidence)}, Spent: 20, Epoch: 2},
			3: {Facts: []proof.Fact{fact}, Spent: 30, Epoch: 3},
		} {
			got, err := s.Snapshot(n)
			if err != nil {
				t.Fatal(err)
			}
			if (got.Contradiction != nil) != (n == 3) {
				t.Errorf("campaign %d is stopped by %v", n, got.Contradiction)
			}
			if len(got.Nodes) != len(want.Nodes) || len(got.Facts) != len(want.Facts) || got.Spent != want.Spent ||
				got.Epoch != want.Epoch {
				t.Errorf("campaign %d: %+v", n, got)
			}
		}
		if _, ok, err := s.Result(1); ok || err != nil {
			t.Error("the first has a result", err)
		}
		if r, ok, err := s.Result(2); !ok || err != nil || r.Winner != "white" {
			t.Error(r, ok, err)
		}
		if m, err := s.Hint(3, open); err != nil || string(m) != "m" {
			t.Error(m, err)
		}
		list, err := everyCertificate(s)
		if err != nil || len(list) != 2 || list[0].Pool != 1 || list[1].Pool != 3 {
			t.Error(list, err)
		}
		all := s.Campaigns()
		if len(all) != 3 || all[1].Name != "kin" || all[1].Share != 7 || all[1].Priority != -3 || !all[2].Paused ||
			all[2].Priority != 12 {
			t.Errorf("%+v", all)
		}
		s.Close()
		s = mustOpen(t, s.Path(), quick)
	}
	s.Close()
	copied := filepath.Join(t.TempDir(), "compact")
	if _, err := Compact(t.Context(), s.Path(), copied, false, nil); err != nil {
		t.Fatal(err)
	}
	info, err := ReadInfo(copied)
	if err != nil || len(info.Campaigns) != 3 || info.Campaigns[1].State != "settled" ||
		info.Campaigns[2].State != "stopped" || info.Campaigns[1].Facts != 2 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestBrokenCampaign: a campaign that the file does not have whole is damage, not another campaign.
func TestBrokenCampaign(t *testing.T) {
	for what, change := range map[string]func(meta *bbolt.Bucket) error{
		"no record":   func(m *bbolt.Bucket) error { return m.Delete([]byte(record.Of(record.KeyCampaign, 2))) },
		"no counters": func(m *bbolt.Bucket) error { return m.Delete([]byte(record.Of(record.KeyCounters, 2))) },
		"facts of a later one": func(m *bbolt.Bucket) error {
			_, c := otherCampaigns()
			c.Pool = 9
			v, err := record.EncodeJSON(record.Of(record.KeyCampaign, 2), c)
			if err != nil {
				return err
			}
			return m.Put([]byte(record.Of(record.KeyCampaign, 2)), v)
		},
	} {
		s := newStore(t, quick)
		_, other := otherCampaigns()
		if _, err := s.AddCampaign(other); err != nil {
			t.Fatal(err)
		}
		if err := s.db.Update(func(tx *bbolt.Tx) error {
			return change(
				tx.Bucket([]byte(record.BucketMeta)))
		}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		again, err := Open(s.Path(), quick)
		if err == nil {
			if _, err = again.Snapshot(2); err == nil {
				err = again.Check()
			}
			again.Close()
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// severalCampaigns is what testdata/format4-several.store holds: what oneCampaign has as the first of three
// campaigns, one that shares its facts, and one of another board.
func severalCampaigns(t *testing.T) (snaps []tree.Snapshot) {
	_, one, payload, _ := oneCampaign()
	id := proof.ID(sha256.Sum256(payload))
	one.Contradiction = nil
	kin := tree.Snapshot{Nodes: []tree.NodeRecord{nodeOf(9)}, Facts: append(slices.Clone(one.Facts), factOf(6, id)),
		Spent: 42, Epoch: 3}
	one.Facts = kin.Facts
	n := nodeOf(1)
	n.Key = small(t)
	return []tree.Snapshot{one, kin, {Nodes: []tree.NodeRecord{n}, Spent: 5, Epoch: 2}}
}

// TestFormatSeveralCampaigns reads a store of today's format with several campaigns. Later builds keep
// passing it.
func TestFormatSeveralCampaigns(t *testing.T) {
	const golden = "testdata/format4-several.store"
	first, _, payload, result := oneCampaign()
	want := severalCampaigns(t)
	kin, other := otherCampaigns()
	kin.RulesOnly, kin.FirstMoves = true, nil
	held := trust.Quarantine{Party: trust.Party{Name: "w1"}, Since: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		Offences: 3, Offence: "flood",
		Why: "too many messages", Worker: "w1-1", Address: "127.0.0.1:1"}
	if *update {
		s, err := Create(filepath.Join(t.TempDir(), "large"), first, quick)
		if err != nil {
			t.Fatal(err)
		}
		upload(t, s, payload)
		for _, c := range []Campaign{kin, other} {
			c.Created = held.Since
			if _, err := s.AddCampaign(c); err != nil {
				t.Fatal(err)
			}
		}
		for i, w := range want {
			if err := s.commit(tree.Persist{Campaign: uint32(i + 1), Nodes: w.Nodes, Facts: w.Facts, Spent: w.Spent,
				Epoch: w.Epoch}); err != nil {
				t.Fatal(err)
			}
		}
		priority := 4
		_, err = s.ChangeCampaign(2, Change{Priority: &priority, End: true})
		if err := errors.Join(err, s.SetResult(1, result), s.Quarantine(held), s.Close()); err != nil {
			t.Fatal(err)
		}
		keepGolden(t, s.Path(), golden)
	}
	holdsSeveral(t, openCopy(t, golden), held, result)
}

// holdsSeveral wants the store to have what severalCampaigns returns, and to go on.
func holdsSeveral(t *testing.T, s *Store, held trust.Quarantine, result Result) {
	t.Helper()
	want := severalCampaigns(t)
	all := s.Campaigns()
	if len(all) != 3 || all[0].Pool != 1 || all[1].Pool != 1 || all[2].Pool != 3 || all[1].Name != "kin" ||
		all[1].Priority != 4 || all[1].Share != 7 || !all[1].Ended || all[2].Ended {
		t.Fatalf("%+v", all)
	}
	for i, w := range want {
		got, err := s.Snapshot(uint32(i + 1))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(w, got, byKey); d != "" {
			t.Errorf("campaign %d: %s", i+1, d)
		}
	}
	if r, ok, err := s.Result(1); !reflect.DeepEqual(r, result) || !ok || err != nil {
		t.Error(r, ok, err)
	}
	if list, err := s.Quarantines(); err != nil || len(list) != 1 || list[0] != held {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.commit(tree.Persist{Campaign: 3, Spent: 6}); err != nil {
		t.Error(err)
	}
	check(t, s)
}
