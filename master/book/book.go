// Package book answers from a certificate what readers of the pages ask: what is proved of a position,
// how the winner plays on and why it still wins, and what the static rules say. It knows no network
// and no files, and it compiles for browsers, so that an exported site answers as a master does.
//
// Everything here starts from a [Look], which says what is proved of one position. There are two
// kinds of Look: one reads a certificate in memory, and one asks a campaign's tree and parts.
// [Answer] plays the winner's side with either:
//
//   - Where the evidence names a winning move, or a reader of it finds a closing move, it plays that move.
//   - Where another leaf rule decides, there is no such move. Then it takes the move by which the winner
//     keeps the most squares for itself, and makes sure that the rule still holds after it.
//   - Where neither helps, a short search looks for a move. The answer says that the move comes
//     from a search and not from the proof.
//
// [OfCertificate] measures where a proof is large, for the picture on the page.
package book

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"amazonsfarm/master/document"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Look says what is proved of a position. With Won and no leaf rule it names a winning move.
type Look func(amazons.State) proof.Finding

const (
	countEntries = 20_000  // entries that Explore counts: some ten milliseconds
	workEntries  = 400_000 // entries that Work counts for first moves: a few seconds, once for a certificate
	workReplies  = 16      // first moves whose replies Work tells apart: smaller ones are too small to see
	searchTable  = 4 << 20 // bytes of the table of a search below the proof
	searchNodes  = 200_000 // of such a search: positions below a leaf rule take a few hundred
	guessNodes   = 500     // of a search where nothing is proved: some milliseconds
	judgeStops   = 4096    // areas and sums that are searched to explain a position: some tens of milliseconds
	guessMoves   = 80      // moves of a position that is searched so: with more, nodes take too long
)

// Explore tells what a certificate says of a position and its moves.
func Explore(c *proof.Certificate, p amazons.Position) document.ProofPosition {
	return document.OfProof(c, p, countEntries)
}

// Judge says what the static rules see in a position, as worker eval does without a database, but for stops that take
// long to find. Few empty squares do not bound what has to be searched: moves free the squares that queens leave.
func Judge(p amazons.Position) eval.Explanation {
	set := eval.FullSettings()
	set.Stops = judgeStops
	return eval.NewJudge(nil, set).Explain(p)
}

// Play is the winner's answer in a position, and why it still wins.
type Play struct {
	MessageType string `json:"message_type"` // "play"
	Position    string `json:"position"`
	Winner      string `json:"winner"`          // white, black, or empty where nothing is proved
	Move        string `json:"move,omitempty"`  // of the winner, where it is to move
	After       string `json:"after,omitempty"` // the position after it
	Basis       string `json:"basis"`           // what the move rests on: entry, rule, search; or none
	Why         string `json:"why"`             // why the winner still wins, in plain words
	Over        bool   `json:"over"`            // the side to move cannot move, after the move if there is one
}

// Answer plays for the winner of the last position of a way, each after a move from the one before.
// Where the loser is to move, it only says who wins and why. The proof ends where counting decides;
// below, Answer plays by counting, and searches where that does not show the way. Errors are those of
// the context and of a search that ended without a result.
func Answer(ctx context.Context, look Look, way []amazons.Position) (Play, error) {
	p := way[len(way)-1]
	out := Play{MessageType: "play", Position: p.String(), Basis: "none", Over: !p.State().CanMove()}
	s := p.State()
	f := look(s)
	if f.Verdict == eval.Open {
		f.Verdict = leaf(s, p.Board)
	}
	searched := f.Verdict == eval.Open
	// The evidence says nothing of this position. If a leaf rule decided a position above it, the
	// winner is known, and a search small enough for a page finds the way. Elsewhere a search is a
	// mere try.
	if searched { // below a leaf of the proof a search tells, elsewhere perhaps
		below := slices.ContainsFunc(way, func(q amazons.Position) bool {
			return leaf(q.State(), q.Board) != eval.Open
		})
		var err error
		if below {
			f, err = search(ctx, s, p.Board, searchNodes)
		} else if s.CountMoves() <= guessMoves {
			f, err = search(ctx, s, p.Board, guessNodes)
		}
		if err != nil || f.Verdict == eval.Open {
			out.Why = "Nobody has proved who wins here, and a short search does not tell."
			return out, nil
		}
	}
	out.Winner = f.Verdict.Winner(p.ToMove)
	if f.Verdict == eval.Lost {
		out.Why = why(p, "")
		return out, nil
	}
	const counting = "The proof ends here, because counting decides."
	move, basis, how := f.Move, "entry", "The proof has an answer to each reply."
	if f.Reason == proof.ByRule4 {
		basis, how = "rule", counting
	} else if searched && s.Legal(move) {
		basis, how = "search", "The proof does not reach here; a search found this move."
	} else if !s.Legal(move) {
		var ok bool
		if move, ok = counted(s, p.Board); ok {
			basis, how = "rule", counting
		} else {
			found, err := search(ctx, s, p.Board, searchNodes)
			if err != nil || found.Verdict != eval.Won {
				return out, fmt.Errorf("no winning move was found in %v: %w", p, err)
			}
			move, basis = found.Move, "search"
			how = "The proof ended above, where counting decided; a search found this move."
		}
	}
	after := p.After(move)
	out.Move, out.After, out.Basis, out.Over = move.String(), after.String(), basis, !after.State().CanMove()
	out.Why = why(after, how)
	return out, nil
}

// leaf judges a position by the leaf rules of certificates.
func leaf(s amazons.State, b amazons.Board) eval.Verdict {
	canonical, _ := s.Canonical(b)
	return eval.Plain(b, canonical, eval.ClosingLeaves)
}

