package checker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// paperProof is a proof in parts before it is written.
type paperProof struct {
	claims []root
	parts  []*paper
}

// sortEntries puts entries in order and drops those that come twice.
func sortEntries(list []entry) []entry {
	slices.SortFunc(list, func(x, y entry) int {
		return proved{position: x.position}.compare(proved{position: y.position})
	})
	return slices.CompactFunc(list, func(x, y entry) bool { return x.position == y.position })
}

// cut makes four parts of a certificate with three layers. The first cites lost positions, the
// second proves these and cites won ones, the others prove those, each a half. A proof of this kind
// has all kinds of roots and citations.
func cut(t testing.TB, c *paper) *paperProof {
	t.Helper()
	if len(c.layers) != 3 {
		t.Fatalf("the example has %d layers", len(c.layers))
	}
	b := boardOf(c.w, c.h)
	part := func(roots []root, layers ...paperLayer) *paper {
		return &paper{w: c.w, h: c.h, flags: c.flags, perBlock: c.perBlock, roots: roots, layers: layers}
	}
	deep, middle, top := c.layers[0], c.layers[1], c.layers[2]
	var lost, won []entry
	var lostRoots, wonRoots []root
	for _, e := range top.entries {
		lost = append(lost, entry{b.canonical(e.play(e.move)), move{from: claimLoss}})
	}
	lost = sortEntries(lost)
	for _, e := range lost {
		lostRoots = append(lostRoots, root{position: e.position})
	}
	for _, e := range deep.entries {
		won = append(won, entry{e.position, move{from: claimWin}})
		wonRoots = append(wonRoots, root{position: e.position, win: true, black: len(wonRoots)%2 == 0})
	}
	half := len(won) / 2
	return &paperProof{claims: c.roots, parts: []*paper{
		part(c.roots, paperLayer{arrows: top.arrows + 1, cited: lost}, top),
		part(lostRoots, paperLayer{arrows: deep.arrows, cited: won}, middle),
		part(slices.Clip(wonRoots[:half]), paperLayer{arrows: deep.arrows, entries: deep.entries[:half]}),
		part(wonRoots[half:], paperLayer{arrows: deep.arrows, entries: deep.entries[half:]}),
	}}
}

func (p *paperProof) clone() *paperProof {
	q := &paperProof{claims: slices.Clone(p.claims)}
	for _, part := range p.parts {
		q.parts = append(q.parts, part.clone())
	}
	return q
}

// list returns the manifest of parts that are written as files.
func (p *paperProof) list(files [][]byte) []byte {
	b := boardOf(p.parts[0].w, p.parts[0].h)
	order := make([]int, len(files))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		x, y := sha256.Sum256(files[i]), sha256.Sum256(files[j])
		return bytes.Compare(x[:], y[:])
	})
	le := binary.LittleEndian
	var records []byte
	var all []proved
	for n, i := range order {
		part := p.parts[i]
		sum := sha256.Sum256(files[i])
		var own []proved
		for _, r := range part.roots {
			own = append(own, proved{b.canonical(r.position), r.win, uint32(n)})
		}
		slices.SortFunc(own, proved.compare)
		own = slices.Compact(own)
		all = append(all, own...)
		records = append(records, sum[:]...)
		for _, x := range []int{len(files[i]), part.entries(), part.citations(), len(own)} {
			records = le.AppendUint64(records, uint64(x))
		}
	}
	slices.SortFunc(all, proved.compare)
	f := []byte(manifestMagic)
	f = le.AppendUint32(le.AppendUint32(f, manifestVersion), uint32(len(p.claims)))
	f = append(f, make([]byte, 32)...)
	f = append(f, byte(b.width), byte(b.height), p.parts[0].flags, 0)
	f = le.AppendUint64(le.AppendUint32(f, uint32(len(files))), uint64(len(all)))
	f = append(appendRoots(f, p.claims), records...)
	for _, r := range all {
		claim := byte(claimLoss)
		if r.win {
			claim = claimWin
		}
		f = le.AppendUint32(le.AppendUint64(le.AppendUint64(f, r.a), r.b), r.part)
		f = append(f, claim, 0, 0, 0)
	}
	return seal(f)
}

// partName is the file of a part in a folder.
func partName(folder string, file []byte) string {
	return filepath.Join(folder, fmt.Sprintf("%x", sha256.Sum256(file)))
}

