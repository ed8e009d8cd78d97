package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/estimate"
	"amazonsfarm/shared/eval"
)

// graph is a proof-number search (Allis 1994) that keeps all it has met, each position once, and expands one leaf after the
// other: what the searcher of package dfpn would do with a table that forgets nothing and thresholds that are never exceeded. It is
// slow and small, and there for one comparison: only where the whole graph is known can each open leaf be counted once.
type graph struct {
	board   amazons.Board
	judge   *eval.Judge
	setting graphSetting
	nodes   []graphNode
	index   map[amazons.Key]int32

	expansions, evaluations uint64

	dirty [][]int32 // nodes whose numbers are to be made anew, by number of arrows
	met   []uint32  // by node: the last union that it is in
	union uint32
}

// graphNode is a position. Its numbers are those of package dfpn.
type graphNode struct {
	state      amazons.State // canonical
	phi, delta uint64
	arrows     uint8
	expanded   bool
	closed     bool // won by a closing move
	dirty      bool
	children   []int32 // not yet known to be won for the opponent
	parents    []int32

	// With sets: the leaves that must be won or lost by their side to move so that this one's side to move wins, and so that it loses.
	toWin, toLose []int32
}

// graphSetting is how a graph adds up numbers.
type graphSetting struct {
	setting
	sets bool // proof sets (Müller 2003) instead of numbers
}

// parseGraphSetting reads a setting of compare, or one that ends in ",sets".
func parseGraphSetting(text string) (graphSetting, error) {
	numbers, sets := strings.CutSuffix(text, ",sets")
	s, err := parseSetting(numbers)
	s.text = text
	o := s.options
	if err == nil && (o.Initial != dfpn.Fitted && o.Initial != dfpn.Constant || o.Sum == dfpn.Grouped || o.Slack != 0 || o.Widening != 0 || o.Siblings != 0) {
		err = fmt.Errorf("%q is no setting of a graph: fitted or constant, with discounted, weak, branch and sum=N or with sets are", text)
	}
	return graphSetting{s, sets}, err
}

const (
	graphInfinity = 1 << 40
	graphConstant = 8 // the numbers of a leaf where they are constant, as in package dfpn
)

func newGraph(board amazons.Board, judge *eval.Judge, s graphSetting) *graph {
	if s.options.SumWeight == 0 {
		s.options.SumWeight = 256
		if s.options.Sum == dfpn.Discounted {
			s.options.SumWeight = dfpn.DefaultSumWeight
		}
	}
	return &graph{board: board, judge: judge, setting: s, index: make(map[amazons.Key]int32)}
}

// solve expands leaves until st is solved or so many were expanded.
func (g *graph) solve(ctx context.Context, st amazons.State, most uint64) eval.Verdict {
	root := g.node(st)
	for ; g.expansions < most && g.verdict(root) == eval.Open && ctx.Err() == nil; g.expansions++ {
		n := root
		for g.nodes[n].expanded {
			n = g.best(n)
		}
		g.expand(n)
		g.update(n)
	}
	return g.verdict(root)
}

func (g *graph) verdict(n int32) eval.Verdict {
	switch {
	case g.nodes[n].phi == 0:
		return eval.Won
	case g.nodes[n].delta == 0:
		return eval.Lost
	}
	return eval.Open
}

// node returns the node of st, which it evaluates if it is new.
func (g *graph) node(st amazons.State) int32 {
	st, _ = st.Canonical(g.board)
	key := st.Key(g.board)
	if n, ok := g.index[key]; ok {
		return n
	}
	n := int32(len(g.nodes))
	g.index[key] = n
	x := graphNode{state: st, arrows: uint8(st.Arrows(g.board)), toWin: []int32{n}, toLose: []int32{n}}
	g.evaluations++
	switch verdict, f := g.judge.Evaluate(st); {
	case verdict == eval.Won:
		x.delta = graphInfinity
	case verdict == eval.Lost:
		x.phi = graphInfinity
	case g.setting.options.Initial == dfpn.Constant:
		x.phi, x.delta = graphConstant, graphConstant
	default:
		phi, delta := estimate.Numbers(st, &f)
		x.phi, x.delta = uint64(phi), uint64(delta)
	}
	g.nodes = append(g.nodes, x)
	g.met = append(g.met, 0)
	return n
}

// expand gives n its children. Moves are left out and positions called won as in a search.
func (g *graph) expand(n int32) {
	st := g.nodes[n].state
	g.nodes[n].expanded = true
	if _, ok := g.judge.Closing(st); ok {
		g.nodes[n].closed = true
		return
	}
	queens, needed := g.judge.Needed(st, nil)
	for m := range st.AllMoves() {
		if queens&m.From.Bit() == 0 && !slices.Contains(needed, m) {
			continue
		}
		c := g.node(st.After(m))
		if slices.Contains(g.nodes[n].children, c) {
			continue
		}
		g.nodes[n].children = append(g.nodes[n].children, c)
		if g.verdict(c) == eval.Lost {
			break
		}
		g.nodes[c].parents = append(g.nodes[c].parents, n)
	}
}

