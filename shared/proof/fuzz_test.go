package proof_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"os"
	"slices"
	"testing"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/fuzzing"
	"amazonsfarm/shared/testkit/reference"

	"github.com/klauspost/compress/zstd"
)

var fuzzEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // no option here can be wrong

// fuzzCertificates are small certificates, whole files, for the seeds: of a late position of 4x4
// with both claims, of one with a root that needs no entry, and the one of format 1.
func fuzzCertificates(f *testing.F) (files [][]byte) {
	f.Helper()
	for _, text := range []string{".BWx/.xBx/W..x/...x w", "W.x/.../x.B b", "W.B w"} {
		p := position(f, text)
		x := newExact(p.Board, true)
		for _, s := range []amazons.State{p.State(), p.State().After(p.State().Moves(nil)[0])} {
			c := build(f, p.Board, s, x.wins(s), x, eval.CountLeaves)
			data, err := proof.Encode(c)
			if err != nil {
				f.Fatal(err)
			}
			files = append(files, data)
		}
	}
	format1, err := os.ReadFile("testdata/format1.amzcert")
	if err != nil {
		f.Fatal(err)
	}
	c, err := read(format1)
	if err == nil {
		err = proof.Split(f.Context(), c, 500, func(part proof.Certificate) error {
			data, err := proof.Encode(part)
			if len(part.Cited) > 0 && len(files) < 8 {
				files = append(files, data)
			}
			return err
		})
	}
	if err != nil {
		f.Fatal(err)
	}
	return append(files, format1)
}

// fuzzBlock is a certificate with one layer and one block of the raw data given, which says to have
// so many entries.
func fuzzBlock(p amazons.Position, claim eval.Verdict, arrows int, raw []byte, entries uint32) []byte {
	le := binary.LittleEndian
	z := fuzzEncoder.EncodeAll(raw, nil)
	out := append([]byte("AMZCERT\n\x01\x00\x00\x00\x3c\x00\x00\x00"), make([]byte, 32)...)
	out = append(out, p.Board.Width, p.Board.Height, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0)
	out = le.AppendUint64(out, uint64(entries))
	k := p.State().Key(p.Board)
	out = le.AppendUint64(le.AppendUint64(out, k.A), k.B)
	out = append(out, byte(p.ToMove), byte(claim), 0, 0, 0, 0, 0, 0)
	out = le.AppendUint64(append(out, byte(arrows), 0, 0, 0, 1, 0, 0, 0), uint64(entries))
	out = le.AppendUint32(out, entries)
	out = le.AppendUint32(out, uint32(len(raw)))
	out = le.AppendUint32(out, uint32(len(z)))
	return rehash(append(out, z...))
}

var fuzzTruth reference.Fast

// judge reads a file in all the ways there are and compares what they say; it returns the
// certificate if it can be read.
func judge(t *testing.T, data []byte) (proof.Certificate, bool) {
	c, err := read(data)
	info, infoErr := proof.ReadInfo(bytes.NewReader(data), int64(len(data)))
	_, checkErr := checker.Check(context.Background(), bytes.NewReader(data), int64(len(data)),
		checker.Options{Workers: 1, MaxMemory: 16 << 20, Part: true})
	if err != nil {
		if checkErr == nil {
			t.Fatalf("the checker takes what cannot be read: %v", err)
		}
		for _, kind := range []error{proof.ErrNotCertificate, proof.ErrVersion, proof.ErrTruncated, proof.ErrCorrupt,
			proof.ErrChecksum} {
			if errors.Is(err, kind) {
				return c, false
			}
		}
		t.Fatalf("an error of no kind: %v", err)
	}
	if infoErr != nil || info.Board != c.Board || len(info.Roots) != len(c.Roots) ||
		info.Entries != int64(c.Set.Len()) || info.Citations != int64(len(c.Cited)) {
		t.Fatalf("the header says %+v, %v; %d entries were read", info, infoErr, c.Set.Len())
	}
	again, err := proof.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(again)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, c)
	if err := dumbCheck(c); (err == nil) != (checkErr == nil) {
		t.Fatalf("the checker says %v, the plain rules say %v", checkErr, err)
	}
	for _, r := range c.Roots {
		if checkErr == nil && len(c.Cited) == 0 && bits.OnesCount64(r.State.Empty) <= 9 &&
			fuzzTruth.Wins(r.State) != (r.Claim == eval.Won) {
			t.Fatalf("a false claim is taken: %v is %v", r.Position(c.Board), r.Claim)
		}
		look(t, c, r.State, data)
	}
	return c, true
}

