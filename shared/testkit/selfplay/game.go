package selfplay

import (
	"fmt"

	"amazonsfarm/shared/amazons"
)

// Game is a start and the moves from it to the end.
type Game struct {
	Start amazons.Position
	Moves []amazons.Move
}

// Play plays a game from start, both sides with the same settings, until the side to move has no
// move. Errors wrap ErrSettings.
func Play(start amazons.Position, seed uint64, s Settings) (Game, error) {
	p, err := NewPlayer(seed, s)
	if err != nil {
		return Game{}, fmt.Errorf("play a game: %w", err)
	}
	g := Game{Start: start}
	for state := start.State(); ; {
		m, ok := p.Choose(state)
		if !ok {
			return g, nil
		}
		g.Moves = append(g.Moves, m)
		state = state.After(m)
	}
}

// Positions returns the positions of the game in their order, one more than moves: the first is the
// start, and in the last the side to move has lost.
func (g Game) Positions() []amazons.Position {
	out := make([]amazons.Position, 0, len(g.Moves)+1)
	p := g.Start
	for _, m := range g.Moves {
		out = append(out, p)
		p = p.After(m)
	}
	return append(out, p)
}
