package farm

import (
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// maxUnfold is the size of the largest certificate that is read to play out a position, in bytes: some fifty milliseconds.
const maxUnfold = 256 << 10

// unfold plays a position out by the certificate of its fact: the winner plays the move of the certificate, the loser a reply
// that needs another entry. It ends where leaf rules decide, and is empty for a certificate that is too large or cannot be read.
func (f *Farm) unfold(fact tree.Fact, s amazons.State, most int) []amazons.Move {
	in, size, err := f.store.Certificate(fact.Certificate)
	if err != nil || size > maxUnfold {
		return nil
	}
	c, err := proof.Read(in, size)
	if err != nil {
		return nil
	}
	return unfold(c, s, fact.Outcome == tree.Won, most)
}

func unfold(c proof.Certificate, s amazons.State, won bool, most int) []amazons.Move {
	var line []amazons.Move
	for len(line) < most {
		m, ok := step(c, s, won)
		if !ok {
			break
		}
		line, s, won = append(line, m), s.After(m), !won
	}
	return line
}

// step returns one move of unfold, in the orientation of s.
func step(c proof.Certificate, s amazons.State, won bool) (amazons.Move, bool) {
	if won {
		return c.Set.WinningMove(c.Board, s)
	}
	for _, m := range s.Moves(nil) {
		// A reply is worth showing if the certificate answers it.
		if c.Set.Has(s.After(m).CanonicalKey(c.Board)) {
			return m, true
		}
	}
	return amazons.Move{}, false
}
