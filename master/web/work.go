package web

import (
	"context"
	"slices"

	"amazonsfarm/master/book"
	"amazonsfarm/master/document"
	"amazonsfarm/master/explore"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

const (
	workMoves   = 48 // first moves whose replies are asked for: smaller ones are too small to see
	workReplies = 24 // replies that are told of each
	workAsks    = 12 // first moves asked for at once, every movesEvery: some milliseconds each of the loop
)

// worked remembers how the work below first moves is divided, from one time to the next.
type worked struct {
	replies map[string][]book.Cell
	next    int
}

// ask tells how the nodes are divided among first moves and replies. The replies of a few first moves are
// asked for, those of the others are what they were.
func (k *worked) ask(ctx context.Context, c Campaign, s document.Status) book.Work {
	out := book.Work{MessageType: "work", Unit: "nodes", Moves: []book.Cell{}}
	root, met := c.Root(), map[amazons.Key]bool{}
	for _, f := range s.FirstMoves {
		m, err := root.ParseMove(f.Move)
		if err != nil {
			continue
		}
		key := root.State().After(m).CanonicalKey(root.Board)
		if (f.Nodes > 0 || f.Leased) && !met[key] { // mirror images are one
			met[key] = true
			out.Moves = append(out.Moves, book.Cell{Move: f.Move, Outcome: f.Verdict, Leased: f.Leased,
				Size: max(1, f.Nodes)})
		}
	}
	book.Largest(out.Moves)
	shown := out.Moves[:min(len(out.Moves), workMoves)]
	// k.next goes round the moves that are shown. With 48 moves, 12 at a time and 5 seconds between, the
	// replies of each are asked for about every 20 seconds.
	for range min(workAsks, len(shown)) {
		move := shown[k.next%len(shown)].Move
		k.next++
		way, _, err := explore.Follow(root, []string{move})
		if err != nil || s.State == "settled" {
			break // the tree of a campaign that is over lies in the store
		}
		if answer, err := c.Explore(ctx, way); err == nil {
			k.replies[move] = replies(answer)
		}
	}
	for i := range shown {
		shown[i].SetReplies(k.replies[shown[i].Move])
		shown[i].Leased = shown[i].Leased ||
			slices.ContainsFunc(shown[i].Replies, func(r book.Cell) bool { return r.Leased })
	}
	book.Largest(out.Moves)
	return out
}

// replies are the cells of the moves of a position.
// A leased move without nodes yet is shown as well, with the smallest size.
func replies(answer *farmv1.ExploreResponse) (list []book.Cell) {
	for _, m := range answer.GetMoves() {
		if k := m.GetAfter(); k.GetNodes() > 0 || k.GetLeased() {
			verdict, _ := farmv1.ReadVerdict(k.GetVerdict())
			list = append(list, book.Cell{Move: m.GetMove(), Outcome: eval.MoveWord(verdict), Leased: k.GetLeased(),
				Size: max(1, k.GetNodes())})
		}
	}
	book.Largest(list)
	return list[:min(len(list), workReplies)]
}
