package checker

// A tiny writer of certificates and a tiny prover, for the tests alone.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression))

// paper is a certificate before it is written. write puts it down as it is, right or wrong.
type paper struct {
	w, h     int
	flags    byte
	roots    []root
	layers   []paperLayer
	perBlock int
}

type paperLayer struct {
	arrows  int
	entries []entry
	cited   []entry // with the claim in move.from
}

func (p *paper) clone() *paper {
	q := *p
	q.roots = slices.Clone(p.roots)
	q.layers = nil
	for _, l := range p.layers {
		q.layers = append(q.layers, paperLayer{l.arrows, slices.Clone(l.entries), slices.Clone(l.cited)})
	}
	return &q
}

func (p *paper) entries() (n int) {
	for _, l := range p.layers {
		n += len(l.entries)
	}
	return n
}

func (p *paper) citations() (n int) {
	for _, l := range p.layers {
		n += len(l.cited)
	}
	return n
}

// write puts a paper down, in format 2 if it cites anything.
func (p *paper) write() []byte {
	le := binary.LittleEndian
	citing := p.citations() > 0
	h := []byte{byte(p.w), byte(p.h), p.flags, 0}
	h = le.AppendUint32(h, uint32(len(p.roots)))
	h = le.AppendUint32(h, uint32(len(p.layers)))
	h = le.AppendUint64(h, uint64(p.entries()))
	if citing {
		h = le.AppendUint64(h, uint64(p.citations()))
	}
	h = appendRoots(h, p.roots)
	var body []byte
	for _, l := range p.layers {
		blocks := slices.Collect(slices.Chunk(l.entries, p.perBlock))
		h = le.AppendUint32(h, uint32(l.arrows))
		h = le.AppendUint32(h, uint32(len(blocks)))
		h = le.AppendUint64(h, uint64(len(l.entries)))
		if citing {
			cited := slices.Collect(slices.Chunk(l.cited, p.perBlock))
			h = le.AppendUint64(le.AppendUint32(h, uint32(len(cited))), 0)[:len(h)+8]
			h = le.AppendUint64(h, uint64(len(l.cited)))
			for _, b := range cited {
				body = append(body, frame(rawColumns((p.w*p.h+7)/8, b, claimBytes), uint32(len(b)))...)
			}
		}
		for _, b := range blocks {
			body = append(body, writeBlock((p.w*p.h+7)/8, b)...)
		}
	}
	f := []byte(magic)
	version := uint32(1)
	if citing {
		version = Format
	}
	f = le.AppendUint32(f, version)
	f = le.AppendUint32(f, uint32(len(h)))
	f = append(f, make([]byte, 32)...)
	f = append(append(f, h...), body...)
	return seal(f)
}

// appendRoots appends a list of roots.
func appendRoots(h []byte, roots []root) []byte {
	for _, r := range roots {
		side, claim := byte(0), byte(claimLoss)
		if r.black {
			side = 1
		}
		if r.win {
			claim = claimWin
		}
		h = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(h, r.a), r.b)
		h = append(h, side, claim, 0, 0, 0, 0, 0, 0)
	}
	return h
}

// rawColumns is the raw data of a block; the last column has so many bytes an entry.
func rawColumns(width int, entries []entry, tail int) (raw []byte) {
	var last uint64
	for _, e := range entries {
		raw = binary.AppendUvarint(raw, e.a-last)
		last = e.a
	}
	for _, e := range entries {
		raw = append(raw, binary.LittleEndian.AppendUint64(nil, e.b)[:width]...)
	}
	for _, e := range entries {
		raw = append(raw, []byte{e.move.from, e.move.to, e.move.arrow}[:tail]...)
	}
	return raw
}

func writeBlock(width int, entries []entry) []byte {
	return frame(rawColumns(width, entries, moveBytes), uint32(len(entries)))
}

// frame is a block with the raw data given.
func frame(raw []byte, entries uint32) []byte {
	le := binary.LittleEndian
	stored := encoder.EncodeAll(raw, nil)
	b := le.AppendUint32(nil, entries)
	b = le.AppendUint32(b, uint32(len(raw)))
	b = le.AppendUint32(b, uint32(len(stored)))
	return append(b, stored...)
}

// seal puts the right hash into a file.
func seal(f []byte) []byte {
	if len(f) >= prefixBytes {
		sum := sha256.New()
		sum.Write(f[:hashedPrefix])
		sum.Write(f[prefixBytes:])
		copy(f[hashedPrefix:], sum.Sum(nil))
	}
	return f
}

