package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"amazonsfarm/master/document"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// certificate is that of 4x4, a loss of the first player: the same file that every version of the
// format is tested with.
func certificate(t *testing.T) *proof.Certificate {
	t.Helper()
	c, err := proof.ReadFile("../../shared/proof/testdata/format1.amzcert")
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

func graph(t *testing.T, c *proof.Certificate, p amazons.Position, limits Limits) *Graph {
	t.Helper()
	g, err := New(t.Context(), c, p, limits)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestWholeProof exports a whole certificate as JSON lines, reads them back, and checks them as a
// proof of its own: the winner's moves are legal, the loser's are all there, each leads where it
// says up to symmetry, and the sides take turns in winning until a leaf rule decides.
func TestWholeProof(t *testing.T) {
	c := certificate(t)
	root := c.Roots[0].Position(c.Board)
	var out bytes.Buffer
	if err := graph(t, c, root, Limits{}).WriteJSON(&out,
		document.ProofExport{File: "f", Entries: c.Set.Len()}); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	lines.DisallowUnknownFields()
	var head document.ProofExport
	if err := lines.Decode(&head); err != nil {
		t.Fatal(err)
	}
	var nodes []document.ProofNode
	for lines.More() {
		var n document.ProofNode
		if err := lines.Decode(&n); err != nil {
			t.Fatal(err)
		}
		if n.ID != len(nodes) {
			t.Fatalf("line %d has id %d", len(nodes), n.ID)
		}
		nodes = append(nodes, n)
	}
	if head.MessageType != "proof" || head.Position != root.String() || head.Positions != len(nodes) || head.Cut != 0 {
		t.Fatalf("%d lines after %+v", len(nodes), head)
	}
	entries, edges := 0, 0
	seen := map[amazons.Key]bool{}
	for _, n := range nodes {
		p, err := amazons.ParsePosition(n.Position)
		if err != nil {
			t.Fatal(err)
		}
		if key := p.State().CanonicalKey(p.Board); seen[key] {
			t.Fatalf("%v is there twice", p)
		} else {
			seen[key] = true
		}
		edges += len(n.Moves)
		legal := p.State().Moves(nil)
		switch n.Reason {
		case "entry":
			entries++
			if len(n.Moves) != 1 || n.Moves[0].Move != n.WinningMove {
				t.Fatalf("%v: moves %v", p, n.Moves)
			}
		case "replies":
			if len(n.Moves) != len(legal) {
				t.Fatalf("%v: %d moves of %d", p, len(n.Moves), len(legal))
			}
		default:
			if v := eval.Plain(p.Board, must(p.State().Canonical(p.Board)), eval.ClosingLeaves); len(n.Moves) != 0 ||
				v != map[string]eval.Verdict{"won": eval.Won, "lost": eval.Lost}[n.Verdict] {
				t.Fatalf("%v: %+v, the leaf rules say %v", p, n, v)
			}
		}
		for _, m := range n.Moves {
			move, err := p.ParseMove(m.Move)
			if err != nil {
				t.Fatal(err)
			}
			to, err := amazons.ParsePosition(nodes[m.To].Position)
			if err != nil || to.State().CanonicalKey(p.Board) != p.State().After(move).CanonicalKey(p.Board) {
				t.Fatalf("%v %s does not lead to %v", p, m.Move, to)
			}
			if nodes[m.To].Verdict == n.Verdict {
				t.Fatalf("%v and the position after %s are both %s", p, m.Move, n.Verdict)
			}
		}
	}
	if want, _ := c.Below(root.State(), 1<<20); entries != want || edges != head.Moves {
		t.Errorf("%d entries instead of %d, %d moves instead of %d", entries, want, edges, head.Moves)
	}
}

func must(s amazons.State, _ amazons.Symmetry) amazons.State { return s }

// TestLimits wants replies whole or not at all, what is beyond marked as cut, and the same
// positions first whatever the limits.
func TestLimits(t *testing.T) {
	c := certificate(t)
	root := c.Roots[0].Position(c.Board)
	all := graph(t, c, root, Limits{})
	for _, l := range []Limits{{Depth: 1}, {Depth: 2}, {Depth: 5}, {Positions: 1}, {Positions: 50}, {Positions: 300},
		{Depth: 4, Positions: 300}, {Positions: len(all.Positions)}, {Positions: 1 << 40}} {
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			g := graph(t, c, root, l)
			if l.Positions > 0 && len(g.Positions) > l.Positions {
				t.Errorf("%d positions", len(g.Positions))
			}
			cut, moves := 0, 0
			for i, p := range g.Positions {
				if l.Depth > 0 && p.Depth > l.Depth {
					t.Fatalf("position %d is %d plies down", i, p.Depth)
				}
				if p.Position != all.Positions[i].Position {
					t.Fatalf("position %d is %v instead of %v", i, p.Position, all.Positions[i].Position)
				}
				moves += len(p.Moves)
				if p.Cut {
					cut++
				} else if !slices.Equal(p.Moves, all.Positions[i].Moves) {
					t.Fatalf("position %d has %d moves instead of %d", i, len(p.Moves), len(all.Positions[i].Moves))
				}
				if p.Cut && len(p.Moves) > 0 {
					t.Fatalf("position %d is cut and has moves", i)
				}
			}
			if cut != g.Cut || moves != g.Moves {
				t.Errorf("%d cut instead of %d, %d moves instead of %d", g.Cut, cut, g.Moves, moves)
			}
			if full := l.Positions > 0 && len(g.Positions) < len(all.Positions) && l.Depth == 0; full && !g.Full {
				t.Error("the limit of positions is not told")
			}
			if whole := len(g.Positions) == len(all.Positions); whole != (g.Cut == 0) {
				t.Errorf("%d of %d positions, %d cut", len(g.Positions), len(all.Positions), g.Cut)
			}
		})
	}
}

