package campaign

import (
	"errors"
	"slices"

	"amazonsfarm/master/explore"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

const (
	// maxLookBytes bounds what is read of parts to look one position up, in bytes: some tens of
	// milliseconds. Evidence that lies further away than that is not found.
	maxLookBytes = 4 << 20
	// maxLookParts bounds how often a part is opened for it.
	maxLookParts = 512
)

// library looks positions up in the parts of a store. Its methods may be called at the same time.
type library struct {
	board    amazons.Board
	campaign store.Campaign
	store    *store.Store
	turn     chan struct{} // one look at a time: it is work for people, and must not take the cores from the farm
}

func newLibrary(board amazons.Board, campaign store.Campaign, s *store.Store) *library {
	return &library{board: board, campaign: campaign, store: s, turn: make(chan struct{}, 1)}
}

// look is one question to the library.
// opens and what the finder may still read count for the whole look, its line of play included. So a
// long line costs no more than a short one.
type look struct {
	*library
	order  []store.PartRecord // the most promising first
	opens  int                // so many more may be opened
	finder proof.Finder
}

// Look judges a position by the parts, the one of the given fact first, and plays it out: the
// winner plays the moves of the entries, the loser a reply that needs another entry. Most bounds
// the moves of the line. It finds nothing where the evidence is too far away from the given fact.
func (l *library) Look(near proof.ID, s amazons.State, most int) explore.Proved {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	list, _ := l.store.Parts(l.campaign.Number) // of a store that cannot be read, nothing is known
	k := look{library: l, order: nearestFirst(list, near), opens: maxLookParts,
		finder: proof.Finder{Board: l.board, Left: maxLookBytes}}
	out := k.judge(s)
	next := out
	for len(out.Line) < most && next.Best != nil {
		m := *next.Best
		out.Line, s = append(out.Line, m), s.After(m)
		// After a move of the loser the winner is to move, and the other way round. Where the next
		// judgment does not say so, the evidence ends, and so does the line.
		won := next.Verdict == eval.Lost
		if next = k.judge(s); (next.Verdict == eval.Won) != won {
			break
		}
	}
	return out
}

// nearestFirst puts the parts in the order in which evidence beside one of them is likely: that
// one, those before it, the latest first (what a part lacks was brought in by an earlier one),
// then those after it.
func nearestFirst(list []store.PartRecord, near proof.ID) []store.PartRecord {
	at := slices.IndexFunc(list, func(p store.PartRecord) bool { return p.ID == near })
	if at < 0 {
		at = len(list) - 1
	}
	order := slices.Clone(list[max(0, at+1-maxLookParts) : at+1])
	slices.Reverse(order)
	return append(order, list[at+1:min(len(list), at+1+maxLookParts-len(order))]...)
}

// judge says what the parts prove of a position and of those after its moves.
// It asks the leaf rules, then an entry of the position itself, then entries of the positions after its
// moves. The position is lost if each move leads to one that is won for the other side. Where some moves
// stay unknown, a verdict by a leaf rule still stands.
func (k *look) judge(s amazons.State) (out explore.Proved) {
	out.After = map[amazons.Move]eval.Verdict{}
	if out.Verdict = k.leaf(s); out.Verdict == eval.Lost && !s.CanMove() {
		return out
	}
	state, symmetry := s.Canonical(k.board)
	key := state.Key(k.board)
	legal := s.Moves(nil)
	if win, ok := k.find([]amazons.Key{key})[key]; ok {
		win = k.board.ApplyMove(symmetry.Inverse(), win)
		// Readers may look before anyone has checked the part, so its moves are not believed.
		if !s.Legal(win) {
			return out // no entry of ours
		}
		out.Verdict, out.Best = eval.Won, &win
		lost := s.After(win).CanonicalKey(k.board)
		for _, m := range legal { // those that lead to the same position but for a symmetry win as well
			if after := s.After(m); after.CanonicalKey(k.board) == lost {
				out.After[m] = eval.Lost
			}
		}
	}
	// Leaf rules decide some moves; where the position may be lost, entries the others.
	byKey, keys := map[amazons.Key][]amazons.Move{}, []amazons.Key(nil)
	for _, m := range legal {
		after := s.After(m)
		if o := k.leaf(after); o != eval.Open {
			out.After[m] = o
			if o == eval.Lost && out.Best == nil {
				out.Verdict, out.Best = eval.Won, &m
			}
			continue
		}
		key := after.CanonicalKey(k.board)
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], m)
	}
	if out.Verdict == eval.Won {
		return out
	}
	slices.SortFunc(keys, amazons.Key.Compare)
	for key := range k.find(keys) {
		for _, m := range byKey[key] {
			out.After[m] = eval.Won
			// The entries that were found are in no order. This one makes the same look give the same answer.
			if out.Best == nil || m.Compare(*out.Best) < 0 {
				out.Best = &m
			}
		}
	}
	if len(out.After) == len(legal) {
		out.Verdict = eval.Lost
	} else if out.Verdict == eval.Open {
		out.Best = nil
	}
	return out
}

// leaf judges a position by the leaf rules of the campaign.
func (k *look) leaf(s amazons.State) eval.Verdict {
	canonical, _ := s.Canonical(k.board)
	return eval.Plain(k.board, canonical, eval.LeavesOf(k.campaign.RulesOnly))
}

// find returns the winning moves of those of the sorted keys that are in parts. It stops when
// all are found or nothing more may be read.
func (k *look) find(keys []amazons.Key) map[amazons.Key]amazons.Move {
	found := map[amazons.Key]amazons.Move{}
	for _, part := range k.order {
		if len(found) == len(keys) || k.opens == 0 {
			break
		}
		k.opens--
		in, size, err := k.store.OpenCertificate(part.ID)
		if err != nil {
			continue
		}
		err = k.finder.Find(in, size, keys, func(e proof.Entry) { found[e.Key] = e.Move })
		if errors.Is(err, proof.ErrFindLimit) {
			break
		}
	}
	return found
}