// prover solves positions by depth-first search with a memory and the leaf rules, or leaf rule 1 alone.
type prover struct {
	*board
	rules int // leaf rules that the certificate may use
	known map[position]answer
	nodes int
}

type answer struct {
	verdict Verdict
	leaf    bool
	move    move // a winning one, where the verdict is Won and it is no leaf
}

func newProver(w, h, rules int) *prover {
	return &prover{board: boardOf(w, h), rules: rules, known: map[position]answer{}}
}

// solve decides a canonical position.
func (p *prover) solve(q position) answer {
	if a, ok := p.known[q]; ok {
		return a
	}
	p.nodes++
	if v := p.verdict(q, p.rules); v != Open {
		a := answer{verdict: v, leaf: true}
		p.known[q] = a
		return a
	}
	type child struct {
		move  move
		after position
		score int
	}
	var children []child
	a := answer{verdict: Lost}
	for _, m := range p.allMoves(q) {
		c := child{move: m, after: p.canonical(q.play(m))}
		if old, ok := p.known[c.after]; ok {
			if old.verdict == Lost {
				a = answer{verdict: Won, move: m}
				break
			}
			continue
		}
		// The side that moved wants much room for itself and little for the other.
		for own := c.after.own(); own != 0; own &= own - 1 {
			c.score += bits.OnesCount64(p.queenLines(bits.TrailingZeros64(own), c.after.occupied()))
		}
		for theirs := c.after.opponent(); theirs != 0; theirs &= theirs - 1 {
			c.score -= bits.OnesCount64(p.queenLines(bits.TrailingZeros64(theirs), c.after.occupied()))
		}
		children = append(children, c)
	}
	if a.verdict != Won {
		slices.SortStableFunc(children, func(x, y child) int { return x.score - y.score })
		for _, c := range children {
			if p.solve(c.after).verdict == Lost {
				a = answer{verdict: Won, move: c.move}
				break
			}
		}
	}
	p.known[q] = a
	return a
}

// prove solves the roots and returns the certificate that has exactly the entries that are needed.
func (p *prover) prove(roots ...root) *paper {
	c := &paper{w: p.width, h: p.height, roots: slices.Clone(roots), perBlock: maxBlockEntries}
	c.flags = [...]byte{1: 0, 2: 1, 3: 3, 4: 7}[p.rules]
	layers := make([]map[position]move, p.squares+2)
	var won, lost func(q position)
	won = func(q position) {
		a := p.solve(q)
		if a.leaf {
			return
		}
		l := &layers[q.arrows()]
		if _, ok := (*l)[q]; ok {
			return
		}
		if *l == nil {
			*l = map[position]move{}
		}
		(*l)[q] = a.move
		lost(p.canonical(q.play(a.move)))
	}
	lost = func(q position) {
		if p.solve(q).leaf {
			return
		}
		for _, m := range p.allMoves(q) {
			won(p.canonical(q.play(m)))
		}
	}
	for i, r := range roots {
		q := p.canonical(r.position)
		if c.roots[i].win = p.solve(q).verdict == Won; c.roots[i].win {
			won(q)
		} else {
			lost(q)
		}
	}
	for arrows := p.squares; arrows >= 0; arrows-- {
		l := paperLayer{arrows: arrows}
		for q, m := range layers[arrows] {
			l.entries = append(l.entries, entry{q, m})
		}
		if len(l.entries) == 0 {
			continue
		}
		slices.SortFunc(l.entries, func(x, y entry) int {
			if x.less(y.position) {
				return -1
			}
			return 1
		})
		c.layers = append(c.layers, l)
	}
	return c
}

func checkBytes(f []byte, o Options) (*Report, error) {
	if o.MaxMemory == 0 {
		o.MaxMemory = 64 << 20
	}
	return Check(context.Background(), bytes.NewReader(f), int64(len(f)), o)
}

func mustHold(t testing.TB, f []byte, o Options) *Report {
	t.Helper()
	r, err := checkBytes(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustFault wants the certificate refused for a position.
func mustFault(t testing.TB, f []byte, o Options, kind FaultKind) *Fault {
	t.Helper()
	_, err := checkBytes(f, o)
	var fault *Fault
	if !errors.As(err, &fault) || fault.Kind != kind {
		t.Fatalf("got %v, want a fault of kind %s", err, kind)
	}
	return fault
}
