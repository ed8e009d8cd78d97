package graph

import (
	"math"

	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// Infinity is the proof or disproof number of a position where the proof or disproof is impossible.
// Numbers of unsolved nodes are at least 1 and strictly below it.
const Infinity uint32 = 1 << 30

// Hint is the number that stands for "solved, they say" where a worker reports
// a solved number and no fact: far from 1, and far from Infinity, so that sums
// over siblings stay meaningful.
const Hint uint32 = 1 << 20

// NumbersOf returns the proof and disproof numbers of a position with a verdict; 1 and 1, those of a
// leaf that nothing is known of, for Open.
func NumbersOf(v eval.Verdict) (phi, delta uint32) {
	switch v {
	case eval.Won:
		return 0, Infinity
	case eval.Lost:
		return Infinity, 0
	}
	return 1, 1
}

// clamped returns a number of an unsolved node: at least 1, strictly below
// Infinity. Sums that reach the number for infinity would prove by arithmetic
// what nobody has proved.
func clamped(x uint64) uint32 { return uint32(min(max(x, 1), uint64(Infinity)-1)) }

// Unproved returns a worker's number for a node that is not solved.
func Unproved(x uint32) uint32 {
	if x >= Infinity {
		return Hint
	}
	return max(x, 1)
}

// combine returns the numbers that follow from the children of n: solved ones
// if a child is lost or all are won, else clamped ones.
func combine(n *Node) (phi, delta uint32) {
	var largest, sum uint64
	phi = Infinity
	for i := range n.shown {
		c := &n.shown[i]
		phi = min(phi, c.Delta)
		largest = max(largest, uint64(c.Phi))
		sum += uint64(c.Phi)
	}
	switch phi {
	case 0: // a lost child
		return NumbersOf(eval.Won)
	case Infinity: // all won
		return NumbersOf(eval.Lost)
	}
	return clamped(uint64(phi)), clamped(dfpn.Sum(largest, sum-largest))
}

// Chance returns the chance that the side to move in n, which is unsolved, loses, as the numbers
// guess it: a position is lost where a loss is cheap to prove beside a win. The root tempers
// numbers that lie far apart long before anything is sure. Below the first plies outcomes are surer
// than that; but with chances as they were found many workers did worse
// (deploy/docs/results/simulate.md).
//
// For the question itself the numbers say the less the more workers there are: many of them on one
// answer alone have nowhere to go but to what is less and less likely needed for it, while next to
// nothing is done for the other. With thousands it is a half. (1,024 workers on 6x4 were all below
// one first move for a sixth of the time. With a half they take 137 to 147 seconds in place of 159,
// and 127 and 146 in place of 189 and 150 on 5x6 after B1-B4xD4. But 128 take 661 to 748 on 6x4 in
// place of 638 to 652. deploy/docs/results/simulate.md)
func (g *Graph) Chance(n *Node) float64 {
	loss, win := math.Sqrt(float64(n.Phi)), math.Sqrt(float64(n.Delta))
	if workers := g.workers; workers > fewWorkers && n == g.question() {
		power := fewWorkers / float64(workers)
		loss, win = math.Pow(loss, power), math.Pow(win, power)
	}
	return loss / (loss + win)
}

// fewWorkers is the number of workers that go by the numbers of the question as by those of any
// position.
const fewWorkers = 128

// Crowd tells the graph how many workers there are.
func (g *Graph) Crowd(workers int) {
	g.workers = workers
	g.queue(g.question())
	g.Propagate()
}

// question returns the first position with a choice: the root, or what comes after its only move or
// the only one that is asked about.
func (g *Graph) question() *Node {
	if len(g.Root.Children) == 1 {
		return g.Root.Children[0]
	}
	return g.Root
}

// Worth returns what work at a child c of n, of which delta is the disproof number, is worth beside
// work at its most proving child, which is worth 1. If n is lost, all children have to be searched
// and it is worth as much. If n is won, one child is enough, and c is only worth something should
// that one fail, which is the less likely the harder c is beside it: the fourth power of the ratio
// of their numbers. (The ratio itself sent many workers to what was not needed in the end: 64 of
// them searched 1.91 times the nodes of one on 6x4, with the square 1.76 and with this 1.69, with
// the eighth power 1.64 in twice as many leases; 1.78, 1.30 and 1.22 on 5x6 after B1-B4xD4.
// deploy/docs/results/simulate.md.)
func Worth(n *Node, delta uint32, lost float64) float64 {
	if delta <= n.Phi {
		return 1
	}
	ratio := float64(n.Phi) / float64(delta)
	square := float64(ratio * ratio)
	return lost + float64((1-lost)*float64(square*square))
}

// usefulness returns the use of n from its children: that of the most useful open leaf below, 1 for
// the one that a lone worker would take, less at each step where the way leads to another child
// than the most proving one, 0 if there is no open leaf.
func (g *Graph) usefulness(n *Node) (use float64) {
	lost := g.Chance(n)
	for i := range n.shown {
		if c := &n.shown[i]; c.Use > use { // a worth is at most 1
			use = max(use, Worth(n, c.Delta, lost)*c.Use)
		}
	}
	return use
}

// Plus adds without wrapping around.
func Plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
