package campaign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
	"amazonsfarm/shared/testkit/reference"
	"amazonsfarm/worker/engine"
)

var fuzzTruth reference.Fast

// fuzzParts are what a worker delivers of a position: proofs of positions on the way, then of itself,
// which cites those before it.
func fuzzParts(f *testing.F, root amazons.Position) (parts []proof.Certificate) {
	f.Helper()
	e, err := engine.New(engine.Config{Board: root.Board, TableBytes: 1 << 20, Cores: 1, MinFactNodes: 1})
	if err != nil {
		f.Fatal(err)
	}
	defer e.Close()
	states := []amazons.State{root.State()}
	for s := root.State(); s.CanMove(); {
		moves := s.Moves(nil)
		s = s.After(moves[len(moves)/2])
		states = append(states, s)
	}
	slices.Reverse(states)
	for _, s := range states {
		r, err := e.Run(f.Context(), engine.Job{State: s}, nil)
		if err != nil {
			f.Fatal(err)
		}
		more, err := e.Prove(f.Context(), []proof.Fact{{Key: s.CanonicalKey(root.Board), Verdict: r.Verdict,
			Nodes: r.Nodes}}, nil)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range more {
			c, err := proof.Read(bytes.NewReader(part.Data), int64(len(part.Data)))
			if err != nil {
				f.Fatal(err)
			}
			parts = append(parts, c)
		}
	}
	return parts
}

// forge changes a certificate as the tape says: entries are missing or have another move, positions
// are claimed that it does not prove.
func forge(c proof.Certificate, root amazons.Position, tape *fuzzing.Tape) proof.Certificate {
	out := proof.Certificate{Board: c.Board, Leaves: eval.LeavesOf(tape.Choose(8) == 7), Roots: slices.Clone(c.Roots),
		Set: new(proof.Set), Cited: slices.Clone(c.Cited)}
	if n := len(out.Cited); n > 0 && tape.Choose(4) == 3 {
		out.Cited[tape.Choose(n)].Claim = eval.Verdict(1 + tape.Choose(2))
	}
	var entries []proof.Entry
	for e := range c.Set.All() {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b proof.Entry) int { return a.Key.Compare(b.Key) })
	at := func() int { return (tape.Choose(256)<<8 + tape.Choose(256)) % len(entries) }
	for range tape.Choose(5) {
		if len(entries) == 0 {
			break
		}
		switch i := at(); tape.Choose(4) {
		case 0:
			entries = slices.Delete(entries, i, i+1)
		case 1:
			s, err := entries[i].Key.State(c.Board)
			if moves := s.Moves(nil); err == nil && len(moves) > 0 {
				entries[i].Move = moves[tape.Choose(256)%len(moves)]
			}
		case 2: // an entry about what comes after one, or after the root
			s := root.State()
			if moves := s.Moves(nil); len(moves) > 0 {
				s, _ = s.After(moves[tape.Choose(256)%len(moves)]).Canonical(c.Board)
			}
			if moves := s.Moves(nil); len(moves) > 0 {
				entries = append(entries, proof.Entry{Key: s.Key(c.Board), Move: moves[tape.Choose(256)%len(moves)]})
			}
		case 3:
			entries = entries[:i]
		}
	}
	for _, e := range entries {
		out.Set.Add(e)
	}
	for range tape.Choose(3) {
		s := root.State()
		for range tape.Choose(4) {
			if moves := s.Moves(nil); len(moves) > 0 {
				s = s.After(moves[tape.Choose(256)%len(moves)])
			}
		}
		out.Roots = append(out.Roots, proof.Root{State: s, Claim: eval.Verdict(1 + tape.Choose(2))})
	}
	if tape.Choose(4) == 3 && len(out.Roots) > 0 {
		out.Roots[0].Claim = out.Roots[0].Claim.Other()
	}
	return out
}

