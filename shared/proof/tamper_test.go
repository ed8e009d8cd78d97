package proof_test

import (
	"bytes"
	"errors"
	"math/bits"
	"math/rand/v2"
	"testing"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestTamperedCertificates takes real certificates of whole games and makes faults that a liar with
// a good hash function could make: an entry removed, a winning move replaced by a legal one that
// loses, a false root, a false claim. The checker must refuse every one and name a position.
func TestTamperedCertificates(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	for board, faults := range map[string]int{"4x4": 1000, "5x4": 200, "5x5": 40} {
		t.Run(board, func(t *testing.T) {
			tamper(t, board, faults)
		})
	}
}

func tamper(t *testing.T, board string, faults int) {
	p, err := amazons.ParsePosition(board)
	if err != nil {
		t.Fatal(err)
	}
	table, err := dfpn.NewTable(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	searcher := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
	search, err := dfpn.NewWitness(searcher)
	if err != nil {
		t.Fatal(err)
	}
	defer search.Close()
	result := search.Search(t.Context(), p.State(), 0)
	builder := proof.NewBuilder(p.Board, proof.BuilderOptions{}, search)
	if err := builder.Prove(t.Context(), p.State(), result.Verdict); err != nil {
		t.Fatal(err)
	}
	real := proof.Certificate{Board: p.Board, Roots: []proof.Root{proof.RootOf(p, result.Verdict)}, Set: builder.Take()}
	check := func(c proof.Certificate) error {
		data, err := proof.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = checker.Check(t.Context(), bytes.NewReader(data), int64(len(data)), checker.Options{})
		return err
	}
	if err := check(real); err != nil {
		t.Fatalf("the certificate as it is: %v", err)
	}
	entries := make([]proof.Entry, 0, real.Set.Len())
	for arrows := range 65 {
		entries = append(entries, real.Set.Sorted(arrows)...)
	}

	r := rand.New(rand.NewPCG(1, uint64(faults)))
	count := map[string]int{}
	for i := range faults {
		var kind string
		c := proof.Certificate{Board: real.Board, Roots: []proof.Root{real.Roots[0]}, Set: new(proof.Set)}
		victim := r.IntN(len(entries))
		changed := entries[victim]
		switch i % 4 {
		case 0, 1:
			kind = "an entry is removed"
			if i%4 == 1 {
				m, ok := losingMove(t, r, search, real.Board, changed)
				if !ok {
					continue
				}
				kind, changed.Move = "a move is replaced by one that loses", m
			}
		case 2:
			kind = "the claim about the root is false"
			c.Roots[0].Claim = c.Roots[0].Claim.Other()
		case 3:
			kind = "another root"
			// A position that the certificate proves, with the opposite claim.
			s, err := changed.Key.State(p.Board)
			if err != nil {
				t.Fatal(err)
			}
			c.Roots[0] = proof.Root{State: s, Claim: eval.Lost}
			if r.IntN(2) == 0 {
				c.Roots[0] = proof.Root{State: s.After(changed.Move), Claim: eval.Won}
			}
		}
		for j, e := range entries {
			if j == victim && i%4 < 2 {
				if kind == "an entry is removed" {
					continue
				}
				e = changed
			}
			c.Set.Add(e)
		}
		err := check(c)
		var fault *checker.Fault
		if !errors.As(err, &fault) || fault.Position == "" || fault.Reason == "" {
			t.Fatalf("%s (%v): %v", kind, changed, err)
		}
		count[kind]++
	}
	t.Logf("%d entries; refused: %v", len(entries), count)
	for kind, n := range count {
		if n < faults/8 {
			t.Errorf("only %d times %s: the test tests little", n, kind)
		}
	}
	if len(count) != 4 {
		t.Errorf("kinds of faults: %v", count)
	}
}

// losingMove returns a legal move of an entry after which the other side wins.
func losingMove(t *testing.T, r *rand.Rand, search *dfpn.Witness, b amazons.Board, e proof.Entry) (amazons.Move, bool) {
	s, err := e.Key.State(b)
	if err != nil {
		t.Fatal(err)
	}
	if bits.OnesCount64(s.Empty) > 14 {
		return amazons.Move{}, false // who wins after a random move may take long to find out
	}
	moves := s.Moves(nil)
	r.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
	for _, m := range moves[:min(len(moves), 20)] {
		if v, err := search.Solve(t.Context(), s.After(m)); err != nil {
			t.Fatal(err)
		} else if v == eval.Won {
			return m, true
		}
	}
	return amazons.Move{}, false
}
