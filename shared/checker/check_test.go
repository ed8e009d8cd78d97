package checker

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestMain holds that no goroutine outlives the tests.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // the fuzzer has goroutines of its own
	for wait := 0; code == 0 && !fuzzing && runtime.NumGoroutine() > before; wait++ {
		if wait == 200 {
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			fmt.Fprintln(os.Stderr, "goroutines were left running")
			code = 1
		}
		time.Sleep(10 * time.Millisecond)
	}
	os.Exit(code)
}

// TestImports holds that neither the package nor its tests import anything of the module.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			allowed := !strings.Contains(strings.Split(path, "/")[0], ".") && !strings.HasPrefix(path, "amazonsfarm") ||
				path == "github.com/klauspost/compress/zstd"
			if !allowed {
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// late is a small certificate: 5x5 with six arrows, 290 entries in three layers; in blocks of 100.
func late(t testing.TB) *paper {
	t.Helper()
	c := newProver(5, 5, 2).prove(root{position: fromText(5, 5, ".B.B./Bx.xB/.x.x./W.x.W/.W.W.")})
	c.perBlock = 100
	if len(c.layers) < 3 || c.entries() < 100 {
		t.Fatalf("the example has %d layers and %d entries", len(c.layers), c.entries())
	}
	return c
}

// tiny is a smaller one, of some 20 entries, with roots of both sides and both claims.
func tiny(t testing.TB) *paper {
	t.Helper()
	p := newProver(4, 4, 2)
	start := p.canonical(fromText(4, 4, ".BWx/.xBx/W..x/...x"))
	best := start.play(p.solve(start).move)
	c := p.prove(root{position: start}, root{position: best, black: true}, root{position: p.play(start), black: true})
	if !c.roots[0].win || c.roots[1].win {
		t.Fatalf("the example proves %+v", c.roots)
	}
	c.perBlock = 7
	if n := c.entries(); n < 10 || n > 200 {
		t.Fatalf("the example has %d entries", n)
	}
	return c
}

// play makes the first legal move.
func (p *prover) play(q position) position { return q.play(p.allMoves(q)[0]) }

func TestWholeGame4x4(t *testing.T) {
	for _, rules := range []int{1, 2, 3, 4} {
		c := newProver(4, 4, rules).prove(root{position: startPosition(4, 4)})
		c.perBlock = 300
		var first *Report
		for _, workers := range []int{1, 2, 7} {
			r := mustHold(t, c.write(), Options{Workers: workers})
			if first == nil {
				first = r
			}
			r.Workers, r.Seconds = first.Workers, first.Seconds
			if !reflect.DeepEqual(r, first) {
				t.Errorf("%d workers report %+v, one reports %+v", workers, r, first)
			}
		}
		// The second player wins 4x4: Song and Müller 2014, table I.
		want := []RootReport{{Position: ".BB./B..B/W..W/.WW. w", SideToMove: "white", Claim: "loss", Winner: "black",
			Start: true}}
		if !slices.Equal(first.Roots, want) || first.Entries != int64(c.entries()) || first.RulesOnly != (rules == 1) ||
			first.Rules != rules {
			t.Errorf("report %+v", first)
		}
		decided := first.LeafRule2 + first.LeafRule3 // of replies, and of positions before replies
		if first.Lookups > first.Replies || first.Lookups < first.Replies-decided ||
			(first.LeafRule1 == 0) == (rules < 4) || (first.LeafRule2 == 0) == (rules > 1) ||
			(first.LeafRule3 == 0) == (rules > 2) || (first.LeafRule4 == 0) == (rules > 3) {
			t.Errorf("report %+v", first)
		}
		if text := first.String(); !strings.Contains(text, ".BB./B..B/W..W/.WW. w: black wins") {
			t.Errorf("report prints as\n%s", text)
		}
		t.Logf("\n%s", first)
	}
}

func TestSmallCertificates(t *testing.T) {
	for _, c := range []*paper{late(t), tiny(t)} {
		for _, perBlock := range []int{1, 7, 256, 1000} {
			c.perBlock = perBlock
			r := mustHold(t, c.write(), Options{Workers: 2})
			if int(r.Entries) != c.entries() || len(r.Layers) != len(c.layers) || len(r.Roots) != len(c.roots) {
				t.Errorf("report %+v", r)
			}
		}
	}
	// A root that a leaf rule decides needs no entry and no layer.
	c := &paper{w: 3, h: 1, flags: 1, roots: []root{{position: fromText(3, 1, "W.B"), win: true}}}
	mustHold(t, c.write(), Options{})
	c.flags = 0
	f := mustFault(t, c.write(), Options{}, FaultRoot)
	if f.Error() != "root 0, W.B w: white to move is claimed to win, but the position is neither an entry nor won "+
		"by a leaf rule" {
		t.Errorf("got %q", f)
	}
	c = &paper{w: 2, h: 1, roots: []root{{position: fromText(2, 1, "WB"), black: true}}}
	if r := mustHold(t, c.write(), Options{}); r.Roots[0].Winner != "white" {
		t.Errorf("report %+v", r)
	}
	// The empty board has no word that could be found in a free slot of a table.
	c = &paper{w: 2, h: 2, roots: []root{{win: true}}}
	mustFault(t, c.write(), Options{}, FaultRoot)
}

// TestEightByEight is the largest board, whose words use all 64 bits.
func TestEightByEight(t *testing.T) {
	p := newProver(8, 8, 3)
	q := fromText(8, 8, "W...B..B/...x.xxW/xxxxxxxx/xxxxxxxx/xxxxxxxx/xxxxxxxx/xxxxxxxx/xxxxxxxx")
	c := p.prove(root{position: q}, root{position: position{q.b, q.a}, black: true})
	if n := c.entries(); n == 0 {
		t.Errorf("the example %s has no entries", p.positionText(q, false))
	}
	mustHold(t, c.write(), Options{})
}

func TestEveryByteChanged(t *testing.T) {
	f := tiny(t).write()
	mustHold(t, f, Options{})
	for i := range f {
		g := slices.Clone(f)
		g[i] ^= byte(1 << (i % 8))
		if _, err := checkBytes(g, Options{Workers: 1}); err == nil {
			t.Errorf("accepted with byte %d changed", i)
		}
	}
	for n := range f {
		if _, err := checkBytes(f[:n], Options{Workers: 1}); !errors.Is(err, ErrTruncated) &&
			(n != 0 || !errors.Is(err, ErrNotCertificate)) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestFileErrors(t *testing.T) {
	good := tiny(t)
	f := good.write()
	n := len(f)
	set32 := func(at int, v uint32) func([]byte) []byte {
		return func(g []byte) []byte { binary.LittleEndian.PutUint32(g[at:], v); return seal(g) }
	}
	setByte := func(at int, v byte) func([]byte) []byte {
		return func(g []byte) []byte { g[at] = v; return seal(g) }
	}
	first := prefixBytes + int(binary.LittleEndian.Uint32(f[12:])) // the first block
	layers := prefixBytes + headerFixed + rootBytes*len(good.roots)
	for _, c := range []struct {
		name string
		edit func(g []byte) []byte
		want error
		text string
	}{
		{"empty", func(g []byte) []byte { return nil }, ErrNotCertificate,
			`a certificate begins with the 8 bytes "AMZCERT\n"`},
		{"other file", func(g []byte) []byte { return []byte("PK\x03\x04 and more") }, ErrNotCertificate,
			"begins with"},
		{"version 3", set32(8, 3), ErrUnsupportedVersion, "format version 3, this checker reads versions 1 and 2"},
		{"longer", func(g []byte) []byte { return append(g, 0) }, ErrTrailing,
			fmt.Sprintf("ends at byte %d, the file has %d bytes", n, n+1)},
		{"shorter", func(g []byte) []byte { return g[:n-1] }, ErrTruncated, fmt.Sprintf("the file has %d bytes", n-1)},
		{"hash", func(g []byte) []byte { g[20] ^= 1; return g }, ErrChecksum, "damaged or changed"},
		{"contents", func(g []byte) []byte { g[n-1] ^= 1; return g }, ErrChecksum, "damaged or changed"},
		{"header damaged", func(g []byte) []byte { g[prefixBytes] = 9; return g }, ErrChecksum, "damaged or changed"},
		{"header length", set32(12, 19), ErrHeader, "said to have 19 bytes"},
		{"header huge", set32(12, 1<<31), ErrHeader, "said to have 2147483648 bytes"},
		{"header beyond the file", set32(12, 1<<20), ErrTruncated, "the header ends at byte"},
		{"width 0", setByte(prefixBytes, 0), ErrHeader, "0x4"},
		{"height 9", setByte(prefixBytes+1, 9), ErrHeader, "4x9"},
		{"flags", setByte(prefixBytes+2, 2), ErrHeader, "0, 1, 3 or 7"},
		{"zero byte", setByte(prefixBytes+3, 1), ErrHeader, "0, 1, 3 or 7"},
		{"no roots", set32(prefixBytes+4, 0), ErrHeader, "0 roots"},
		{"many roots", set32(prefixBytes+4, 1<<32-1), ErrHeader, "4294967295 roots"},
		{"many layers", set32(prefixBytes+8, 1<<32-1), ErrHeader, "4294967295 layers"},
		{"total", set32(prefixBytes+12, 1), ErrHeader, "it states 1"},
		{"root bits", setByte(prefixBytes+headerFixed+2, 1), ErrHeader, "root 0 has bits beyond the 16 squares"},
		{"root side", setByte(prefixBytes+headerFixed+16, 2), ErrHeader, "side to move 2"},
		{"root claim", setByte(prefixBytes+headerFixed+17, 0), ErrHeader, "claim 0"},
		{"root rest", setByte(prefixBytes+headerFixed+23, 1), ErrHeader, "six bytes of root 0"},
		{"layer order", set32(layers, 0), ErrHeader, "must decrease strictly"},
		{"layer depth", set32(layers, 17), ErrHeader, "17 arrows"},
		{"no blocks", set32(layers+4, 0), ErrHeader, "in 0 blocks"},
		{"entries of a layer", set32(layers+12, 1<<31), ErrHeader, "a block has 1 to 65536"},
		{"no entries in a block", set32(first, 0), ErrBlock, "it has 0 entries"},
		{"too many entries in a block", set32(first, 65537), ErrBlock, "it has 65537 entries"},
		{"raw too long", set32(first+4, 5<<20), ErrBlock, "raw data"},
		{"raw too short", set32(first+4, 3), ErrBlock, "raw data"},
		{"raw wrong", func(g []byte) []byte { g[first+4]++; return seal(g) }, ErrBlock, "decodes to"},
		{"raw less", func(g []byte) []byte { g[first+4]--; return seal(g) }, ErrBlock, ""},
		{"nothing stored", set32(first+8, 0), ErrBlock, "0 stored bytes"},
		{"much stored", set32(first+8, 1<<31), ErrBlock, "2147483648 stored bytes"},
		{"no zstd", setByte(first+blockHeader, 0), ErrBlock, "zstd frame"},
	} {
		_, err := checkBytes(c.edit(slices.Clone(f)), Options{Workers: 1})
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v, want %q with %q", c.name, err, c.want, c.text)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", c.name, err)
		}
	}
	if _, err := Check(context.Background(), bytes.NewReader(f), -1, Options{}); err == nil {
		t.Error("accepted with size -1")
	}
	if _, err := Check(context.Background(), bytes.NewReader(f), int64(n+5), Options{}); !errors.Is(err, ErrTrailing) {
		t.Errorf("a reader with less than its size: %v", err)
	}
	var two bytes.Buffer // a block of two frames
	two.Write(encoder.EncodeAll([]byte("abc"), nil))
	if err := oneFrame(two.Bytes()); err != nil {
		t.Error(err)
	}
	two.Write(encoder.EncodeAll(nil, nil))
	two.Write(encoder.EncodeAll([]byte("def"), nil))
	if err := oneFrame(two.Bytes()); !errors.Is(err, ErrBlock) {
		t.Errorf("two frames: %v", err)
	}
}

func TestMemoryLimit(t *testing.T) {
	c := late(t)
	f := c.write()
	_, err := checkBytes(f, Options{MaxMemory: 100})
	if !errors.Is(err, ErrMemory) {
		t.Fatal(err)
	}
	var need, limit int64
	text := err.Error()[len(ErrMemory.Error()):]
	if _, err := fmt.Sscanf(text, ": its tables take %d bytes, the limit is %d", &need, &limit); err != nil ||
		limit != 100 {
		t.Fatalf("%q: %v", text, err)
	}
	mustHold(t, f, Options{MaxMemory: need})
	if _, err := checkBytes(f, Options{MaxMemory: need - 1}); !errors.Is(err, ErrMemory) {
		t.Error(err)
	}
}

func TestEachEntryRemoved(t *testing.T) {
	for _, good := range []*paper{late(t), tiny(t)} {
		for i, l := range good.layers {
			for j := range l.entries {
				c := good.clone()
				c.layers[i].entries = slices.Delete(c.layers[i].entries, j, j+1)
				if len(c.layers[i].entries) == 0 {
					c.layers = slices.Delete(c.layers, i, i+1)
				}
				_, err := checkBytes(c.write(), Options{Workers: 1})
				if fault := (*Fault)(nil); !errors.As(err, &fault) || fault.Kind != FaultReply &&
					fault.Kind != FaultRoot {
					t.Fatalf("layer %d without entry %d: %v", l.arrows, j, err)
				}
			}
		}
	}
}

func TestLosingMoves(t *testing.T) {
	good := tiny(t)
	b := boardOf(good.w, good.h)
	memo := map[position]bool{}
	tried := 0
	for i, l := range good.layers {
		for j, e := range l.entries {
			for _, m := range b.allMoves(e.position) {
				if !exhaustive(b, e.play(m), memo) {
					continue
				}
				tried++
				c := good.clone()
				c.layers[i].entries[j].move = m
				f := mustFault(t, c.write(), Options{Workers: 2}, FaultReply)
				if f.Layer != l.arrows || f.Entry != int64(j) || f.Move != b.moveText(m) {
					t.Fatalf("fault %+v, want entry %d of layer %d with %s", f, j, l.arrows, b.moveText(m))
				}
				if !strings.Contains(f.Reason, "is neither an entry of layer ") {
					t.Errorf("fault %q", f)
				}
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d losing moves", tried)
	}
}

func TestWrongEntries(t *testing.T) {
	good := late(t)
	b := boardOf(good.w, good.h)
	const at = 150
	for _, c := range []struct {
		name string
		edit func(l *paperLayer)
		kind FaultKind
		at   int64
	}{
		{"swapped", func(l *paperLayer) { l.entries[at], l.entries[at+1] = l.entries[at+1], l.entries[at] }, FaultOrder,
			at + 1},
		{"swapped across blocks", func(l *paperLayer) { l.entries[99], l.entries[100] = l.entries[100], l.entries[99] },
			FaultOrder, 100},
		{"twice", func(l *paperLayer) { l.entries = slices.Insert(l.entries, at, l.entries[at]) }, FaultOrder, at + 1},
		{"twice across blocks", func(l *paperLayer) { l.entries = slices.Insert(l.entries, 100, l.entries[99]) },
			FaultOrder, 100},
		{"mirrored", func(l *paperLayer) {
			e := &l.entries[at]
			for s := range b.symmetries {
				if q := (position{b.imageOf(s, e.a), b.imageOf(s, e.b)}); q != e.position {
					e.position = q
					break
				}
			}
			l.sort()
		}, FaultCanonical, -1},
		{"one more arrow", func(l *paperLayer) {
			e := &l.entries[at]
			free := b.full &^ e.occupied()
			e.a, e.b = e.a|free&-free, e.b|free&-free
			l.sort()
		}, FaultLayer, -1},
		{"a bit outside", func(l *paperLayer) { l.entries[at].b |= 1 << 25 }, FaultPosition, at},
		{"bits outside in A", func(l *paperLayer) { l.entries[len(l.entries)-1].a |= 1 << 63 }, FaultPosition, -1},
		{"a move from nowhere", func(l *paperLayer) {
			l.entries[at].move.from =
				uint8(bitOf(l.entries[at].opponent()))
		}, FaultMove, at},
		{"a move to the own square", func(l *paperLayer) { l.entries[at].move.to = l.entries[at].move.from }, FaultMove,
			at},
		{"an arrow on the queen", func(l *paperLayer) { l.entries[at].move.arrow = l.entries[at].move.to }, FaultMove,
			at},
		{"a square outside", func(l *paperLayer) { l.entries[at].move.arrow = 25 }, FaultMove, at},
		{"square 255", func(l *paperLayer) { l.entries[at].move.from = 255 }, FaultMove, at},
	} {
		bad := good.clone()
		big := slices.IndexFunc(bad.layers, func(l paperLayer) bool { return len(l.entries) > at+2 })
		if big < 0 {
			t.Fatal("no layer is large enough")
		}
		c.edit(&bad.layers[big])
		for _, workers := range []int{1, 4} {
			f := mustFault(t, bad.write(), Options{Workers: workers}, c.kind)
			if c.at >= 0 && f.Entry != c.at || f.Layer != bad.layers[big].arrows {
				t.Errorf("%s: %v, want entry %d", c.name, f, c.at)
			}
			if workers == 1 {
				t.Logf("%s: %v", c.name, f)
			}
		}
	}
}

func bitOf(x uint64) int {
	for i := range 64 {
		if x>>i&1 != 0 {
			return i
		}
	}
	return 64
}

func (l *paperLayer) sort() {
	slices.SortFunc(l.entries, func(x, y entry) int {
		if x.less(y.position) {
			return -1
		}
		return 1
	})
}

func TestWrongRoots(t *testing.T) {
	good := late(t)
	for _, c := range []struct {
		name string
		edit func(r *root)
	}{
		{"claim", func(r *root) { r.win = !r.win }},
		{"colours", func(r *root) { r.position = position{r.b, r.a}; r.win = !r.win }},
		{"another position", func(r *root) { r.position = startPosition(5, 5) }},
	} {
		bad := good.clone()
		c.edit(&bad.roots[0])
		mustFault(t, bad.write(), Options{}, FaultRoot)
	}
	// A second root is checked too, the root may be any image, and the side to move only names the
	// colours.
	both := good.clone()
	b := boardOf(5, 5)
	for s := range b.symmetries {
		r := good.roots[0]
		r.position = position{b.imageOf(s, r.a), b.imageOf(s, r.b)}
		r.black = s&1 != 0
		both.roots = append(both.roots, r)
	}
	if r := mustHold(t, both.write(), Options{}); r.Roots[2].Winner == r.Roots[1].Winner {
		t.Errorf("%+v", r.Roots)
	}
	both.roots[5].win = !both.roots[5].win
	if f := mustFault(t, both.write(), Options{}, FaultRoot); f.Entry != 5 {
		t.Error(f)
	}
}

func TestRulesOnly(t *testing.T) {
	c := late(t)
	f := mustFault(t, c.write(), Options{RulesOnly: true}, FaultReply)
	if f.Position == "" || !strings.Contains(f.Error(), f.Position) ||
		!strings.Contains(f.Error(), "only leaf rules up to 1 are in use; leaf rule 2") {
		t.Errorf("got %q", f)
	}
	t.Log(f)
	c.flags = 0 // the certificate itself says that it needs no rule 2
	mustFault(t, c.write(), Options{}, FaultReply)

	only := newProver(4, 4, 1).prove(c4())
	if r := mustHold(t, only.write(), Options{RulesOnly: true}); !r.RulesOnly || r.LeafRule2 != 0 {
		t.Errorf("%+v", r)
	}
	only.flags = 1
	if r := mustHold(t, only.write(), Options{}); r.RulesOnly {
		t.Errorf("%+v", r)
	}
}

func c4() root { return root{position: fromText(4, 4, ".BWx/.xBx/W..x/...x")} }

// TestMutations changes a certificate at random and makes its hash right again. Most changes must
// be refused. Where one is not, what the certificate claims must still be true.
func TestMutations(t *testing.T) {
	good := tiny(t).write()
	rng := rand.New(rand.NewPCG(13, 14))
	memo := map[position]bool{}
	accepted := 0
	for range 1500 {
		f := slices.Clone(good)
		for range 1 + rng.IntN(3) {
			switch rng.IntN(6) {
			case 0:
				f[rng.IntN(len(f))] = byte(rng.Uint32())
			case 1, 2:
				f[rng.IntN(len(f))] ^= 1 << rng.IntN(8)
			case 3:
				i := prefixBytes + rng.IntN(len(f)-prefixBytes)
				f = slices.Delete(f, i, i+1)
			case 4:
				f = slices.Insert(f, rng.IntN(len(f)), byte(rng.Uint32()))
			case 5:
				i := 8 + rng.IntN(120)
				f[i] += byte(rng.IntN(3)) - 1
			}
		}
		if holdsTruth(t, seal(f), memo) {
			accepted++
		}
	}
	// The same on the level of entries.
	paper := tiny(t)
	for range 1500 {
		c := paper.clone()
		l := &c.layers[rng.IntN(len(c.layers))]
		e := &l.entries[rng.IntN(len(l.entries))]
		switch rng.IntN(4) {
		case 0:
			e.move.to = uint8(rng.IntN(16))
		case 1:
			e.move.arrow = uint8(rng.IntN(16))
		case 2:
			e.a ^= 1 << rng.IntN(16)
		case 3:
			r := &c.roots[rng.IntN(len(c.roots))]
			r.a ^= 1 << rng.IntN(16)
		}
		if holdsTruth(t, c.write(), memo) {
			accepted++
		}
	}
	t.Logf("%d of 3000 accepted", accepted)
}

// holdsTruth checks a file; what it accepts must be true by exhaustive search.
func holdsTruth(t *testing.T, f []byte, memo map[position]bool) bool {
	t.Helper()
	c, err := open(bytes.NewReader(f), int64(len(f)))
	if _, refused := checkBytes(f, Options{Workers: 1}); refused != nil {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.roots {
		if c.width != 4 || c.height != 4 {
			memo = map[position]bool{}
		}
		if exhaustive(c.board, r.position, memo) != r.win {
			t.Fatalf("accepted a wrong claim: %s", c.positionText(r.position, r.black))
		}
	}
	return true
}

func TestProgressAndCancel(t *testing.T) {
	f := late(t).write()
	var seen []Progress
	r := mustHold(t, f, Options{Workers: 3, Progress: func(p Progress) { seen = append(seen, p) }})
	if last := seen[len(seen)-1]; last.Entries != r.Entries || last.TotalEntries != r.Entries ||
		last.Layer != r.Layers[len(r.Layers)-1].Arrows {
		t.Errorf("last progress %+v of %d entries", last, r.Entries)
	}
	whole := Progress{Entries: 50, TotalEntries: 200, Elapsed: 2 * time.Second}
	parts := Progress{Entries: 50, TotalEntries: 200, Parts: 1, TotalParts: 4, Elapsed: 2 * time.Second}
	if w, p := whole.String(), parts.String(); w != "50 of 200 positions, 25 a second" || p != "1 of 4 parts, "+w {
		t.Errorf("progress reads %q and %q", w, p)
	}
	if !slices.IsSortedFunc(seen, func(a, b Progress) int { return int(a.Entries - b.Entries) }) {
		t.Errorf("progress goes back: %+v", seen)
	}

	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := Check(ctx, bytes.NewReader(f), int64(len(f)), Options{Progress: func(Progress) { calls++; cancel() }})
	if !errors.Is(err, context.Canceled) || calls > 2 {
		t.Errorf("cancelled after the first block: %v after %d calls", err, calls)
	}
	if _, err := Check(ctx, bytes.NewReader(f), int64(len(f)), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// faulty reads from data, fails at the n-th read, and shows other contents from the m-th read on.
type faulty struct {
	mu       sync.Mutex
	data     []byte
	reads    int
	failAt   int
	changeAt int
	changed  []byte
}

var errDisk = errors.New("disk on fire")

func (f *faulty) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	if f.reads == f.failAt {
		return 0, errDisk
	}
	if f.changeAt > 0 && f.reads >= f.changeAt {
		return bytes.NewReader(f.changed).ReadAt(p, off)
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func TestReadErrors(t *testing.T) {
	data := tiny(t).write()
	for n := 1; ; n++ {
		if n > 1000 {
			t.Fatal("never succeeds")
		}
		f := &faulty{data: data, failAt: n}
		_, err := Check(context.Background(), f, int64(len(data)), Options{Workers: 1})
		if f.reads < n {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("read %d failed: %v", n, err)
		}
	}
	// A file that is replaced between the two readings: by another one, by one with a byte changed,
	// by less.
	other := tiny(t)
	other.roots[0], other.roots[2] = other.roots[2], other.roots[0]
	other.layers[0].entries[0].move = move{}
	other.layers[2].entries[0].move = move{}
	last := slices.Clone(data)
	last[len(data)-1] ^= 1
	for _, changed := range [][]byte{other.write(), last, data[:len(data)-3], nil, late(t).write()} {
		for n := 2; ; n++ {
			f := &faulty{data: data, changed: changed, changeAt: n}
			r, err := Check(context.Background(), f, int64(len(data)), Options{Workers: 1})
			if f.reads < n {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if err == nil {
				t.Fatalf("accepted a file replaced at read %d: %+v", n, r)
			}
		}
	}
}

func TestCheckFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "proof")
	if _, err := CheckFile(context.Background(), path, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	f := tiny(t).write()
	if err := os.WriteFile(path, f, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := CheckFile(context.Background(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(j), `"leaf_rule2":`) ||
		!strings.Contains(string(j), `"side_to_move":"white"`) {
		t.Errorf("%s %v", j, err)
	}
	if err := os.WriteFile(path, f[:len(f)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckFile(context.Background(), path, Options{}); !errors.Is(err, ErrTruncated) {
		t.Error(err)
	}
}

// rawFile is a certificate for 4x4 with one layer of 8 arrows and one block of the raw data given.
func rawFile(raw []byte, entries uint32) []byte {
	c := &paper{w: 4, h: 4, flags: 1, perBlock: 1,
		roots:  []root{{position: fromText(4, 4, "xxxx/xxxx/W..B/...."), win: true}},
		layers: []paperLayer{{arrows: 8, entries: make([]entry, 1)}}}
	f := c.write()
	f = f[:len(f)-len(writeBlock(2, make([]entry, 1)))]
	binary.LittleEndian.PutUint64(f[prefixBytes+12:], uint64(entries))
	binary.LittleEndian.PutUint64(f[len(f)-8:], uint64(entries))
	return seal(append(f, frame(raw, entries)...))
}

// FuzzCheck feeds arbitrary bytes: as they are, with the hash made right so that the rest of the
// code sees them, or as the raw data of a block.
func FuzzCheck(f *testing.F) {
	for _, c := range []*paper{tiny(f), late(f), {w: 3, h: 1, flags: 1,
		roots: []root{{position: fromText(3, 1, "W.B"), win: true}}}} {
		f.Add(c.write(), uint16(0))
		f.Add(c.write(), uint16(1))
	}
	for _, l := range tiny(f).layers {
		f.Add(rawColumns(2, l.entries, moveBytes), uint16(1+len(l.entries)))
	}
	// That it ends is for the fuzzer to say, which gives an input ten seconds.
	f.Fuzz(func(t *testing.T, data []byte, mode uint16) {
		switch mode {
		case 0:
		case 1:
			data = seal(slices.Clone(data))
		default:
			data = rawFile(data, uint32(mode)-1)
		}
		before := allocated()
		r, err := Check(context.Background(), bytes.NewReader(data), int64(len(data)),
			Options{Workers: 2, MaxMemory: 16 << 20})
		if used := allocated() - before; used > 128<<20 {
			t.Errorf("%d bytes were allocated", used)
		}
		if (r == nil) == (err == nil) {
			t.Fatalf("%v, %v", r, err)
		}
		if err != nil {
			return
		}
		if r.Bytes != int64(len(data)) {
			t.Fatalf("%+v", r)
		}
		c, err := open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range c.roots {
			if c.squares-bits.OnesCount64(claim.occupied()) <= 7 &&
				exhaustive(c.board, claim.position, map[position]bool{}) != claim.win {
				t.Fatalf("accepted a wrong claim: %s", c.positionText(claim.position, claim.black))
			}
		}
	})
}

// allocated is the number of bytes that were ever taken from the heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestRawData holds the decoding of a block whose frame is right but whose contents are not.
func TestRawData(t *testing.T) {
	l := tiny(t).layers[0]
	good := rawColumns(2, l.entries, moveBytes)
	if _, err := checkBytes(rawFile(good, uint32(len(l.entries))), Options{}); errors.Is(err, ErrBlock) {
		t.Fatal(err)
	}
	overlong := bytes.Repeat([]byte{0xff}, 10)
	for name, c := range map[string][]byte{
		"a number beyond 64 bits": append(overlong, make([]byte, 5)...),
		"a number without end":    append([]byte{0x80, 0x80, 0x80}, make([]byte, 5)...),
		"bytes between columns":   append([]byte{0x05, 0x00}, make([]byte, 5)...),
	} {
		if _, err := checkBytes(rawFile(c, 1), Options{}); !errors.Is(err, ErrBlock) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Two numbers whose sum is beyond 64 bits.
	sum := binary.AppendUvarint(binary.AppendUvarint(nil, 1<<63), 1<<63)
	if _, err := checkBytes(rawFile(append(sum, make([]byte, 10)...), 2), Options{}); err == nil {
		t.Error("accepted a sum beyond 64 bits")
	} else {
		t.Log(err)
	}
}