// look asks everything about a position that people may ask.
func look(t *testing.T, c proof.Certificate, s amazons.State, data []byte) {
	finding := c.Look(s)
	for _, m := range c.Line(s, 20) {
		if !s.Legal(m) {
			t.Fatalf("an illegal move is played: %v", m)
		}
		s = s.After(m)
	}
	if n, _ := c.Below(s, 50); n > 50 || finding.Reason.String() == "" {
		t.Fatalf("%d entries below, %v", n, finding)
	}
	for arrows := range c.Board.Squares() {
		var keys []amazons.Key
		for _, e := range c.Set.Sorted(arrows) {
			keys = append(keys, e.Key)
		}
		keys = keys[:min(len(keys), 20)]
		found := 0
		finder := proof.Finder{Board: c.Board, Left: 1 << 20}
		err := finder.Find(bytes.NewReader(data), int64(len(data)), keys, func(e proof.Entry) {
			found++
			if m, ok := c.Set.Move(e.Key); !ok || m != e.Move {
				t.Errorf("found %v, which is not in the certificate", e)
			}
		})
		if err != nil && !errors.Is(err, proof.ErrFindLimit) || err == nil && found != len(keys) {
			t.Fatalf("found %d of %d: %v", found, len(keys), err)
		}
	}
}

// FuzzRead reads files of all bytes, with the checksum made right: with each reader there is, which
// must agree with each other and with the independent checker.
func FuzzRead(f *testing.F) {
	for _, data := range fuzzCertificates(f) {
		f.Add(data)
		f.Add(data[:min(len(data), 60)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		fuzzing.Within(t, 20*time.Second, 512<<20, func() { judge(t, rehash(bytes.Clone(data))) })
	})
}

// FuzzBlock does the same with the contents of a block, which the compression hides from changes of
// a file.
func FuzzBlock(f *testing.F) {
	p := position(f, ".BWx/.xBx/W..x/...x w")
	x := newExact(p.Board, true)
	c := build(f, p.Board, p.State(), x.wins(p.State()), x, eval.CountLeaves)
	for arrows := range 16 {
		entries := c.Set.Sorted(arrows)
		var a, b, m []byte
		last := uint64(0)
		for _, e := range entries {
			a = binary.AppendUvarint(a, e.Key.A-last)
			last = e.Key.A
			b = binary.LittleEndian.AppendUint16(b, uint16(e.Key.B))
			m = append(m, p.Board.PackSquare(e.Move.From), p.Board.PackSquare(e.Move.To),
				p.Board.PackSquare(e.Move.Arrow))
		}
		if len(entries) > 0 {
			f.Add(slices.Concat(a, b, m), uint8(arrows), uint16(len(entries)), true)
			f.Add(slices.Concat(a, b, m), uint8(arrows), uint16(1), false)
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, arrows uint8, entries uint16, wins bool) {
		if len(raw) > 1<<14 {
			return
		}
		claim := eval.Lost
		if wins {
			claim = eval.Won
		}
		fuzzing.Within(t, 20*time.Second, 512<<20,
			func() { judge(t, fuzzBlock(p, claim, int(arrows%16), raw, uint32(entries))) })
	})
}

// FuzzMerge merges what can be read of two files: all roots and entries, and nothing else, whatever
// the order; and what each of them proves is still proved.
func FuzzMerge(f *testing.F) {
	files := fuzzCertificates(f)
	for _, a := range files {
		for _, b := range files[:2] {
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		if len(one)+len(other) > 1<<15 {
			return
		}
		fuzzing.Within(t, 20*time.Second, 512<<20, func() {
			a, errA := read(rehash(bytes.Clone(one)))
			b, errB := read(rehash(bytes.Clone(other)))
			if errA != nil || errB != nil {
				return
			}
			if a.Board != b.Board || len(a.Cited)+len(b.Cited) > 0 { // parts are merged without citations
				return
			}
			ab, ba := merge(a, b), merge(b, a)
			if ab.Set.Len() != ba.Set.Len() {
				t.Fatalf("%d entries, in the other order %d", ab.Set.Len(), ba.Set.Len())
			}
			for _, c := range []proof.Certificate{a, b} {
				for e := range c.Set.All() {
					if !ab.Set.Has(e.Key) {
						t.Fatalf("%v is lost", e)
					}
				}
			}
			for e := range ab.Set.All() {
				if first, ok := a.Set.Move(e.Key); ok && first != e.Move {
					t.Fatalf("%v has the move of the second certificate", e)
				} else if second, has := b.Set.Move(e.Key); !ok && (!has || second != e.Move) {
					t.Fatalf("%v is in neither", e)
				}
			}
			if dumbCheck(a) == nil && dumbCheck(b) == nil {
				if err := dumbCheck(ab); err != nil {
					t.Fatalf("two good certificates make a bad one: %v", err)
				}
			}
		})
	})
}
