package rpc

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// bucketParts is a memory whose parts lie in a bucket. The outline of a part is whatever was announced first.
type bucketParts struct {
	evidence.Bucket
	s        *memory
	outlines map[proof.ID][]byte
	by       string
}

func (p *bucketParts) PutURL(proof.ID, int64) (string, map[string]string, error) {
	return "there", nil, nil
}

func (p *bucketParts) GetURL(proof.ID) (string, error) { return "there", nil }

func (p *bucketParts) RecordPart(_ uint32, id proof.ID, _ int64, outline []byte) (known bool, err error) {
	if p.s.HasCertificate(1, id) {
		return true, nil
	}
	p.outlines[id] = bytes.Clone(outline)
	_, err = p.s.PutCertificate(1, id, outline)
	return false, err
}

func (p *bucketParts) KeptOutline(_ uint32, id proof.ID) ([]byte, string) {
	return p.outlines[id], p.by
}

func (s *memory) Bucket() evidence.Bucket {
	if s.bucket == nil {
		return nil
	}
	return s.bucket
}

func (s *memory) RecordPart(n uint32, id proof.ID, size int64, outline []byte) (known bool, err error) {
	return s.bucket.RecordPart(n, id, size, outline)
}

func (s *memory) KeptOutline(n uint32, id proof.ID) ([]byte, string) {
	if s.bucket == nil {
		return nil, ""
	}
	return s.bucket.KeptOutline(n, id)
}

// TestForgedOutline has a worker announce a part that is recorded already, with an outline that claims something
// else. Facts are held against the recorded outline alone.
func TestForgedOutline(t *testing.T) {
	for _, test := range []struct {
		placed bool
		by     string
		want   codes.Code
	}{
		{false, "", codes.Aborted}, {true, "", codes.Aborted}, // nobody knows yet which of the two is false
		{false, "name friend", codes.Aborted}, // this checker may lie
		{false, loop.ByMaster, codes.InvalidArgument}, {true, loop.ByMaster, codes.InvalidArgument},
	} {
		s := newMemory()
		b := start(t, s, func(c *settings) {
			s.bucket = &bucketParts{s: s, outlines: map[proof.ID][]byte{}, by: test.by}
			c.try = func(context.Context, []byte) error { return nil }
		})
		place := func(w *worker, placed bool, outline []byte) error {
			_, err := b.farm.PlaceCertificate(t.Context(), &farmv1.PlaceCertificateRequest{Session: w.session,
				Sha256: bytes.Repeat([]byte{1}, 32), Size: 100, Outline: outline, Placed: placed})
			return err
		}
		honest := certificate(claim(b.at.After(b.at.State().Moves(nil)[0]).State().CanonicalKey(b.at.Board), eval.Lost))
		if err := place(b.worker("honest"), true, honest); err != nil {
			t.Fatal(err)
		}
		liar := b.worker("liar")
		l := liar.lease()
		wantCode(t, place(liar, test.placed, certificate(claim(b.root, eval.Lost))), test.want, "outline")
		wantCode(t, place(liar, test.placed, honest), codes.OK, "")
		liar.send(result(1, l, farmv1.Verdict_VERDICT_LOST,
			fact(b.root, farmv1.Verdict_VERDICT_LOST, proof.ID(bytes.Repeat([]byte{1}, 32)))))
		if a := liar.ack(1); !strings.Contains(a.GetRefused(), "does not claim") || len(s.snapshot().Facts) > 0 {
			t.Errorf("the false fact was refused with %q; facts %v", a.GetRefused(), s.snapshot().Facts)
		}
		b.kill()
	}
}

// TestAddressesWithoutEnd: a worker that asks for addresses and delivers nothing soon gets none, until parts come. That
// is no offence, since a slow bucket does as much.
func TestAddressesWithoutEnd(t *testing.T) {
	s := newMemory()
	s.bucket = &bucketParts{s: s, outlines: map[proof.ID][]byte{}}
	b := start(t, s, nil)
	defer b.kill()
	w := b.worker("greedy")
	for i := range byte(3) {
		_, err := b.farm.PlaceCertificate(t.Context(), &farmv1.PlaceCertificateRequest{Session: w.session,
			Sha256: bytes.Repeat([]byte{i}, 32), Size: 30 << 20, Outline: certificate(claim(b.root, eval.Lost))})
		if i < 2 {
			wantCode(t, err, codes.OK, "")
		} else {
			wantCode(t, err, codes.ResourceExhausted, "under way")
		}
	}
	if n := b.figure("amazons_master_worker_offences_total"); n > 0 {
		t.Errorf("%v offences", n)
	}
}

// TestSlowBucket: a worker whose part takes long to get into a bucket goes on with a lease that was cancelled. It
// loses the lease, and that is no offence. One that places nothing commits one.
func TestSlowBucket(t *testing.T) {
	for _, places := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newMemory()
			s.bucket = &bucketParts{s: s, outlines: map[proof.ID][]byte{}}
			b := start(t, s, nil)
			slow := b.worker("slow")
			l := slow.lease()
			if places {
				if _, err := b.farm.PlaceCertificate(t.Context(), &farmv1.PlaceCertificateRequest{Session: slow.session,
					Sha256: bytes.Repeat([]byte{1}, 32), Size: 1 << 20,
					Outline: certificate(claim(b.root, eval.Lost))}); err != nil {
					t.Fatal(err)
				}
			}
			b.worker("other").ready()
			for i := range uint64(60) {
				slow.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{
					Lease: l.GetId(), Epoch: l.GetEpoch(), Nodes: 50, Evaluations: 500 + i}}})
				time.Sleep(time.Second)
			}
			if n := b.figure("amazons_master_worker_offences_total"); (n == 0) != places {
				t.Errorf("a part is placed: %v; %v offences", places, n)
			}
			b.kill()
		})
	}
}
