package selfplay

import (
	"errors"
	"fmt"
)

// ErrSettings is wrapped by every error about settings.
var ErrSettings = errors.New("not settings of a player")

// MaxPlies is the deepest that a player may look ahead: no board has more squares to burn.
const MaxPlies = 64

// Settings say how strong a player is and how much its games differ.
type Settings struct {
	// Plies is how far every move is looked ahead, 1 to MaxPlies. With 1 a player only looks at
	// what each of its moves leads to, with 2 also at the best reply.
	Plies int
	// Evaluations is a number of positions: one ply more is looked ahead as long as fewer were
	// evaluated for this move. The ply that passes it is given up. 0 never looks further than
	// Plies.
	Evaluations int
	// Margin is how much worse than the best a move may be and still be played, in points ([Square]
	// points are worth one square of territory). 0 plays the best move, at random where several are
	// equal.
	Margin int
}

// DefaultSettings returns those of a player that sees each move and its best reply and plays what
// is within half a square of the best.
func DefaultSettings() Settings {
	return Settings{Plies: 2, Margin: Square / 2}
}

// Validate says what is wrong with s. Errors wrap ErrSettings.
func (s Settings) Validate() error {
	switch {
	case s.Plies < 1 || s.Plies > MaxPlies:
		return fmt.Errorf("%w: %d plies: 1 to %d are possible", ErrSettings, s.Plies, MaxPlies)
	case s.Evaluations < 0:
		return fmt.Errorf("%w: %d evaluations: 0 or more are possible", ErrSettings, s.Evaluations)
	case s.Margin < 0 || s.Margin >= decided:
		return fmt.Errorf("%w: a margin of %d: 0 to %d are possible", ErrSettings, s.Margin, decided-1)
	}
	return nil
}
