package selfplay

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

const (
	// Square is the number of points that a square of territory is worth.
	Square = 8
	// decided is added where a static rule knows the winner. It is more than all squares and moves
	// of a board.
	decided  = 1 << 12
	infinity = 1 << 20
)

// Player chooses moves. It is not safe for concurrent use.
type Player struct {
	settings Settings
	random   *rand.Rand
	budget   int          // evaluations left for plies beyond settings.Plies
	killer   amazons.Move // the best reply at the last ply that was looked at before
	stack    []option     // of all positions on the path, the deepest last
}

// option is a move and what is known of it.
type option struct {
	move  amazons.Move
	score int // for the side that makes the move
}

// NewPlayer returns a player whose choices follow from the seed. Errors wrap ErrSettings.
func NewPlayer(seed uint64, s Settings) (*Player, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	return &Player{settings: s, random: rand.New(rand.NewPCG(seed, 0x616d617a6f6e73))}, nil
}

// Choose returns a move of the side to move, false if it has none.
func (p *Player) Choose(s amazons.State) (m amazons.Move, ok bool) {
	options := p.rank(s)
	if len(options) == 0 {
		return m, false
	}
	n := 1
	for n < len(options) && options[n].score >= options[0].score-p.settings.Margin {
		n++
	}
	// Which options are equal must not decide how many numbers are drawn: one for each move.
	return options[p.random.Uint64()%uint64(n)].move, true
}

// rank returns all moves, the best first. The scores of moves within the margin of the best are
// exact for the last ply that was finished; those of the others are at most that.
func (p *Player) rank(s amazons.State) []option {
	p.stack = p.stack[:0]
	p.killer = amazons.Move{}
	p.budget = math.MaxInt
	options := p.expand(s)
	// The budget binds only what comes after the plies that are always looked ahead.
	spent := p.budget
	for plies := 2; plies <= MaxPlies && len(options) > 1; plies++ {
		if plies == p.settings.Plies+1 {
			p.budget = p.settings.Evaluations - (spent - p.budget)
		}
		if plies > p.settings.Plies && p.budget <= 0 {
			break
		}
		next := slices.Clone(options)
		best := -infinity
		for i := range next {
			o := &next[i]
			o.score = -p.search(s.After(o.move), plies-1, -infinity, -(best - p.settings.Margin - 1))
			best = max(best, o.score)
		}
		if plies > p.settings.Plies && p.budget <= 0 {
			break // cut short: these scores mean nothing
		}
		slices.SortStableFunc(next, byScore)
		options = next
		if plies > bits.OnesCount64(s.Empty) {
			break // all games are played to the end
		}
	}
	return slices.Clone(options)
}

func byScore(x, y option) int { return cmp.Compare(y.score, x.score) }

// expand pushes all moves of s with the static scores of where they lead, the best first, and
// returns them.
func (p *Player) expand(s amazons.State) []option {
	base := len(p.stack)
	for m := range s.AllMoves() {
		p.stack = append(p.stack, option{m, -p.score(s.After(m))})
	}
	slices.SortStableFunc(p.stack[base:], byScore)
	return p.stack[base:]
}

// search returns the score of s for the side to move, looking plies ahead: exact between alpha and
// beta, at most alpha or at least beta beyond them.
func (p *Player) search(s amazons.State, plies, alpha, beta int) int {
	if !s.CanMove() {
		return p.score(s)
	}
	if plies == 1 {
		return p.replies(s, beta)
	}
	best := -infinity
	base := len(p.stack)
	defer func() { p.stack = p.stack[:base] }()
	end := base + len(p.expand(s))
	for i := base; i < end; i++ {
		best = max(best, -p.search(s.After(p.stack[i].move), plies-1, -beta, -max(alpha, best)))
		if best >= beta || p.budget <= 0 {
			return best
		}
	}
	return best
}

// replies is search at the last ply, where no order is worth its price but to begin with the move
// that was best last time.
func (p *Player) replies(s amazons.State, beta int) int {
	best := -infinity
	if s.Legal(p.killer) {
		if best = -p.score(s.After(p.killer)); best >= beta {
			return best
		}
	}
	for m := range s.AllMoves() {
		if score := -p.score(s.After(m)); score > best {
			best = score
			p.killer = m
			if best >= beta {
				break
			}
		}
	}
	return best
}

// score judges s for the side to move without looking ahead: by territory, and a point for each
// square more that one move reaches. Where the winner is known, both sides still play for
// territory.
func (p *Player) score(s amazons.State) int {
	p.budget--
	v, f := eval.Evaluate(s)
	if !s.CanMove() {
		return -decided - Square*bits.OnesCount64(s.Empty)
	}
	score := Square*f.Territory + f.OwnMoves - f.OppMoves
	switch v {
	case eval.Won:
		return decided + score
	case eval.Lost:
		return -decided + score
	}
	return score
}
