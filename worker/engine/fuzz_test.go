package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
	"amazonsfarm/shared/testkit/reference"
)

var fuzzTruth reference.Fast

// FuzzJob searches leases of a master that cannot be trusted: any position, any facts, true or
// false, and any hints, and proves what was found. It ends within its budget. Without false
// facts what is proved is true, the independent checker takes it, and no hints change that;
// with them, it is still a certificate.
func FuzzJob(f *testing.F) {
	board := amazons.Board{Width: 4, Height: 4}
	rng := []byte{0, 1, 2, 2, 2, 3, 3, 2, 3, 2, 4, 4, 2, 0, 1, 2}
	hints := func(nodes uint64) []byte {
		e, err := New(Config{Board: board, TableBytes: 1 << 17, Cores: 1, MaxHints: 30})
		if err != nil {
			f.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Run(f.Context(), Job{State: reference.Read(rng, board, 2, 8), Budget: nodes}, nil); err != nil {
			f.Fatal(err)
		}
		return e.Hints()
	}
	f.Add(rng, []byte{1, 0, 0, 50}, hints(20))
	f.Add(rng, []byte{3, 2, 0, 1, 1, 2, 200, 1, 2}, hints(3))
	f.Add([]byte{0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}, []byte{2, 1, 5, 1, 1, 9, 9, 9}, []byte("AMZMEM1\n\x04\x04\x00"))
	f.Fuzz(func(t *testing.T, squares, decisions, hints []byte) {
		if len(hints) > 1<<14 || len(decisions) > 1<<10 {
			return
		}
		fuzzing.Within(t, 20*time.Second, 512<<20,
			func() { searchLease(t, board, squares, &fuzzing.Tape{Rest: decisions}, hints) })
	})
}

func searchLease(t *testing.T, board amazons.Board, squares []byte, tape *fuzzing.Tape, hints []byte) {
	state := reference.Read(squares, board, 2, 8)
	how := tape.Byte()
	if body := len(hints) - 4; how&1 != 0 && body >= 0 { // with the right checksum
		hints = binary.LittleEndian.AppendUint32(bytes.Clone(hints[:body]),
			crc32.Checksum(hints[:body], crc32.MakeTable(crc32.Castagnoli)))
	}
	job := Job{State: state, Budget: 1 + uint64(tape.Byte())*4, Hints: [][]byte{hints, tape.Bytes(30)}}
	honest := true
	for s := state; tape.More() && s.CanMove() && len(job.Facts) < 20; {
		moves := s.Moves(nil)
		s = s.After(moves[tape.Choose(256)%len(moves)])
		v := eval.Lost
		if fuzzTruth.Wins(s) {
			v = eval.Won
		}
		if tape.Choose(8) == 7 {
			v, honest = eval.Won+eval.Lost-v, false
		}
		job.Facts = append(job.Facts, proof.Fact{Key: s.CanonicalKey(board), Verdict: v, Nodes: tape.Number()})
	}
	e := engineFor(t, Config{Board: board, TableBytes: 1 << 17, Cores: 1, RulesOnly: how&2 != 0, MinFactNodes: 1,
		MaxFacts: 10, MaxHints: 20, maxEntries: 5000})
	r, err := e.Run(t.Context(), job, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Nodes > job.Budget+1 || (r.Verdict == eval.Won) != (r.Phi == 0) ||
		(r.Verdict == eval.Lost) != (r.Delta == 0) || len(r.Solved) > 10 {
		t.Fatalf("%d nodes of %d: %+v", r.Nodes, job.Budget, r)
	}
	if e.Hints(); r.Verdict != eval.Open {
		r.Solved = append(r.Solved, proof.Fact{Key: state.CanonicalKey(board), Verdict: r.Verdict, Nodes: r.Nodes})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts, err := e.Prove(ctx, r.Solved, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		c, err := proof.Read(bytes.NewReader(part.Data), int64(len(part.Data)))
		if err != nil || part.ID != proof.IDOf(part.Data) || len(c.Roots) != len(part.Facts) ||
			c.Set.Len() != part.Entries {
			t.Fatalf("a part of %d facts and %d entries: %v", len(part.Facts), part.Entries, err)
		}
		// Whatever others claim, a part holds if what it cites is so.
		if _, err := checker.Check(t.Context(), bytes.NewReader(part.Data), int64(len(part.Data)),
			checker.Options{Workers: 1, RulesOnly: how&2 != 0, Part: true}); err != nil {
			t.Fatal(err)
		}
		for _, root := range c.Roots {
			if honest && fuzzTruth.Wins(root.State) != (root.Claim == eval.Won) {
				t.Fatalf("a false claim is proved: %v is %v", root.Position(board), root.Claim)
			}
		}
	}
}