// best returns the child of n with the least delta.
func (g *graph) best(n int32) int32 {
	return slices.MinFunc(g.nodes[n].children, func(a, b int32) int { return cmp.Compare(g.nodes[a].delta, g.nodes[b].delta) })
}

// update makes the numbers of n and of all above it anew, the positions with more arrows first.
func (g *graph) update(n int32) {
	g.mark(n)
	for arrows := len(g.dirty) - 1; arrows >= 0; arrows-- {
		for _, n := range g.dirty[arrows] {
			g.nodes[n].dirty = false
			if g.recompute(n) {
				for _, p := range g.nodes[n].parents {
					g.mark(p)
				}
			}
		}
		g.dirty[arrows] = g.dirty[arrows][:0]
	}
}

func (g *graph) mark(n int32) {
	x := &g.nodes[n]
	if x.dirty || g.verdict(n) != eval.Open {
		return
	}
	x.dirty = true
	for len(g.dirty) <= int(x.arrows) {
		g.dirty = append(g.dirty, nil)
	}
	g.dirty[x.arrows] = append(g.dirty[x.arrows], n)
}

// recompute makes the numbers of an expanded position from those of its children, and tells whether anything changed.
func (g *graph) recompute(n int32) bool {
	x := &g.nodes[n]
	old := *x
	x.children = slices.DeleteFunc(x.children, func(c int32) bool { return g.nodes[c].phi == 0 })
	switch {
	case x.closed || slices.ContainsFunc(x.children, func(c int32) bool { return g.nodes[c].delta == 0 }):
		x.phi, x.delta, x.toWin, x.toLose = 0, graphInfinity, nil, nil
		return true
	case len(x.children) == 0:
		x.phi, x.delta, x.toWin, x.toLose = graphInfinity, 0, nil, nil
		return true
	}
	best := &g.nodes[g.best(n)]
	x.phi = best.delta
	if g.setting.sets {
		x.toWin = best.toLose
		x.toLose, x.delta = g.unite(x)
		return x.phi != old.phi || x.delta != old.delta || !slices.Equal(x.toWin, old.toWin) || !slices.Equal(x.toLose, old.toLose)
	}
	x.delta = g.add(x, best)
	return x.phi != old.phi || x.delta != old.delta
}

// add makes delta of a position from the phi of its children, the best of which is the one with the least delta.
func (g *graph) add(x, best *graphNode) uint64 {
	var sum, largest uint64
	for _, c := range x.children {
		phi := g.nodes[c].phi
		sum += phi
		largest = max(largest, phi)
	}
	weight, unit := uint64(g.setting.options.SumWeight), uint64(estimate.Least)
	if g.setting.options.Initial == dfpn.Constant {
		unit = graphConstant
	}
	siblings := uint64(len(x.children)-1) * unit
	switch g.setting.options.Sum {
	case dfpn.Weak:
		sum = largest + (siblings*weight+255)/256
	case dfpn.Branch:
		sum = best.phi + (siblings*weight+255)/256
	default:
		sum = largest + ((sum-largest)*weight+255)/256
	}
	return min(sum, graphInfinity-1)
}

// unite returns the leaves that must be decided so that x's side to move loses, each once, and the sum of their numbers.
func (g *graph) unite(x *graphNode) (leaves []int32, sum uint64) {
	g.union++
	for _, c := range x.children {
		for _, leaf := range g.nodes[c].toWin {
			if g.met[leaf] == g.union {
				continue
			}
			g.met[leaf] = g.union
			leaves = append(leaves, leaf)
			y := &g.nodes[leaf]
			if (y.arrows-x.arrows)%2 == 1 { // the opponent is to move and must win
				sum += y.phi
			} else {
				sum += y.delta
			}
		}
	}
	return leaves, sum
}

// compareGraphs solves all positions with each setting, up to so many expansions each, and prints a table as compare does.
func compareGraphs(ctx context.Context, positions []suitePosition, settings []graphSetting, most uint64, w io.Writer) error {
	judge := eval.NewJudge(nil, eval.DefaultSettings())
	var rows comparison
	for _, s := range settings {
		efforts := make([]effort, len(positions))
		for i, p := range positions {
			g := newGraph(p.position.Board, judge, s)
			begun := time.Now()
			verdict := g.solve(ctx, p.position.State(), most)
			efforts[i] = effort{verdict, g.expansions, g.evaluations, time.Since(begun)}
			if err := errors.Join(p.check(verdict, s.text), ctx.Err()); err != nil {
				return err
			}
		}
		rows.print(w, s.text, efforts)
	}
	return nil
}
