package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"amazonsfarm/master/evidence"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// realPart returns the bytes of a part that cites a position. What it claims need not be true.
func realPart(t *testing.T) (data []byte, id proof.ID) {
	t.Helper()
	root, err := amazons.ParsePosition(testBoard.String())
	if err != nil {
		t.Fatal(err)
	}
	s, _ := root.State().Canonical(testBoard)
	set := new(proof.Set)
	set.Add(proof.Entry{Key: s.Key(testBoard), Move: s.Moves(nil)[0]})
	cited := s.After(s.Moves(nil)[0]).CanonicalKey(testBoard)
	data, err = proof.Encode(proof.Certificate{Board: testBoard, Roots: []proof.Root{{State: s, Claim: eval.Won}},
		Set: set, Cited: []proof.Citation{{Key: cited, Claim: eval.Lost}}})
	if err != nil {
		t.Fatal(err)
	}
	return data, proof.IDOf(data)
}

// TestDigest drops a part once somebody has verified it, and wants all that a proof needs of it to stay,
// also after the store is opened again.
func TestDigest(t *testing.T) {
	o := quick
	o.Digest = true
	s := newStore(t, o)
	data, id := realPart(t)
	_, want, err := proof.ReadCited(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(want) != 1 {
		t.Fatal(want, err)
	}
	if _, err := s.PutCertificate(1, id, data); err != nil {
		t.Fatal(err)
	}
	if err := s.SetVerified([]proof.ID{id}, "w2"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, there, err := s.evidence.Has(id); there || err != nil {
			t.Error("the part is still there", err)
		}
		if _, got, err := s.Outline(id); err != nil || !reflect.DeepEqual(got, want) {
			t.Error(got, err)
		}
		if parts, err := s.Parts(1); err != nil || len(parts) != 1 || !parts[0].Dropped || parts[0].Verified != "w2" {
			t.Error(parts, err)
		}
		if _, _, err := s.OpenCertificate(id); !errors.Is(err, ErrDropped) {
			t.Error(err)
		}
		if missing, digests, err := s.MissingParts(); len(missing) > 0 || digests != 1 || err != nil {
			t.Error(missing, digests, err)
		}
		if known, err := s.PutCertificate(1, id, data); !known || err != nil {
			t.Error(known, err)
		}
		check(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = mustOpen(t, s.Path(), quick)
	}
	s.Close()
	if r, err := CheckFile(t.Context(), s.Path(), nil); err != nil || !r.Good || r.Digests != 1 ||
		!strings.Contains(r.String(), "1 more kept as digests only") {
		t.Error(r, err)
	}
}

// TestPlace keeps the parts elsewhere: the store remembers where, refuses another place, and records what
// somebody else has put there.
func TestPlace(t *testing.T) {
	place := filepath.Join(t.TempDir(), "parts")
	o := quick
	o.Evidence = place
	s := newStore(t, o)
	data, id := realPart(t)
	outline, err := proof.Outline(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(data))
	if _, err := s.RecordPart(1, id, size, outline); !errors.Is(err, evidence.ErrMissing) {
		t.Error(err)
	}
	if err := evidence.OpenFolder(place).Put(id, size, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	// Two announce the part at the same time with different outlines: one is recorded, and the other is told so.
	var others sync.WaitGroup
	first := atomic.Int32{}
	for range 8 {
		others.Go(func() {
			if known, err := s.RecordPart(1, id, size, outline); err != nil {
				t.Error(err)
			} else if !known {
				first.Add(1)
			}
		})
	}
	if others.Wait(); first.Load() != 1 {
		t.Errorf("%d are told that they were the first", first.Load())
	}
	if known, err := s.RecordPart(1, id, size, outline); !known || err != nil {
		t.Error(known, err)
	}
	if kept, by := s.KeptOutline(1, id); by != "" || !bytes.Equal(kept, outline) {
		t.Error("the outline is another one")
	}
	s.Close()
	o.Evidence = place + "2"
	if _, err := Open(s.Path(), o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), place) {
		t.Error(err)
	}
	s = mustOpen(t, s.Path(), quick)
	if got, err := s.Certificate(1, id); err != nil || !bytes.Equal(got, data) {
		t.Error(err)
	}
	check(t, s)
	if err := os.WriteFile(filepath.Join(place, id.Name()[:2], id.Name()), data[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	s.cache.Forget(id)
	var lost *PartError
	if _, _, err := s.OpenCertificate(id); !errors.As(err, &lost) || lost.ID != id || !errors.Is(err, ErrCorrupt) ||
		strings.Count(err.Error(), id.Name()) != 1 {
		t.Error(err)
	}
	// An address takes new objects only. So one that was cut short is removed, or nobody could bring the part again.
	if _, err := s.RecordPart(1, id, size, outline); !errors.Is(err, evidence.ErrMissing) {
		t.Error(err)
	}
	if n, there, _ := s.evidence.Has(id); there {
		t.Errorf("%d bytes of the part are in the way of its %d", n, size)
	}
	if err := evidence.OpenFolder(place).Put(id, size, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	// A wrong size that somebody announces removes nothing.
	for _, size := range []int64{size + 1, size} {
		if known, err := s.RecordPart(1, id, size, outline); !known || err != nil {
			t.Error(known, err)
		}
	}
	check(t, s)
	s.Close()
	if r, err := BackupFile(t.Context(), s.Path(), filepath.Join(t.TempDir(), "copy"), false, nil); err != nil ||
		r.LacksParts != 0 || r.Evidence != place {
		t.Errorf("%+v, %v", r, err)
	}
}

// slow is an evidence store that takes long to remove a part.
type slow struct {
	evidence.Store
	begun, end chan struct{}
}

func (s slow) Remove(id proof.ID) error {
	close(s.begun)
	<-s.end
	return s.Store.Remove(id)
}

// TestSlowRemoval: while a bucket does not answer, nobody waits but for the part that is removed.
func TestSlowRemoval(t *testing.T) {
	s := newStore(t, quick)
	_, id := realPart(t)
	held := slow{s.evidence, make(chan struct{}), make(chan struct{})}
	s.evidence = held
	removed := make(chan bool)
	go func() { removed <- s.dropPart(id) }()
	<-held.begun
	answered := make(chan int)
	go func() { answered <- len(s.Campaigns()) }()
	select {
	case <-answered:
	case <-time.After(5 * time.Second):
		t.Error("the campaigns wait for a part to be removed")
	}
	close(held.end)
	<-removed
	s.evidence = held.Store
}

// TestBackupOfDigests backs up a store with its parts, one of which is kept as a digest only: that one is not missed.
func TestBackupOfDigests(t *testing.T) {
	o := quick
	o.Digest = true
	s := newStore(t, o)
	data, id := realPart(t)
	if _, err := s.PutCertificate(1, id, data); err != nil {
		t.Fatal(err)
	}
	if err := s.SetVerified([]proof.ID{id, {7}}, "w2"); err != nil { // one that is gone is passed over
		t.Fatal(err)
	}
	s.Close()
	if r, err := BackupFile(t.Context(), s.Path(), filepath.Join(t.TempDir(), "copy.db"), true, nil); err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
