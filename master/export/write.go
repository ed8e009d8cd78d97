package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"amazonsfarm/master/document"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/sgf"
)

// WriteJSON writes the graph as JSON lines: a document.ProofExport, then a document.ProofNode for
// each position, by depth.
func (g *Graph) WriteJSON(w io.Writer, head document.ProofExport) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	first := g.Positions[0].Position
	head.MessageType, head.Board, head.Position = "proof", first.Board.String(), first.String()
	head.Positions, head.Moves, head.Cut = len(g.Positions), g.Moves, g.Cut
	if err := lines.Encode(head); err != nil {
		return err
	}
	for i := range g.Positions {
		p := &g.Positions[i]
		node := document.ProofNode{MessageType: "proof_node", ID: i, Depth: p.Depth, Position: p.Position.String(),
			Proved: document.OfFinding(p.Finding), Cut: p.Cut}
		for _, m := range p.Moves {
			node.Moves = append(node.Moves, document.ProofEdge{Move: m.Move.String(), To: m.To})
		}
		if err := lines.Encode(node); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteDOT writes the graph in the language of Graphviz: boxes with boards, green where the side to
// move wins and red where it loses, dashed where the proof is cut, and an edge for each move.
func (g *Graph) WriteDOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "// %v, %d positions, %d of them cut. To draw it: dot -Tsvg -o proof.svg FILE\n",
		g.Positions[0].Position, len(g.Positions), g.Cut)
	fmt.Fprint(out, `digraph proof {
  rankdir=TB;
  node [shape=box, style=filled, fontname="monospace", fontsize=10];
  edge [fontname="monospace", fontsize=9];
`)
	for i := range g.Positions {
		p := &g.Positions[i]
		colour, style := "#f2b8b5", "filled"
		if p.Verdict == eval.Won {
			colour = "#b9e4c9"
		}
		if p.Cut {
			style = "filled,dashed"
		}
		// In a label, \l ends a line that is set to the left. Plain line ends would centre the rows of a board.
		label := strings.TrimRight(p.Position.Text(), "\n") + "\n" + p.Why()
		fmt.Fprintf(out, "  n%d [label=\"%s\\l\", fillcolor=\"%s\", style=\"%s\"];\n", i,
			strings.ReplaceAll(label, "\n", `\l`), colour, style)
	}
	for i := range g.Positions {
		for _, m := range g.Positions[i].Moves {
			fmt.Fprintf(out, "  n%d -> n%d [label=\"%v\"];\n", i, m.To, m.Move)
		}
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

// WriteSGF writes the graph as a game with variations. A position that was reached before, as it is or as an
// image, is not repeated: a comment gives the moves that lead to it.
func (g *Graph) WriteSGF(w io.Writer, name string) error {
	first := &g.Positions[0]
	game := sgf.Game{Start: first.Position, Name: name}
	type place struct {
		node  *sgf.Node
		moves []string // that lead there
	}
	at := make([]*place, len(g.Positions))
	about := func(n *sgf.Node, p *Position) {
		n.Verdict, n.Comment = p.Verdict, p.Why()
		if p.Cut {
			n.Comment += "\nThe proof goes on beyond the limit of this export."
		}
	}
	about(&game.First, first)
	at[0] = &place{node: &game.First}
	for i := range g.Positions {
		from := at[i] // is there: every position but the first was first reached from one before it
		for _, m := range g.Positions[i].Moves {
			p := &g.Positions[m.To]
			n := &sgf.Node{Move: m.Move}
			from.node.Children = append(from.node.Children, n)
			about(n, p)
			if at[m.To] == nil {
				at[m.To] = &place{n, append(append([]string(nil), from.moves...), m.Move.String())}
			} else {
				after := g.Positions[i].Position.After(m.Move)
				n.Comment = "The same position as after "
				if after != p.Position {
					n.Comment = "An image of the position after "
				}
				n.Comment += strings.Join(at[m.To].moves, " ") + "."
			}
		}
	}
	return sgf.Write(w, game)
}
