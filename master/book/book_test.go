package book

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

func certificate(t *testing.T) *proof.Certificate {
	t.Helper()
	file := "../../shared/proof/testdata/format1.amzcert" // of 4x4, which White loses
	if other := os.Getenv("AMAZONS_TEST_CERTIFICATE"); other != "" {
		file = other
	}
	c, err := proof.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// TestPlayToTheEnd: whatever the losing side plays, the winner has an answer until the loser cannot
// move, within the proof, where counting decides, and below that.
func TestPlayToTheEnd(t *testing.T) {
	c := certificate(t)
	root := c.Roots[0].Position(c.Board)
	random := rand.New(rand.NewPCG(4, 4))
	met := map[string]int{}
	for range 60 {
		p, way := root, []amazons.Position{root}
		for ; p.State().CanMove(); way = append(way, p) {
			a, err := Answer(t.Context(), c.Look, way)
			if err != nil {
				t.Fatal(err)
			}
			met[a.Basis]++
			if a.Move == "" { // the loser's turn: any move, or one that the proof has no entry for
				moves := p.State().Moves(nil)
				p = p.After(moves[random.IntN(len(moves))])
				continue
			}
			m, err := p.ParseMove(a.Move)
			if err != nil {
				t.Fatal(err)
			}
			if p = p.After(m); p.String() != a.After || a.Over == p.State().CanMove() ||
				!strings.Contains(a.Why, "win") && !strings.Contains(a.Why, "won") {
				t.Fatalf("%+v leads to %v", a, p)
			}
		}
		loser := root.ToMove
		if c.Look(root.State()).Verdict == eval.Won {
			loser = loser.Other()
		}
		if p.ToMove != loser {
			t.Fatalf("%v cannot move in %v, but is the winner", p.ToMove, p)
		}
	}
	if met["entry"] == 0 || met["rule"] == 0 {
		t.Errorf("the games ended too early: %v", met)
	}
	t.Log(met)
}

// TestClosingMove: where leaf rule 4 decides, the winner plays the closing move, and the answer does not
// speak of entries of the proof.
func TestClosingMove(t *testing.T) {
	old := certificate(t)
	old.Leaves = eval.ClosingLeaves
	c, _, err := proof.Prune(t.Context(), *old, nil)
	if err != nil {
		t.Fatal(err)
	}
	root, met := c.Roots[0].Position(c.Board), 0
	for m := range root.State().AllMoves() {
		first := root.After(m)
		after := first.After(c.Look(first.State()).Move)
		for reply := range after.State().AllMoves() {
			p := after.After(reply)
			f := c.Look(p.State())
			if f.Reason != proof.ByRule4 {
				continue
			}
			met++
			a, err := Answer(t.Context(), c.Look, []amazons.Position{root, first, after, p})
			if err != nil || a.Move != f.Move.String() || a.Basis != "rule" || strings.Contains(a.Why, "each reply") {
				t.Fatalf("%v: %+v, %v", p, a, err)
			}
		}
	}
	if met == 0 {
		t.Error("no position has a closing move: the test tests nothing")
	}
}

// TestUnproved: of a position that the certificate says nothing of, a search tells the winner.
func TestUnproved(t *testing.T) {
	p, err := amazons.ParsePosition("W..B/xxxx/.... w")
	if err != nil {
		t.Fatal(err)
	}
	none := func(amazons.State) proof.Finding { return proof.Finding{} }
	a, err := Answer(t.Context(), none, []amazons.Position{p})
	if err != nil || a.Winner == "" || a.Winner == "white" && a.Move == "" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestWork: the cells of a lost position add up to its proof at least, the largest first, and of a won
// one there is the winning move alone.
func TestWork(t *testing.T) {
	c := certificate(t)
	began := time.Now()
	w := OfCertificate(c)
	t.Log(time.Since(began))
	if len(w.Moves) < 10 || len(w.Moves[0].Replies) != 1 || w.Moves[0].Outcome != "loses" {
		t.Fatalf("%+v", w.Moves[:1])
	}
	for i, cell := range w.Moves[1:] {
		if cell.Size > w.Moves[i].Size || cell.Size == 0 {
			t.Errorf("%+v after %+v", cell, w.Moves[i])
		}
	}
}
