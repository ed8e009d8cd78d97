package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/ledger"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/proof"
)

// PlaceCertificate says where a part goes, and keeps its record once it is there. What the master needs of
// it is its outline, which is as good as its word: those who verify the part compare the two.
// A worker calls it twice: for an address, and with Placed when the part is in the bucket. The second call is charged
// to the ledger. From the first on the part is under way, as long as the address is good: whoever has it can fill the
// bucket.
func (f *farmService) PlaceCertificate(ctx context.Context, r *farmv1.PlaceCertificateRequest) (
	*farmv1.PlaceCertificateResponse, error) {
	bucket := f.loop.Store().Bucket()
	if bucket == nil {
		return nil, status.Error(codes.FailedPrecondition, "the parts of this master lie in a folder; upload them")
	}
	s, err := f.session(ctx, r.GetSession())
	if err != nil {
		return nil, err
	}
	c, err := f.campaign(r.GetCampaign())
	if err != nil {
		return nil, err
	}
	size := r.GetSize()
	switch {
	case len(r.GetSha256()) != len(proof.ID{}) || size == 0:
		return nil, status.Error(codes.InvalidArgument, "a part is announced with its SHA-256 and its size")
	case size > uint64(f.cfg.MaxCertificateBytes) || len(r.GetOutline()) > farmv1.MaxOutlineBytes:
		return nil, f.offence(ctx, s, trust.Oversize, status.Errorf(codes.ResourceExhausted,
			"a part of %d bytes with an outline of %d is over the limits of %d and %d", size, len(r.GetOutline()),
			f.cfg.MaxCertificateBytes, farmv1.MaxOutlineBytes))
	}
	id := proof.ID(r.GetSha256())
	// The first call brings the outline already, so a part that nobody wants is refused before its bytes travel.
	claims, err := claimsOf(c, func() ([]proof.Citation, error) { return c.ReadOutline(r.GetOutline()) })
	if err != nil {
		return nil, f.offence(ctx, s, trust.FalseCertificate,
			status.Errorf(codes.InvalidArgument, "not a certificate for this campaign: %v", err))
	}
	part := checks.Part{Campaign: c.Number, ID: id, Size: int64(size)}
	charge := int64(size) + int64(len(claims))*ledger.RootCharge
	if !r.GetPlaced() {
		if f.loop.Store().HasCertificate(c.Number, id) {
			s.Ledger.Arrived(id)
			return &farmv1.PlaceCertificateResponse{Known: true}, f.differs(ctx, s, part, r.GetOutline())
		}
		err := s.Ledger.Promise(id, charge, time.Now().Add(evidence.AddressLife))
		if errors.Is(err, ledger.ErrUnderWay) {
			return nil, status.Errorf(codes.ResourceExhausted, "%v; try again", err)
		} else if err != nil {
			return nil, f.unasked(ctx, s, err)
		}
		s.Uploads.Expect(time.Now().Add(f.uploadTime(int(size))))
		url, headers, err := bucket.PutURL(id, int64(size))
		if err != nil {
			return nil, placeError(err)
		}
		return &farmv1.PlaceCertificateResponse{Url: url, Headers: headers}, nil
	}
	s.Uploads.Expect(time.Now())
	if err := s.Ledger.Take(charge); err != nil {
		return nil, f.unasked(ctx, s, err)
	}
	known, err := f.loop.Store().RecordPart(c.Number, id, int64(size), r.GetOutline())
	// A part that was there before, or that was not recorded, costs its sender nothing.
	if err != nil || known {
		s.Ledger.Give(charge)
	}
	if err != nil {
		return nil, placeError(err)
	}
	s.Ledger.Arrived(id)
	if known {
		return &farmv1.PlaceCertificateResponse{Known: true}, f.differs(ctx, s, part, r.GetOutline())
	}
	f.known.put(id, claimed{c.Pool, claims})
	return new(farmv1.PlaceCertificateResponse), f.loop.Delivered(ctx, s, part, false)
}

// differs returns an error where a part was recorded with another outline. One of the two is false: this one, if
// the master itself has checked the part. Otherwise it does so now, and the part may be announced again after that.
func (f *farmService) differs(ctx context.Context, s *loop.Session, p checks.Part, outline []byte) error {
	kept, by := f.loop.Store().KeptOutline(p.Campaign, p.ID)
	switch {
	case kept == nil || bytes.Equal(kept, outline): // without an outline its claims are read from its bytes
		return nil
	case by == loop.ByMaster:
		return f.offence(ctx, s, trust.FalseCertificate,
			status.Errorf(codes.InvalidArgument, "part %v is not what its outline says", p.ID))
	}
	if err := f.loop.Check(ctx, p); err != nil {
		return err
	}
	return status.Errorf(codes.Aborted, "part %v was announced with another outline before, so it is checked first; "+
		"try again", p.ID)
}

// placeError gives an error its code: what may pass is tried again.
func placeError(err error) error {
	switch {
	case errors.Is(err, store.ErrNoRoom):
		return status.Errorf(codes.ResourceExhausted, "%v; try again", err)
	case errors.Is(err, evidence.ErrAway), errors.Is(err, evidence.ErrMissing):
		return status.Errorf(codes.Aborted, "%v; try again", err)
	case errors.Is(err, store.ErrMismatch):
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return status.Errorf(codes.Internal, "record part: %v", err)
}

// checkMessage asks a worker to check a part.
func (f *farmService) checkMessage(a loop.Check) *farmv1.Check {
	out := &farmv1.Check{Campaign: campaignMessage(a.Campaign, false), Sha256: a.ID[:], Size: uint64(a.Size)}
	if bucket := f.loop.Store().Bucket(); bucket != nil {
		outline, _ := f.loop.Store().KeptOutline(a.Campaign.Number, a.ID)
		sum := sha256.Sum256(outline)
		out.OutlineSha256 = sum[:]
		url, err := bucket.GetURL(a.ID)
		if err != nil {
			// The worker then asks the master for the bytes, is refused, and reports that it could not
			// check the part.
			f.log.Error("no address for a part", "part", a.ID, "error", err)
		}
		out.Url = url
	}
	return out
}

// storedClaims reads what a stored part claims: from its outline where that is kept.
func (f *farmService) storedClaims(c *loop.About, id proof.ID) ([]proof.Citation, error) {
	// The record says what it claims, whether or not the bucket answers now.
	if outline, _ := f.loop.Store().KeptOutline(c.Number, id); outline != nil {
		return c.ReadOutline(outline)
	}
	data, err := f.loop.Store().Certificate(c.Number, id)
	if err != nil {
		return nil, err
	}
	return c.ReadRoots(data)
}
