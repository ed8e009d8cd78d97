package checker

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// exhaustive decides a position by search without any leaf rule but "no move".
func exhaustive(b *board, p position, memo map[position]bool) (won bool) {
	if won, known := memo[p]; known {
		return won
	}
	for queens := p.own(); queens != 0 && !won; queens &= queens - 1 {
		from := bits.TrailingZeros64(queens)
		for tos := b.queenLines(from, p.occupied()); tos != 0 && !won; tos &= tos - 1 {
			to := bits.TrailingZeros64(tos)
			for cs := b.queenLines(to, p.occupied()&^(1<<from)); cs != 0 && !won; cs &= cs - 1 {
				won = !exhaustive(b, p.play(move{uint8(from), uint8(to), uint8(bits.TrailingZeros64(cs))}), memo)
			}
		}
	}
	memo[p] = won
	return won
}

func TestLeafRulesAgainstExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	sizes := [][2]int{{4, 4}, {4, 5}, {5, 4}, {5, 5}, {4, 6}, {6, 4}, {5, 6}, {6, 6}}
	var seen [3]int
	for i := range 24000 {
		size := sizes[i%len(sizes)]
		w, h := size[0], size[1]
		b := boardOf(w, h)
		p := randomPosition(rng, w, h, 4+i%6)
		rules := 3
		if i%25 == 0 { // word by word, rule 4 looks at all moves
			rules = 4
		}
		got := LeafVerdict(w, h, p.a, p.b, rules)
		seen[got]++
		if want := dumbOf(w, h, p).verdict(rules); got != want {
			t.Fatalf("%s: by rules 1 to %d %v, word by word %v", b.positionText(p, false), rules, got, want)
		}
		if got != Open {
			if won := exhaustive(b, p, map[position]bool{}); won != (got == Won) {
				t.Fatalf("%s: rules say %v, search says won = %v", b.positionText(p, false), got, won)
			}
		}
		if only := LeafVerdict(w, h, p.a, p.b, 1); only != Open && (only != Lost || len(b.allMoves(p)) != 0) {
			t.Fatalf("%s: rule 1 alone says %v", b.positionText(p, false), only)
		}
	}
	for v, n := range seen {
		if n < 1000 {
			t.Errorf("only %d of the positions were %v", n, Verdict(v))
		}
	}
	t.Logf("open %d, won %d, lost %d", seen[Open], seen[Won], seen[Lost])
}

// TestLeafRulesOnWholeBoards takes every position of small boards, with any number of queens.
func TestLeafRulesOnWholeBoards(t *testing.T) {
	for _, size := range [][2]int{{1, 6}, {6, 1}, {2, 4}, {4, 2}, {3, 3}} {
		b := boardOf(size[0], size[1])
		memo := map[position]bool{}
		decided := 0
		for a := range b.full + 1 {
			for c := range b.full + 1 {
				v := LeafVerdict(b.width, b.height, a, c, 4)
				if v == Open {
					continue
				}
				decided++
				if p := (position{a, c}); exhaustive(b, p, memo) != (v == Won) {
					t.Fatalf("%s: rules say %v", b.positionText(p, false), v)
				}
			}
		}
		t.Logf("%dx%d: %d positions decided", b.width, b.height, decided)
	}
}

func TestLeafVerdictExamples(t *testing.T) {
	for _, c := range []struct {
		name, text string
		w, h       int
		want       Verdict
		only       Verdict
	}{
		{"no move", "Wx./xxB", 3, 2, Lost, Lost},
		{"one plod against none (2a)", "W.x/xxB", 3, 2, Won, Open},
		{"two territories of one square, to move (open by count)", "W.xB./xxxxx", 5, 2, Lost, Open},
		{"two against one (2a)", "W..xB./xxxxxx", 6, 2, Won, Open},
		{"two against two (2c)", "W..xB../xxxxxxx", 7, 2, Lost, Open},
		{"the common square is taken (2b)", "W.B", 3, 1, Won, Open},
		{"a blocker goes in and another plods (2b)", "W..B/xxxx/xxxx/xxW.", 4, 4, Won, Open},
		{"outside sizes", "W", 1, 1, Lost, Lost},
	} {
		p := fromText(c.w, c.h, c.text)
		if got := LeafVerdict(c.w, c.h, p.a, p.b, 3); got != c.want {
			t.Errorf("%s: %s is %v, want %v", c.name, c.text, got, c.want)
		}
		if got := LeafVerdict(c.w, c.h, p.a, p.b, 1); got != c.only {
			t.Errorf("%s: %s is %v by rule 1, want %v", c.name, c.text, got, c.only)
		}
	}
	for _, bad := range [][2]int{{0, 4}, {4, 0}, {9, 1}, {1, 9}, {-1, -1}} {
		if got := LeafVerdict(bad[0], bad[1], 1, 0, 3); got != Open {
			t.Errorf("a board of %v: %v", bad, got)
		}
	}
	if got := LeafVerdict(2, 2, 1<<4, 0, 3); got != Open {
		t.Errorf("a bit outside the board: %v", got)
	}
}

// FuzzLeafRule holds the leaf rules against exhaustive search on late positions, which the fuzzer's
// numbers select.
func FuzzLeafRule(f *testing.F) {
	for i := range uint64(20) {
		f.Add(uint8(4+i%3), uint8(4+i/3%3), i, i*i)
	}
	f.Fuzz(func(t *testing.T, w, h uint8, seed, more uint64) {
		width, height := 4+int(w%3), 4+int(h%3)
		rng := rand.New(rand.NewPCG(seed, more))
		b := boardOf(width, height)
		p := randomPosition(rng, width, height, 9)
		rules := 3
		if more%16 == 0 { // word by word, rule 4 looks at all moves
			rules = 4
		}
		got := LeafVerdict(width, height, p.a, p.b, rules)
		if want := dumbOf(width, height, p).verdict(rules); got != want {
			t.Fatalf("%s: %v, word by word %v", b.positionText(p, false), got, want)
		}
		if got == Open {
			return
		}
		if won := exhaustive(b, p, map[position]bool{}); won != (got == Won) {
			t.Fatalf("%s: rules say %v, search says won = %v", b.positionText(p, false), got, won)
		}
	})
}

// fromText reads the board part of a position's text with white as own.
func fromText(w, h int, text string) (p position) {
	for i, row := range strings.Split(text, "/") {
		for f, c := range row {
			bit := uint64(1) << (w*(h-1-i) + f)
			switch c {
			case 'W':
				p.a |= bit
			case 'B':
				p.b |= bit
			case 'x':
				p.a |= bit
				p.b |= bit
			}
		}
	}
	return p
}