// FuzzRecheck uploads parts to campaigns of a store one after the other: real ones, forged ones, damaged
// ones and bytes, in any order, for whatever campaign. Two of the campaigns share their facts, one has
// another kind of proof and one another board. What the master's check of a part says to hold is true
// by exhaustive search if what it cites is, each claim and each entry, and for the board and the kind
// of proof it was uploaded for.
func FuzzRecheck(f *testing.F) {
	root, err := amazons.ParsePosition(".BWx/.xBx/W..x/...x w")
	if err != nil {
		f.Fatal(err)
	}
	parts := fuzzParts(f, root)
	o := Options{Root: root, StoreFile: filepath.Join(f.TempDir(), "s.store"),
		Store: store.Options{MinFreeBytes: -1}}
	campaign, err := Open(o)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { campaign.Close() })
	other, err := amazons.ParsePosition("W../.x./..B w")
	if err != nil {
		f.Fatal(err)
	}
	for _, asked := range []loop.Asked{
		{Name: "kin", Root: root.After(root.State().Moves(nil)[0])}, {Name: "rules", Root: root, RulesOnly: true},
		{Name: "other", Root: other},
	} {
		if _, err := (keeper{campaign}).Add(asked); err != nil {
			f.Fatal(err)
		}
	}
	parts = append(parts, fuzzParts(f, other)...)
	var files [][]byte
	honest := []byte{}
	for i, c := range parts {
		data, err := proof.Encode(c)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, data)
		honest = append(honest, byte(i), 0)
		f.Add([]byte{byte(i), 0})
		f.Add([]byte{byte(i), 1, 0, 1, 0, 3, 1, 2, 1, 1, 1, 2, 3})
		f.Add([]byte{byte(i), 2, 60, 2, 1, 1, byte(i), 0})
	}
	f.Add(honest)
	fuzzing.AddTapes(f, 8, 300, 6)
	f.Fuzz(func(t *testing.T, edits []byte) {
		if len(edits) > 2048 {
			return
		}
		tape := &fuzzing.Tape{Rest: edits}
		into := campaign.campaigns
		fuzzing.Within(t, 20*time.Second, 512<<20, func() {
			for range 12 {
				if !tape.More() {
					break
				}
				i := tape.Choose(len(files))
				data := files[i]
				switch tape.Choose(4) {
				case 1:
					from := root
					if parts[i].Board != root.Board {
						from = other
					}
					forged, err := proof.Encode(forge(parts[i], from, tape))
					if err != nil {
						continue // it says itself that it makes no sense
					}
					data = forged
				case 2:
					data = bytes.Clone(data)
					copy(data[tape.Choose(256)%len(data):], tape.Bytes(30))
					sum := sha256.New()
					sum.Write(data[:16])
					sum.Write(data[48:])
					copy(data[16:], sum.Sum(nil))
				case 3:
					data = tape.Bytes(200)
				}
				n := 0
				if parts[i].Board != root.Board {
					n = len(into) - 1
				}
				if tape.Choose(4) == 3 {
					n = tape.Choose(len(into))
				}
				upload(t, into[n], data)
			}
		})
	})
}

// upload does with data what the service does for a campaign, and checks it.
func upload(t *testing.T, into *campaign, data []byte) {
	claims, err := into.readRoots(data)
	if err != nil {
		return
	}
	id := proof.IDOf(data)
	if _, err := into.farm.store.PutCertificate(into.about.Number, id, data); errors.Is(err, store.ErrMismatch) {
		return // the store has it for another pool
	} else if err != nil {
		t.Fatal(err)
	}
	if err := into.recheck(context.Background(), id); err != nil {
		if !errors.Is(err, loop.ErrFalse) {
			t.Fatalf("an error of another kind: %v", err)
		}
		return
	}
	board := into.root.Board
	c, err := proof.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Board != board || into.about.RulesOnly && c.Leaves != eval.MoveLeaves {
		t.Fatalf("campaign %d has taken a part for %v, rules only: %v", into.about.Number, c.Board, c.Leaves)
	}
	for _, q := range c.Cited {
		if s, err := q.Key.State(board); err != nil || fuzzTruth.Wins(s) != (q.Claim == eval.Won) {
			return // it holds, given what is not so
		}
	}
	for _, claim := range claims {
		s, err := claim.Key.State(board)
		if err != nil || fuzzTruth.Wins(s) != (claim.Claim == eval.Won) {
			t.Fatalf("a false claim was taken: %x is %v (%v)", claim.Key.Bytes(), claim.Claim, err)
		}
	}
	for e := range c.Set.All() {
		s, err := e.Key.State(board)
		if err != nil || !s.Legal(e.Move) || fuzzTruth.Wins(s.After(e.Move)) {
			t.Fatalf("a false entry was taken: %v (%v)", e, err)
		}
	}
}
