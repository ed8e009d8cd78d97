package checker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFormalQuotes holds that the Coq files and FORMAT.md state the same rules: each quotation in the
// Coq files is text of FORMAT.md, and they quote all of the leaf rules.
func TestFormalQuotes(t *testing.T) {
	data, err := os.ReadFile("../proof/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	plain := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	format := plain(string(data))
	files, err := filepath.Glob("formal/*.v")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d Coq files, %v", len(files), err)
	}
	covered := make([]bool, len(format))
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var quote []string
		for line := range strings.Lines(string(text) + "\n") {
			if _, words, ok := strings.Cut(line, "FORMAT>"); ok {
				quote = append(quote, plain(strings.TrimSuffix(strings.TrimSpace(words), "*)")))
				continue
			}
			if q := plain(strings.Join(quote, " ")); q != "" {
				at := strings.Index(format, q)
				if at < 0 {
					t.Errorf("%s quotes what FORMAT.md does not say: %s", name, q)
				}
				for i := max(at, 0); at >= 0 && i < at+len(q); i++ {
					covered[i] = true
				}
			}
			quote = nil
		}
	}
	begin := strings.Index(format, "**Rule 1.**")
	end := strings.Index(format, "Why rule 3 holds.")
	if begin < 0 || end < begin {
		t.Fatal("FORMAT.md has no leaf rules")
	}
	for at := begin; at < end; at++ {
		if !covered[at] && format[at] != ' ' && format[at] != '-' {
			from := at
			for at < end && !covered[at] {
				at++
			}
			t.Errorf("no Coq file quotes these words of the leaf rules: %s", format[from:at])
		}
	}
}

// TestFormalPage holds that the statements on the page are those of the Coq files.
func TestFormalPage(t *testing.T) {
	page, err := os.ReadFile("../../deploy/docs/FORMAL.md")
	if err != nil {
		t.Fatal(err)
	}
	var coq strings.Builder
	files, _ := filepath.Glob("formal/*.v")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		coq.Write(text)
		if !bytes.Contains(page, []byte("`"+filepath.Base(name)+"`")) && !strings.Contains(name, "Assumptions") {
			t.Errorf("the page does not name %s", name)
		}
	}
	all := strings.Join(strings.Fields(coq.String()), " ")
	blocks := strings.Split(string(page), "```coq\n")[1:]
	if len(blocks) < 5 {
		t.Fatalf("the page has %d statements", len(blocks))
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		for statement := range strings.SplitSeq(b, ".\n") {
			if s := strings.Join(strings.Fields(statement), " "); !strings.Contains(all, s) {
				t.Errorf("no Coq file has %s", s)
			}
			if n := strings.Count(statement, "\n"); n > 10 {
				t.Errorf("a statement of %d lines is too long to follow", n)
			}
		}
	}
}

// plainText is a proof as the machine-checked checker reads it (deploy/docs/FORMATS.md).
func (p *paperProof) plainText() string {
	var s strings.Builder
	claim := map[bool]string{true: "win", false: "loss"}
	side := map[bool]string{true: "b", false: "w"}
	rules := func(flags byte) int { return 1 + int(flags&1) + int(flags>>1) }
	roots := func(word string, list []root) {
		for _, r := range list {
			fmt.Fprintf(&s, "%s %016x %016x %s %s\n", word, r.a, r.b, side[r.black], claim[r.win])
		}
	}
	first := p.parts[0]
	fmt.Fprintf(&s, "amazons-plain 1\nboard %d %d\nfile none\nrules %d\n", first.w, first.h, rules(first.flags))
	roots("claim", p.claims)
	for i, c := range p.parts {
		fmt.Fprintf(&s, "part %d rules %d entries %d citations %d\n", i, rules(c.flags), c.entries(), c.citations())
		roots("root", c.roots)
		for _, l := range c.layers {
			fmt.Fprintf(&s, "layer %d\n", l.arrows)
			for _, e := range l.cited {
				fmt.Fprintf(&s, "cite %016x %016x %s\n", e.a, e.b, claim[e.move.from == claimWin])
			}
			for _, e := range l.entries {
				fmt.Fprintf(&s, "entry %016x %016x %d %d %d\n", e.a, e.b, e.move.from, e.move.to, e.move.arrow)
			}
		}
	}
	return s.String() + "end\n"
}