func TestOpenPosition(t *testing.T) {
	c := certificate(t)
	_, err := New(t.Context(), &proof.Certificate{Board: c.Board}, c.Roots[0].Position(c.Board), Limits{})
	if !errors.Is(err, ErrOpen) {
		t.Errorf("a position that is not decided: %v", err)
	}
}

// TestDOT wants a node for each position and an edge for each move, and nothing that ends a label
// early.
func TestDOT(t *testing.T) {
	c := certificate(t)
	g := graph(t, c, c.Roots[0].Position(c.Board), Limits{Depth: 2})
	var out strings.Builder
	if err := g.WriteDOT(&out); err != nil {
		t.Fatal(err)
	}
	nodes, edges := 0, 0
	for line := range strings.Lines(out.String()) {
		switch {
		case strings.Contains(line, " -> "):
			edges++
		case strings.HasPrefix(line, "  n") && strings.Contains(line, "fillcolor"):
			nodes++
		}
		if strings.Count(line, `"`)%2 != 0 {
			t.Errorf("a label does not end: %s", line)
		}
	}
	if nodes != len(g.Positions) || edges != g.Moves {
		t.Errorf("%d nodes and %d edges, want %d and %d", nodes, edges, len(g.Positions), g.Moves)
	}
	if text := out.String(); !strings.HasPrefix(text, "// .BB./") || !strings.HasSuffix(text, "}\n") ||
		!strings.Contains(text, "dashed") || !strings.Contains(text, "4  . B B .") {
		t.Errorf("a graph of another kind: %.300s", text)
	}
}

// TestSGF wants a node for each move of the graph, and the moves of the winner where the graph has
// them.
func TestSGF(t *testing.T) {
	c := certificate(t)
	for _, depth := range []int{1, 2, 4, 0} {
		g := graph(t, c, c.Roots[0].Position(c.Board), Limits{Depth: depth})
		var out strings.Builder
		if err := g.WriteSGF(&out, "4x4"); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if got := strings.Count(text, ";"); got != 1+g.Moves {
			t.Errorf("depth %d: %d nodes, want %d", depth, got, 1+g.Moves)
		}
		if got := strings.Count(text, "The proof goes on beyond"); got != g.Cut {
			t.Errorf("depth %d: %d notes about cut positions, want %d", depth, got, g.Cut)
		}
		again := strings.Count(text, "The same position as after") +
			strings.Count(text, "An image of the position after")
		if want := g.Moves + 1 - len(g.Positions); again != want {
			t.Errorf("depth %d: %d moves lead to known positions, want %d", depth, again, want)
		}
		if !strings.HasPrefix(text, "(;FF[4]GM[18]") ||
			!strings.Contains(text, "PL[W]GB[1]C[white loses: each move is answered]") {
			t.Errorf("depth %d: %.200s", depth, text)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	c := certificate(t)
	g := graph(t, c, c.Roots[0].Position(c.Board), Limits{Depth: 2})
	for name, err := range map[string]error{"json": g.WriteJSON(full{}, document.ProofExport{}),
		"dot": g.WriteDOT(full{}), "sgf": g.WriteSGF(full{}, "")} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
	}
}
