package selfplay

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"amazonsfarm/shared/amazons"
)

func start(t testing.TB, width, height int) amazons.Position {
	t.Helper()
	b, err := amazons.NewBoard(width, height)
	if err != nil {
		t.Fatal(err)
	}
	p, err := amazons.Start(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func play(t testing.TB, p amazons.Position, seed uint64, s Settings) Game {
	t.Helper()
	g, err := Play(p, seed, s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPlay plays games on several boards: every move is legal, a game ends where the rules end it, the
// same seed makes the same game and other seeds make others.
func TestPlay(t *testing.T) {
	for _, size := range [][2]int{{4, 4}, {5, 5}, {6, 5}, {6, 6}} {
		p := start(t, size[0], size[1])
		seen := map[string]uint64{}
		for seed := range uint64(4) {
			settings := DefaultSettings()
			if seed%2 == 1 {
				settings.Evaluations = 3000
			}
			g := play(t, p, seed, settings)
			at, line := p.State(), ""
			for _, m := range g.Moves {
				if !at.Legal(m) {
					t.Fatalf("%v, seed %d: %v is not legal in %v", p.Board, seed, m,
						amazons.PositionOf(p.Board, at, amazons.White))
				}
				at, line = at.After(m), line+m.String()
			}
			if at.CanMove() {
				t.Errorf("%v, seed %d: the game ends though there is a move", p.Board, seed)
			}
			if other, ok := seen[line]; ok && size[0] > 4 {
				t.Errorf("%v: seeds %d and %d make the same game", p.Board, other, seed)
			}
			seen[line] = seed
			if again := play(t, p, seed, settings); !slices.Equal(again.Moves, g.Moves) {
				t.Errorf("%v, seed %d: a second game differs", p.Board, seed)
			}
		}
	}
}

// TestPositions compares the positions of a game with its moves.
func TestPositions(t *testing.T) {
	p := start(t, 5, 5)
	g := play(t, p, 3, DefaultSettings())
	all := g.Positions()
	if len(all) != len(g.Moves)+1 || all[0] != p {
		t.Fatalf("%d positions of %d moves, the first %v", len(all), len(g.Moves), all[0])
	}
	for i, m := range g.Moves {
		if all[i].After(m) != all[i+1] || all[i+1].Arrows() != i+1 {
			t.Errorf("position %d is not what move %v leads to", i+1, m)
		}
	}
	if last := all[len(all)-1]; last.State().CanMove() {
		t.Errorf("the last position, %v, has a move", last)
	}
}

// TestBeatsRandomPlay lets the player meet one that moves at random, as either side.
func TestBeatsRandomPlay(t *testing.T) {
	const games = 40
	for _, plies := range []int{1, 2} {
		won := 0
		for seed := range uint64(games) {
			p, err := NewPlayer(seed, Settings{Plies: plies, Margin: Square / 2})
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(seed, 1))
			s := start(t, 5, 5).State()
			for turn := seed; ; turn++ {
				if !s.CanMove() {
					won += int(turn % 2) // the player moves on even turns
					break
				}
				m, _ := p.Choose(s)
				if turn%2 == 1 {
					moves := s.Moves(nil)
					m = moves[r.IntN(len(moves))]
				}
				s = s.After(m)
			}
		}
		t.Logf("%d plies: won %d of %d", plies, won, games)
		if won < games*95/100 {
			t.Errorf("%d plies: won %d of %d games against random play", plies, won, games)
		}
	}
}

// TestLookingFurtherWins lets two plies meet one.
func TestLookingFurtherWins(t *testing.T) {
	const games = 60
	won := 0
	for seed := range uint64(games) {
		var players [2]*Player
		for i := range players {
			p, err := NewPlayer(seed, Settings{Plies: 2 - i, Margin: Square / 2})
			if err != nil {
				t.Fatal(err)
			}
			players[i] = p
		}
		s := start(t, 5, 5).State()
		turn := seed
		for ; ; turn++ {
			m, ok := players[turn%2].Choose(s)
			if !ok {
				break
			}
			s = s.After(m)
		}
		won += int(turn % 2)
	}
	t.Logf("two plies won %d of %d", won, games)
	if won < games*60/100 {
		t.Errorf("two plies won %d of %d games against one", won, games)
	}
}

// minimax is the score that search must return, by plain recursion.
func minimax(p *Player, s amazons.State, plies int) int {
	moves := s.Moves(nil)
	if plies == 0 || len(moves) == 0 {
		return p.score(s)
	}
	best := -infinity
	for _, m := range moves {
		best = max(best, -minimax(p, s.After(m), plies-1))
	}
	return best
}

// TestRank compares the scores of moves with plain minimax: those within the margin are exact and
// no other is better.
func TestRank(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 40 {
		s := start(t, 4+r.IntN(2), 4).State()
		for bits.OnesCount64(s.Empty) > 7 {
			moves := s.Moves(nil)
			if len(moves) == 0 {
				break
			}
			s = s.After(moves[r.IntN(len(moves))])
		}
		plies := 1 + r.IntN(3)
		p, err := NewPlayer(1, Settings{Plies: plies, Margin: 5})
		if err != nil {
			t.Fatal(err)
		}
		options := p.rank(s)
		if len(options) != s.CountMoves() {
			t.Fatalf("%d options of %d moves", len(options), s.CountMoves())
		}
		for _, o := range options {
			want := -minimax(p, s.After(o.move), plies-1)
			near := o.score >= options[0].score-5
			if len(options) > 1 && (near && o.score != want || !near &&
				(want > o.score || want >= options[0].score-5)) {
				t.Errorf("%+v, %d plies: %v has score %d, want %d; the best is %d", s, plies, o.move, o.score, want,
					options[0].score)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	for _, s := range []Settings{{}, {Plies: -1}, {Plies: MaxPlies + 1}, {Plies: 2, Evaluations: -1},
		{Plies: 2, Margin: -1}, {Plies: 2, Margin: decided}} {
		if _, err := Play(start(t, 4, 4), 1, s); !errors.Is(err, ErrSettings) {
			t.Errorf("%+v: got %v", s, err)
		}
	}
	if err := DefaultSettings().Validate(); err != nil {
		t.Error(err)
	}
}

// BenchmarkGame plays games with the default settings, and with some plies more where there is room
// for them.
func BenchmarkGame(b *testing.B) {
	for _, size := range [][2]int{{6, 5}, {6, 6}} {
		for _, evaluations := range []int{0, 10_000} {
			p, settings := start(b, size[0], size[1]), DefaultSettings()
			settings.Evaluations = evaluations
			b.Run(fmt.Sprintf("%v/evaluations=%d", p.Board, evaluations), func(b *testing.B) {
				moves, seed := 0, uint64(0)
				for b.Loop() {
					moves += len(play(b, p, seed, settings).Moves)
					seed++
				}
				b.ReportMetric(float64(moves)/b.Elapsed().Seconds(), "moves/s")
			})
		}
	}
}