// mutate makes one fault, or none, in a part of the proof.
func (p *paperProof) mutate(rng *rand.Rand) {
	c := p.parts[rng.IntN(len(p.parts))]
	squares := c.w * c.h
	r := &c.roots[rng.IntN(len(c.roots))]
	if len(c.layers) == 0 || rng.IntN(8) == 0 {
		switch rng.IntN(4) {
		case 0:
			r.a ^= 1 << rng.IntN(squares)
		case 1:
			r.b ^= 1 << rng.IntN(squares)
		case 2:
			r.win = !r.win
		case 3:
			c.flags = []byte{0, 1, 3}[rng.IntN(3)]
		}
		return
	}
	at := rng.IntN(len(c.layers))
	l := &c.layers[at]
	if n := len(l.cited); n > 0 && (len(l.entries) == 0 || rng.IntN(2) == 0) {
		switch e := &l.cited[rng.IntN(n)]; rng.IntN(3) {
		case 0:
			e.move.from = claimWin + claimLoss - e.move.from
		case 1:
			e.b ^= 1 << rng.IntN(squares)
		case 2:
			l.cited = slices.Delete(l.cited, n-1, n)
		}
	} else {
		i := rng.IntN(len(l.entries))
		switch e := &l.entries[i]; rng.IntN(11) {
		case 0:
			e.move.from = uint8(rng.IntN(squares))
		case 1:
			e.move.to = uint8(rng.IntN(squares))
		case 2, 3:
			e.move.arrow = uint8(rng.IntN(squares))
		case 4:
			e.a ^= 1 << rng.IntN(squares)
		case 5:
			e.b ^= 1 << rng.IntN(squares)
		case 6, 7:
			l.entries = slices.Delete(l.entries, i, i+1)
		case 8:
			l.entries[0], l.entries[i] = l.entries[i], l.entries[0]
		case 9:
			l.arrows++
		case 10:
			c.layers = slices.Delete(c.layers, at, at+1)
			return
		}
	}
	if len(l.entries)+len(l.cited) == 0 {
		c.layers = slices.Delete(c.layers, at, at+1)
	}
}

// TestFormalMutants writes mutated proofs as plain text into the folder FORMAL_MUTANTS, FORMAL_COUNT of
// them (default 1000), with the verdict of this checker on each in the file "verdicts": the exit code
// that the machine-checked checker must give. Without a folder it tries twenty. scripts/formal compares.
func TestFormalMutants(t *testing.T) {
	folder, n := os.Getenv("FORMAL_MUTANTS"), 1000
	if folder == "" {
		folder, n = t.TempDir(), 20
	} else if given := os.Getenv("FORMAL_COUNT"); given != "" {
		var err error
		if n, err = strconv.Atoi(given); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(28, 1))
	sizes := [][2]int{{4, 4}, {5, 4}, {4, 5}, {3, 5}, {5, 5}, {4, 6}}
	var verdicts bytes.Buffer
	accepted, inParts := 0, 0
	for i := 0; i < n; {
		size := sizes[rng.IntN(len(sizes))]
		rules := 1 + rng.IntN(3)
		at := randomPosition(rng, size[0], size[1], 9)
		whole := newProver(size[0], size[1], rules).prove(root{position: at, black: rng.IntN(2) == 0})
		proof := &paperProof{claims: whole.roots, parts: []*paper{whole}}
		if len(whole.layers) == 3 && len(whole.layers[0].entries) > 1 && rng.IntN(2) == 0 {
			proof = cut(t, whole)
		} else if len(whole.layers) == 0 && rng.IntN(8) > 0 {
			continue // decided by a leaf rule: of these, a few are enough
		}
		if rng.IntN(10) == 0 {
			proof.claims = slices.Clone(proof.claims)
			proof.claims[0].win = !proof.claims[0].win
		}
		proof = proof.clone()
		for range rng.IntN(3) {
			proof.mutate(rng)
		}
		seen := map[[32]byte]bool{} // a manifest lists each part once
		twice := false
		for _, c := range proof.parts {
			sum := sha256.Sum256(c.write())
			twice = twice || seen[sum]
			seen[sum] = true
		}
		if twice {
			continue
		}
		name, _ := proof.save(t)
		_, err := CheckFile(context.Background(), name, Options{Workers: 1, MaxMemory: 64 << 20})
		code := 0
		switch {
		case err == nil:
			accepted++
		case errors.Is(err, ErrMemory):
			t.Fatal(err)
		default:
			code = 20
		}
		if len(proof.parts) > 1 {
			inParts++
		}
		put(t, filepath.Join(folder, fmt.Sprintf("%04d.plain", i)), []byte(proof.plainText()))
		fmt.Fprintf(&verdicts, "%04d.plain %d\n", i, code)
		i++
	}
	if accepted < n/8 || accepted > n*7/8 {
		t.Errorf("%d of %d accepted: mutants of one verdict show nothing", accepted, n)
	}
	t.Logf("%d mutants, %d in parts, %d accepted", n, inParts, accepted)
	put(t, filepath.Join(folder, "verdicts"), verdicts.Bytes())
}