// counted returns a move after which the leaf rules still say that the other side loses: the one that
// leaves the mover most squares of its own beyond what the other side can reach.
func counted(s amazons.State, b amazons.Board) (best amazons.Move, ok bool) {
	most := 0
	for m := range s.AllMoves() {
		after := s.After(m)
		if leaf(after, b) != eval.Lost {
			continue
		}
		theirs := amazons.Flood(after.Own, after.Empty)
		margin := bits.OnesCount64(after.Empty&^theirs) - bits.OnesCount64(theirs)
		if !ok || margin > most {
			best, most, ok = m, margin, true
		}
	}
	return best, ok
}

// search looks for the winner of s, and for a move that wins.
func search(ctx context.Context, s amazons.State, b amazons.Board, most uint64) (f proof.Finding, err error) {
	table, err := dfpn.NewTable(searchTable)
	if err != nil {
		return f, err
	}
	defer table.Close()
	searcher := dfpn.New(dfpn.Options{Board: b, Table: table})
	if f.Verdict = searcher.Search(ctx, s, most).Verdict; f.Verdict == eval.Open {
		return f, fmt.Errorf("the search ended after %d nodes without a result: %w", most, context.Cause(ctx))
	}
	if f.Verdict == eval.Lost {
		return f, nil
	}
	var ok bool
	if f.Move, ok = searcher.Best(s); ok {
		return f, nil
	}
	for nodes := most / 1000; nodes <= most; nodes *= 10 {
		for m := range s.AllMoves() { // the rules know that s is won, and not by which move
			if searcher.Search(ctx, s.After(m), nodes).Verdict == eval.Lost {
				f.Move = m
				return f, nil
			}
		}
	}
	return f, fmt.Errorf("no winning move was found within %d nodes", most)
}

// why says why the side that is not to move wins p: what is left to play for.
func why(p amazons.Position, how string) string {
	loser, winner := name(p.ToMove), name(p.ToMove.Other())
	s := p.State()
	moves := s.CountMoves()
	if moves == 0 {
		return fmt.Sprintf("%s has no move left: %s has won.", loser, winner)
	}
	own, opp := amazons.Flood(s.Own, s.Empty), amazons.Flood(s.Opp, s.Empty)
	count := func(x amazons.Set) string { return plural(bits.OnesCount64(x), "square") }
	text := fmt.Sprintf("%s still wins. %s alone can reach %s, %s alone %s", winner, winner, count(opp&^own), loser,
		count(own&^opp))
	switch both := own & opp; {
	case own == opp:
		text = fmt.Sprintf("%s still wins. Nothing is divided yet: both can reach all %s", winner, count(both))
	case both != 0:
		text += fmt.Sprintf("; both can reach %s", count(both))
	}
	text += fmt.Sprintf(". %s has %s now.", loser, plural(moves, "move"))
	if how != "" {
		text = how + " " + text
	}
	return text
}

func name(c amazons.Colour) string { return strings.ToUpper(c.String()[:1]) + c.String()[1:] }

// plural counts things in words: "1 move", "2 moves". Package cli does so too, and cannot be built for browsers.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Work is how the work or the proof of a campaign is divided among first moves and replies.
type Work struct {
	MessageType string `json:"message_type"` // "work"
	Unit        string `json:"unit"`         // nodes (searched) or positions (of the certificate)
	Moves       []Cell `json:"moves"`        // the largest first
}

// Cell is a move and how much of the work lies below it.
type Cell struct {
	Move    string `json:"move"`
	Outcome string `json:"outcome"` // wins, loses or open, for the side that plays it
	Leased  bool   `json:"leased,omitempty"`
	Size    uint64 `json:"size"` // a large proof is not counted to the end; what several replies need counts for each
	Replies []Cell `json:"replies,omitempty"`
}

// SetReplies gives a cell its replies. It is larger than all of them together.
func (c *Cell) SetReplies(replies []Cell) {
	c.Replies = replies
	sum := uint64(1)
	for _, r := range replies {
		sum += r.Size
	}
	c.Size = max(c.Size, sum)
}

// Largest puts the cells with the most work first.
func Largest(list []Cell) {
	slices.SortStableFunc(list, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.Move, b.Move))
	})
}

// OfCertificate divides the positions of a certificate by first moves, replies and moves after these.
// Positions that several moves need count for each.
func OfCertificate(c *proof.Certificate) Work {
	return Work{MessageType: "work", Unit: "positions", Moves: cells(c, c.Roots[0].State, workEntries, 3)}
}

// cells measures what is proved below each move of s, mirror images left out, to a depth of so many moves.
func cells(c *proof.Certificate, s amazons.State, budget, depth int) []Cell {
	list := []Cell{}
	states, met := map[string]amazons.State{}, map[amazons.Key]bool{}
	moves := s.Moves(nil)
	if f := c.Look(s); f.Reason == proof.ByEntry {
		moves = []amazons.Move{f.Move} // the proof needs no other
	}
	for _, m := range moves {
		after := s.After(m)
		key := after.CanonicalKey(c.Board)
		n, _ := c.Below(after, budget/len(moves)+1)
		if n == 0 || met[key] {
			continue // a leaf
		}
		met[key] = true
		cell := Cell{Move: m.String(), Outcome: eval.MoveWord(c.Look(after).Verdict), Size: uint64(n)}
		list, states[cell.Move] = append(list, cell), after
	}
	Largest(list)
	for i := range list[:min(len(list), workReplies)] {
		if depth > 1 {
			list[i].SetReplies(cells(c, states[list[i].Move], budget/8, depth-1))
		}
	}
	Largest(list)
	return list
}