// save writes the proof into a new folder and returns the name of its manifest and the files of its
// parts.
func (p *paperProof) save(t testing.TB) (name string, files [][]byte) {
	t.Helper()
	folder := t.TempDir()
	name = filepath.Join(folder, "game.proof")
	for _, part := range p.parts {
		files = append(files, part.write())
	}
	put(t, name, p.list(files))
	if err := os.Mkdir(PartsFolder(name), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		put(t, partName(PartsFolder(name), f), f)
	}
	return name, files
}

func put(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestProofInParts(t *testing.T) {
	for _, c := range []*paper{late(t), three(t)} {
		p := cut(t, c)
		name, files := p.save(t)
		var first *Report
		for _, workers := range []int{1, 2, 7} {
			r, err := CheckFile(t.Context(), name, Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = r
			}
			if r.Counts != first.Counts || !r.Complete() || r.Parts.Checked != 4 ||
				r.Parts.Positions != int64(c.entries()) {
				t.Errorf("report %+v, parts %+v", r, r.Parts)
			}
			if len(r.Roots) != len(c.roots) || !strings.HasPrefix(r.String(), "valid proof for ") {
				t.Errorf("report\n%s", r)
			}
		}
		for i, f := range files {
			r, err := checkBytes(f, Options{Part: true})
			if err != nil || r.Complete() != (i > 1) || r.Citations > 0 != (i < 2) {
				t.Errorf("part %d: %+v, %v", i, r, err)
			}
			if _, err := checkBytes(f, Options{}); i < 2 && (!errors.Is(err, ErrCitations) || !Invalid(err)) {
				t.Errorf("part %d alone: %v", i, err)
			}
		}
		t.Logf("\n%s", first)
	}
}

// three is a small certificate with three layers.
func three(t testing.TB) *paper {
	t.Helper()
	p := newProver(4, 4, 2)
	q := fromText(4, 4, ".BWx/..Bx/W..x/...x")
	for _, m := range p.allMoves(q) {
		c := p.prove(root{position: q.play(m), black: true})
		if n := c.entries(); len(c.layers) == 3 && n >= 15 && n <= 60 && len(c.layers[0].entries) > 3 {
			c.perBlock = 5
			return c
		}
	}
	t.Fatal("no example")
	return nil
}

// TestShardsAddUp checks a proof by shards, then by its states alone, without a part.
func TestShardsAddUp(t *testing.T) {
	name, _ := cut(t, late(t)).save(t)
	whole, err := CheckFile(t.Context(), name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	states := []string{filepath.Join(folder, "sum")}
	var all []byte
	for n := range int64(3) {
		state := filepath.Join(folder, fmt.Sprint(n))
		r, err := CheckFile(t.Context(), name, Options{Shard: Shard{n + 1, 3}, States: []string{state}})
		if err != nil || r.Complete() || !strings.Contains(r.String(), "nothing is proved before all hold") {
			t.Fatalf("%+v, %v", r, err)
		}
		data, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		all, states = append(all, data...), append(states, state)
	}
	if err := os.RemoveAll(PartsFolder(name)); err != nil {
		t.Fatal(err)
	}
	joined := filepath.Join(folder, "joined")
	put(t, joined, all)
	for _, list := range [][]string{states, {joined}} {
		r, err := CheckFile(t.Context(), name, Options{States: list})
		if err != nil || !r.Complete() || r.Counts != whole.Counts || r.Parts.Before != 4 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if _, err := CheckFile(t.Context(), name, Options{States: list(joined), RulesOnly: true}); !errors.Is(err,
		ErrState) {
		t.Errorf("a state by other rules: %v", err)
	}
	other, _ := cut(t, three(t)).save(t)
	if _, err := CheckFile(t.Context(), other, Options{States: list(joined)}); !errors.Is(err, ErrState) ||
		Invalid(err) {
		t.Errorf("a state of another proof: %v", err)
	}
}

func list(names ...string) []string { return names }

// noted checks a proof whole, and returns its report and the state that it wrote.
func noted(t *testing.T, name, state string) (*Report, []byte) {
	t.Helper()
	whole, err := CheckFile(t.Context(), name, Options{States: list(state)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	return whole, data
}

// TestStateCut goes on from a state that was cut after each of its bytes.
func TestStateCut(t *testing.T) {
	name, _ := cut(t, three(t)).save(t)
	state := filepath.Join(t.TempDir(), "state")
	whole, data := noted(t, name, state)
	for n := range len(data) + 1 {
		put(t, state, data[:n])
		r, err := CheckFile(t.Context(), name, Options{States: list(state)})
		if err != nil || r.Counts != whole.Counts ||
			r.Parts.Before != int64(bytes.Count(data[:n], []byte("ok\n"))) {
			t.Fatalf("cut to %d bytes: %+v, %+v, %v", n, r, r.Parts, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{States: list(state + "2"), Workers: 1, Progress: func(Progress) { cancel() }}
	_, err := CheckFile(ctx, name, o)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, err := CheckFile(t.Context(), name, Options{States: list(state + "2")}); err != nil || r.Parts.Before != 1 {
		t.Errorf("after a cancel: %+v, %v", r, err)
	}
}

// TestForeignStates refuses states with lines that belong to nothing here, wherever they stand: the line of another
// proof behind one that was cut, a part that the proof does not have, text.
func TestForeignStates(t *testing.T) {
	name, _ := cut(t, three(t)).save(t)
	state := filepath.Join(t.TempDir(), "state")
	whole, data := noted(t, name, state)
	head, _, _ := strings.Cut(string(data), "\n")
	countless := regexp.MustCompile(`^0 (\d+) .*`)
	line := regexp.MustCompile(`(?m)^0 .* ok$`).Find(data)
	for _, text := range []string{
		head + "\n0 12 amazons-check state 1 proof 00 rules 3\n1 1 1 1 1 1 1 ok\n",
		head + "\n0 12 34amazons-check state 1 proof 00 rules 3\n",
		head + fmt.Sprintf("\n%d 1 1 1 1 1 1 ok\n", whole.Parts.Total),
		head + "\n63 1 1 1 1 1 1 ok\n",
		head + "\nok then\n",
		"0 1 1 1 1 1 1 ok\n" + head + "\n",
		"some file", // without an end of its line
		head + "\n" + strings.Repeat("0", 1<<20),
		head + "\n0 1000 1 1 1 1 1 ok\n",
		head + "\n" + countless.ReplaceAllString(string(line), "0 $1 -1 1 1 1 1 ok") + "\n",
		head + "\n" + countless.ReplaceAllString(string(line), "0 $1 1 9223372036854775807 1 1 1 ok") + "\n",
	} {
		put(t, state, []byte(text))
		if r, err := CheckFile(t.Context(), name, Options{States: list(state)}); !errors.Is(err, ErrState) {
			t.Errorf("%.200q: %+v, %v", text, r, err)
		}
	}
	put(t, state, []byte(head+"\n0 12 3"+string(data))) // of this proof, it may follow one that was cut
	if r, err := CheckFile(t.Context(), name, Options{States: list(state)}); err != nil || r.Counts != whole.Counts {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestShardFlag(t *testing.T) {
	for text, want := range map[string]Shard{"3/16": {3, 16}, "1/4294967296": {1, 1 << 32}, "1/4294967297": {},
		"1/9223372036854775807": {}, "0/3": {}, "4/3": {}, "3": {}, "3/": {}, "/3": {}, "1/x": {}} {
		var s Shard
		if err := s.Set(text); s != want || (err == nil) != (want != Shard{}) {
			t.Errorf("%s: %v, %v", text, s, err)
		}
	}
	name, _ := cut(t, three(t)).save(t)
	if _, err := CheckFile(t.Context(), name, Options{Shard: Shard{1 << 32, 1 << 32}}); err != nil {
		t.Error(err) // a shard without parts holds
	}
}

func TestSample(t *testing.T) {
	name, _ := cut(t, three(t)).save(t)
	seen := map[string]bool{}
	for seed := range uint64(40) {
		state := filepath.Join(t.TempDir(), "state")
		o := Options{Sample: 0.3, Seed: seed, States: list(state)}
		r, err := CheckFile(t.Context(), name, o)
		if err != nil || r.Parts.Checked != 2 || r.Complete() || r.Parts.Sample != "30%" || r.Parts.Seed != seed {
			t.Fatalf("%+v, %v", r.Parts, err)
		}
		data, _ := os.ReadFile(state)
		seen[string(data)] = true
		if again, err := CheckFile(t.Context(), name, o); err != nil || again.Counts != r.Counts {
			t.Errorf("the same sample again: %+v, %v", again, err)
		}
	}
	if len(seen) < 6 { // pairs of four parts, in any order
		t.Errorf("%d samples", len(seen))
	}
}

// TestPartFiles damages the files of a proof without changing its list.
func TestPartFiles(t *testing.T) {
	p := cut(t, three(t))
	name, files := p.save(t)
	folder := PartsFolder(name)
	check := func(what, text string) {
		t.Helper()
		_, err := CheckFile(t.Context(), name, Options{Workers: 1})
		if !Invalid(err) || !errors.Is(err, ErrPart) || !strings.Contains(err.Error(), text) {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for i, f := range files {
		file := partName(folder, f)
		for at := range f {
			g := slices.Clone(f)
			g[at] ^= 1 << (at % 8)
			put(t, file, g)
			check("a byte changed", filepath.Base(file)+": not the part that the list names: its SHA-256 is")
			put(t, file, seal(g))
			if !bytes.Equal(g, f) {
				check("a byte changed and sealed", "its SHA-256 is")
			}
		}
		put(t, file, f[:len(f)-1])
		check("truncated", fmt.Sprintf("it has %d bytes, %d are listed", len(f)-1, len(f)))
		put(t, file, append(slices.Clone(f), 0))
		check("longer", fmt.Sprintf("it has %d bytes, %d are listed", len(f)+1, len(f)))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		check("missing", filepath.Base(file)+": not the part that the list names: it is missing")
		r, err := CheckFile(t.Context(), name, Options{Absent: true})
		if err != nil || r.Complete() || r.Parts.Absent != 1 || r.Parts.Checked != int64(len(files)-1) ||
			!errors.Is(r.Missing(), ErrAbsent) || !strings.Contains(r.String(), "claimed") {
			t.Fatalf("absent: %+v, %v", r, err)
		}
		if err := os.Mkdir(file, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := CheckFile(t.Context(), name, Options{}); !Invalid(err) {
			t.Errorf("a folder: %v", err)
		}
		os.Remove(file)
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := CheckFile(t.Context(), name, Options{}); !Invalid(err) {
			t.Errorf("a pipe: %v", err)
		}
		os.Remove(file)
		put(t, file, files[(i+1)%len(files)])
		check("swapped", "")
		put(t, file, f)
	}
	if _, err := CheckFile(t.Context(), name, Options{}); err != nil {
		t.Error(err)
	}
}

// TestListFile damages the list: each byte, and each length.
func TestListFile(t *testing.T) {
	p := cut(t, three(t))
	name, files := p.save(t)
	f := p.list(files)
	for at := range f {
		g := slices.Clone(f)
		g[at] ^= 1 << (at % 8)
		put(t, name, g)
		if _, err := CheckFile(t.Context(), name, Options{}); !Invalid(err) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
		put(t, name, seal(g))
		_, err := CheckFile(t.Context(), name, Options{})
		// Another side to move of a claim gives another colour the same win.
		if !Invalid(err) && at != manifestFixed+16 && (at < hashedPrefix || at >= prefixBytes) {
			t.Fatalf("byte %d changed and sealed: %v", at, err)
		}
		put(t, name, f[:at])
		if _, err := CheckFile(t.Context(), name, Options{}); at >= 8 && !errors.Is(err, ErrTruncated) || err == nil {
			t.Fatalf("cut to %d bytes: %v", at, err)
		}
	}
	put(t, name, append(f, 0))
	if _, err := CheckFile(t.Context(), name, Options{}); !errors.Is(err, ErrTrailing) {
		t.Error(err)
	}
}

// TestFalseProofs writes proofs that are well formed, with right hashes, and do not hold.
func TestFalseProofs(t *testing.T) {
	good := cut(t, three(t))
	b := boardOf(4, 4)
	for _, c := range []struct {
		name string
		edit func(p *paperProof)
		want string
	}{
		{"nobody proves a won position", func(p *paperProof) { p.parts = p.parts[:3] },
			"it is cited as won, and no part is listed that proves it"},
		{"nobody proves a lost position", func(p *paperProof) { p.parts = slices.Delete(p.parts, 1, 2) },
			"it is cited as lost, and no part is listed that proves it"},
		{"the other claim is cited", func(p *paperProof) {
			for i := range p.parts[1].layers[0].cited {
				p.parts[1].layers[0].cited[i].move.from = claimLoss
			}
		}, "cited as lost"},
		{"nobody proves the claim", func(p *paperProof) { p.parts = p.parts[1:] }, "no part is listed for claim 0"},
		{"the other claim", func(p *paperProof) { p.claims[0].win = !p.claims[0].win },
			"no part is listed for claim 0"},
		{"a false root", func(p *paperProof) {
			p.claims[0].win = !p.claims[0].win
			p.parts[0].roots = slices.Clone(p.claims)
		}, "root 0"},
		{"another root", func(p *paperProof) {
			p.parts[3].roots = append(p.parts[3].roots, root{position: startPosition(b.width, b.height), win: true})
		}, "is claimed to win"},
		{"a missing citation", func(p *paperProof) {
			l := &p.parts[1].layers[0]
			l.cited = l.cited[1:]
		}, "which is neither an entry or citation of layer"},
		{"a circle of one", func(p *paperProof) {
			r := p.claims[0]
			p.parts[0].layers = []paperLayer{{arrows: r.arrows(),
				cited: []entry{{b.canonical(r.position), move{from: 1}}}}}
		}, "a part cites only positions with more arrows than its roots"},
		{"a circle of two", func(p *paperProof) {
			top := p.parts[0]
			p.parts[2].roots = append(p.parts[2].roots, root{position: top.layers[0].cited[0].position})
			p.parts[2].layers = append(p.parts[2].layers, top.layers[0])
		}, "a part cites only positions with more arrows than its roots"},
		{"fewer arrows", func(p *paperProof) {
			p.parts[2].layers = append(p.parts[2].layers,
				paperLayer{arrows: 0, cited: []entry{{startPosition(b.width, b.height), move{from: 1}}}})
		}, "a part cites only positions with more arrows than its roots"},
		{"another board", func(p *paperProof) {
			p.parts = append(p.parts, cut(t, late(t)).parts[2])
		}, "it is for 5x5"},
		{"another board with the same squares", func(p *paperProof) {
			p.parts[3].w, p.parts[3].h = 2, 8
		}, "it is for 2x8"},
		{"leaf rule 2 against the list", func(p *paperProof) { p.parts[0].flags = 0 },
			"leaf rules up to 2, the proof for 4x4 and 1"},
		{"a citation out of order", func(p *paperProof) {
			p.parts[1].perBlock = 1
			slices.Reverse(p.parts[1].layers[0].cited)
		}, "must increase strictly"},
		{"a citation twice", func(p *paperProof) {
			l := &p.parts[1].layers[0]
			l.cited = slices.Insert(l.cited, 0, l.cited[0])
		}, "must increase strictly"},
		{"a citation that is not canonical", func(p *paperProof) {
			l := &p.parts[1].layers[0]
			e := &l.cited[0]
			for s := range b.symmetries {
				if q := (position{b.imageOf(s, e.a), b.imageOf(s, e.b)}); q != e.position {
					e.position = q
				}
			}
			l.cited = sortEntries(l.cited)
		}, "is not canonical"},
		{"a citation without a claim", func(p *paperProof) { p.parts[1].layers[0].cited[0].move.from = 3 },
			"its claim is 3"},
	} {
		p := good.clone()
		c.edit(p)
		name, _ := p.save(t)
		_, err := CheckFile(t.Context(), name, Options{Workers: 2})
		if !Invalid(err) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRandomLies changes proofs at random, with right hashes and lists. What is accepted must be true.
func TestRandomLies(t *testing.T) {
	good := cut(t, three(t))
	b := boardOf(4, 4)
	r := rand.New(rand.NewPCG(3, 9))
	memo := map[position]bool{}
	accepted, refused := 0, 0
	for range 400 {
		p := good.clone()
		for range 1 + r.IntN(2) {
			part := p.parts[r.IntN(len(p.parts))]
			l := &part.layers[r.IntN(len(part.layers))]
			switch k := r.IntN(6); {
			case k == 0 && len(l.cited) > 0:
				l.cited[r.IntN(len(l.cited))].move.from ^= 3
			case k == 1 && len(l.cited) > 1:
				i := r.IntN(len(l.cited))
				l.cited = slices.Delete(l.cited, i, i+1)
			case k == 2 && len(l.entries) > 1:
				i := r.IntN(len(l.entries))
				l.entries = slices.Delete(l.entries, i, i+1)
			case k == 3 && len(l.entries) > 0:
				e := &l.entries[r.IntN(len(l.entries))]
				moves := b.allMoves(e.position)
				e.move = moves[r.IntN(len(moves))]
			case k == 4:
				part.roots[r.IntN(len(part.roots))].win = r.IntN(2) == 0
			case k == 5:
				p.claims[0] = part.roots[r.IntN(len(part.roots))]
			}
		}
		name, _ := p.save(t)
		if _, err := CheckFile(t.Context(), name, Options{Workers: 1}); err != nil {
			if !Invalid(err) {
				t.Fatal(err)
			}
			refused++
			continue
		}
		accepted++
		for _, c := range p.claims {
			if exhaustive(b, c.position, memo) != c.win {
				t.Fatalf("accepted: %s wins %v", b.positionText(c.position, c.black), c.win)
			}
		}
	}
	if accepted < 20 || refused < 100 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// TestManyRoots looks roots up in a list of many pages.
func TestManyRoots(t *testing.T) {
	p := cut(t, late(t))
	for _, part := range p.parts[1:] {
		for _, l := range part.layers { // each entry is a root as well
			for _, e := range l.entries {
				part.roots = append(part.roots, root{position: e.position, win: true})
			}
		}
	}
	q := p.parts[1]
	for range 12 { // the same again, in parts with other bytes
		q = q.clone()
		q.roots = append(q.roots, q.roots[0])
		p.parts = append(p.parts, q)
	}
	name, _ := p.save(t)
	r, err := CheckFile(t.Context(), name, Options{})
	if err != nil || r.Parts.Total != 16 {
		t.Fatalf("%+v, %v", r, err)
	}
	f, size, err := openFile(t.Context(), name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := openManifest(t.Context(), f, size)
	if err != nil || m.proved.n < 2*pageRecords {
		t.Fatalf("%d roots, %v", m.proved.n, err)
	}
	c := &cursor{pages: m.proved}
	for i := range m.proved.n {
		h, err := (&cursor{pages: m.proved}).record(i)
		if err != nil {
			t.Fatal(err)
		}
		want := m.parseProved(h)
		if got, ok, err := m.find(c, want); err != nil || !ok || got != want {
			t.Fatalf("root %d: %+v, %v, %v", i, got, ok, err)
		}
		if ok, err := m.lists(c, want.position, !want.win); ok || err != nil {
			t.Fatalf("root %d with the other claim: %v", i, err)
		}
	}
	if ok, err := m.lists(c, position{1 << 62, 0}, true); ok || err != nil {
		t.Error("a position after the last one", err)
	}
}

func TestStandardInput(t *testing.T) {
	old := os.Stdin
	defer func() { os.Stdin = old }()
	f := tiny(t).write()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdin = in
	go func(to *os.File) { to.Write(f); to.Close() }(out)
	if r, err := CheckFile(t.Context(), "-", Options{}); err != nil || r.Bytes != int64(len(f)) {
		t.Errorf("%+v, %v", r, err)
	}
	in.Close()
	// What is no certificate may have no end.
	if in, out, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	os.Stdin = in
	if _, err := out.Write([]byte("nonsense, and more will come")); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckFile(t.Context(), "-", Options{}); !errors.Is(err, ErrNotCertificate) {
		t.Error(err)
	}
	// Nor does an interrupted check wait for more.
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := out.Write(f[:20]); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckFile(ctx, "-", Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in.Close()
}

// TestManifestOnStandardInput: it has no folder, also where the working folder has one of that name, or the parts.
func TestManifestOnStandardInput(t *testing.T) {
	old := os.Stdin
	defer func() { os.Stdin = old }()
	name, _ := cut(t, three(t)).save(t)
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	os.Stdin = in
	t.Chdir(filepath.Dir(name))
	for _, folder := range []string{"-.parts", PartsFolder(name)} {
		if folder == "-.parts" {
			if err := os.CopyFS(folder, os.DirFS(PartsFolder(name))); err != nil {
				t.Fatal(err)
			}
		} else {
			t.Chdir(folder)
		}
		r, err := CheckFile(t.Context(), "-", Options{Absent: true})
		if err != nil || r.Parts.Absent != 4 || r.Parts.Folder != "" || r.Complete() {
			t.Errorf("%s: %+v, %v", folder, r, err)
		}
	}
}

// FuzzManifest reads lists of parts. One that is read has the parts and roots that it says, in order.
func FuzzManifest(f *testing.F) {
	p := cut(f, three(f))
	_, files := p.save(f)
	list := p.list(files)
	f.Add(list)
	f.Add(list[:len(list)-1])
	f.Add([]byte(manifestMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = seal(slices.Clone(data))
		m, err := openManifest(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			if m != nil || !Invalid(err) {
				t.Fatalf("%v, %v", m, err)
			}
			return
		}
		c := &cursor{pages: m.proved}
		for i := range m.proved.n {
			h, err := c.record(i)
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := m.lists(&cursor{pages: m.proved}, m.parseProved(h).position, h[20] == claimWin); !ok ||
				err != nil {
				t.Fatalf("root %d is not found: %v", i, err)
			}
		}
	})
}
