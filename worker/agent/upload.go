package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// chunkBytes is the most that one message of an upload carries.
const chunkBytes = 1 << 20

// errUpload says that the master will never take a fragment.
var errUpload = errors.New("fragment refused")

// uploader uploads the fragments of parcels, one at a time. It tries again what failed for reasons
// that pass, for as long as the stream lives: a master without room for it may have to wait for a
// person.
func (a *agent) uploader(ctx context.Context, s *stream, session *farmv1.JoinResponse) {
	for {
		var p *parcel
		select {
		case p = <-s.upload:
		case <-ctx.Done():
			return
		}
		err := a.uploadFragment(ctx, p, session)
		select {
		case s.uploaded <- upload{p, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (a *agent) uploadFragment(ctx context.Context, p *parcel, session *farmv1.JoinResponse) error {
	if limit := session.GetMaxCertificateBytes(); limit > 0 && uint64(len(p.fragment.Data)) > limit {
		return fmt.Errorf("%w: it has %d bytes, the master takes %d", errUpload, len(p.fragment.Data), limit)
	}
	var told time.Time
	for pause := a.BackoffMin; ; pause = min(2*pause, a.BackoffMax) {
		err := a.uploadOnce(ctx, p, session.GetSession())
		switch status.Code(err) {
		case codes.OK:
			return nil
		case codes.InvalidArgument, codes.DataLoss, codes.FailedPrecondition, codes.OutOfRange:
			return fmt.Errorf("%w: %s", errUpload, Reason(err))
		case codes.ResourceExhausted, codes.Aborted: // too many uploads at a time, or no room
			if time.Since(told) >= sayAgain {
				told = time.Now()
				a.Log.Warn("the master takes no upload now, trying again", "reason", Reason(err))
			}
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (a *agent) uploadOnce(ctx context.Context, p *parcel, session string) error {
	ctx, cancel := context.WithTimeout(ctx, a.UploadTimeout)
	defer cancel() // a stream that is left early is ended
	up, err := a.client.UploadCertificate(ctx)
	if err != nil {
		return err
	}
	m := &farmv1.UploadCertificateRequest{Session: session, Sha256: p.fragment.SHA256[:],
		Size: uint64(len(p.fragment.Data)), Campaign: p.of.number}
	for rest := p.fragment.Data; ; {
		n := min(chunkBytes, len(rest))
		m.Data, rest = rest[:n], rest[n:]
		err := up.Send(m)
		if errors.Is(err, io.EOF) {
			break // the master has heard enough: CloseAndRecv says why
		}
		if err != nil {
			return err
		}
		if p.lease != nil {
			p.lease.activity.Add(1)
		}
		if len(rest) == 0 {
			break
		}
		m = &farmv1.UploadCertificateRequest{}
	}
	_, err = up.CloseAndRecv()
	return err
}

// uploadEnded notes what became of an upload. A fragment that will never be
// taken takes its facts with it, and all that counted as delivered is forgotten, since later
// fragments may have relied on it.
func (a *agent) uploadEnded(u upload) error {
	p := u.parcel
	switch {
	case u.err == nil:
		p.uploaded = true
		a.Stats.Facts.Add(uint64(len(p.fragment.Facts)))
		a.Stats.FragmentBytes.Add(uint64(len(p.fragment.Data)))
		a.Stats.Entries.Add(uint64(p.fragment.Entries))
		p.fragment.Data = nil
	case errors.Is(u.err, errUpload):
		a.Log.Error("evidence lost", "error", u.err, "facts", len(p.fragment.Facts))
		a.Stats.Refused.Add(1)
		p.uploaded, p.fragment.Data = true, nil
		switch k := p.message.Kind.(type) {
		case *farmv1.WorkRequest_Facts:
			k.Facts.Facts = nil
		case *farmv1.WorkRequest_Result:
			k.Result.Facts, k.Result.Outcome = nil, farmv1.Outcome_OUTCOME_UNSPECIFIED
		}
		a.forget()
	default:
		return fmt.Errorf("%w: upload: %s", errLost, Reason(u.err))
	}
	return nil
}
