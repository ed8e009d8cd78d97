package rpc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/proof"
)

// UploadCertificate takes a certificate in chunks, judges it and stores it. Only then does the
// answer come.
func (f *farmService) UploadCertificate(stream farmv1.Farm_UploadCertificateServer) error {
	m := f.master
	first, err := within(m.cfg.CallIdle, stream.Recv)
	if errors.Is(err, errSilent) {
		return m.stalled("", stallIdle, 0, 0)
	} else if err != nil {
		return err
	}
	s, err := m.session(stream.Context(), first.GetSession())
	if err != nil {
		return err
	}
	if len(first.GetSha256()) != len(proof.ID{}) {
		return status.Error(codes.InvalidArgument, "the first message of an upload has the SHA-256 of the certificate")
	}
	c, err := m.numbered(first.GetCampaign())
	if err != nil {
		return err
	}
	id, size := proof.ID(first.GetSha256()), first.GetSize()
	switch {
	case size == 0:
		return status.Error(codes.InvalidArgument, "the first message of an upload has the size of the certificate")
	case size > uint64(m.cfg.MaxCertificateBytes):
		err := status.Errorf(codes.ResourceExhausted, "a certificate of %d bytes is over the limit of %d", size,
			m.cfg.MaxCertificateBytes)
		m.caught(s, offenceSize, err)
		return err
	}
	if err := m.beginUpload(s); err != nil {
		return err
	}
	defer m.endUpload(s)
	if m.store.HasCertificate(c.Number, id) {
		return stream.SendAndClose(&farmv1.UploadCertificateResponse{Known: true})
	}
	select {
	case m.uploads <- struct{}{}:
		defer func() { <-m.uploads }()
	default:
		return status.Errorf(codes.ResourceExhausted, "%d uploads are under way; try again", m.cfg.MaxUploads)
	}
	if err := m.store.Room(int64(size)); err != nil {
		return status.Errorf(codes.ResourceExhausted, "%v; try again", err)
	}
	// The buffer grows with what has really come, not with what was announced.
	data := make([]byte, 0, min(size, 1<<20))
	began := time.Now()
	for msg := first; ; {
		chunk := msg.GetData()
		if len(chunk) > farmv1.ChunkBytes {
			err := status.Errorf(codes.InvalidArgument, "a chunk of %d bytes is over the limit of %d", len(chunk),
				farmv1.ChunkBytes)
			m.caught(s, offenceSize, err)
			return err
		}
		if uint64(len(data)+len(chunk)) > size {
			return status.Errorf(codes.DataLoss, "more than the announced %d bytes came", size)
		}
		data = append(data, chunk...)
		patience, why := m.cfg.CallIdle, stallIdle
		if left := m.uploadTime(len(data)) - time.Since(began); left < patience {
			patience, why = left, stallSlow
		}
		if msg, err = within(patience, stream.Recv); errors.Is(err, io.EOF) {
			break
		} else if errors.Is(err, errSilent) {
			return m.stalled(s.name, why, len(data), size)
		} else if err != nil {
			m.unreadable(stream.Context(), s, err, func(error) {})
			return err
		}
	}
	if uint64(len(data)) != size {
		return status.Errorf(codes.DataLoss, "%d bytes came of the announced %d", len(data), size)
	}
	if sum := sha256.Sum256(data); sum != id {
		return status.Errorf(codes.DataLoss, "what came has the SHA-256 %s, announced was %s",
			hex.EncodeToString(sum[:]), hex.EncodeToString(id[:]))
	}
	claims, err := c.readClaims(data)
	if err != nil {
		err := status.Errorf(codes.InvalidArgument, "not a certificate for this campaign: %v", err)
		m.caught(s, offenceCertificate, err)
		return err
	}
	keep := func() {}
	if c.Admit != nil {
		if keep, err = c.Admit(stream.Context(), data); errors.Is(err, ErrFalse) {
			m.caught(s, offenceCertificate, err)
			return status.Error(codes.InvalidArgument, err.Error())
		} else if err != nil {
			return status.Errorf(codes.Internal, "verify certificate: %v", err)
		}
	}
	known, err := m.store.PutCertificate(c.Number, id, data)
	if errors.Is(err, ErrNoRoom) {
		return status.Errorf(codes.ResourceExhausted, "%v; try again", err)
	} else if err != nil {
		return status.Errorf(codes.Internal, "store certificate: %v", err)
	}
	keep()
	m.known.put(id, claimed{c.Facts, claims})
	return stream.SendAndClose(&farmv1.UploadCertificateResponse{Known: known})
}

// Why an upload was ended that did not come: the values of a metric's label.
const (
	stallIdle = "idle" // nothing came for Config.CallIdle
	stallSlow = "slow" // below Config.UploadRate
)

// uploadTime is how long an upload may have taken when that many bytes are there.
func (m *Master) uploadTime(bytes int) time.Duration {
	if m.cfg.UploadRate < 0 {
		return math.MaxInt64
	}
	seconds := m.cfg.CallIdle.Seconds() + float64(bytes)/float64(m.cfg.UploadRate)
	return time.Duration(min(seconds*float64(time.Second), float64(math.MaxInt64/2)))
}

// stalled counts an upload that does not come, and returns what its sender is told: to try again.
// It may be an accident, such as a cut line.
func (m *Master) stalled(worker, why string, have int, size uint64) error {
	m.cfg.Metrics.stalled.WithLabelValues(why).Inc()
	m.cfg.Log.Warn("an upload is ended: it does not come", "worker", worker, "why", why, "bytes", have, "announced",
		size)
	if why == stallSlow {
		return status.Errorf(codes.Aborted, "%d of %d bytes came, slower than %d bytes a second; try again", have, size,
			m.cfg.UploadRate)
	}
	return status.Errorf(codes.Aborted, "%d of %d bytes came, and then nothing for %v; try again", have, size,
		m.cfg.CallIdle)
}

// errSilent says that nothing came in time.
var errSilent = errors.New("nothing came")

// within returns what receive does, or errSilent if that takes longer than patience. The caller
// then has to end the stream, so that receive returns.
func within[T any](patience time.Duration, receive func() (T, error)) (T, error) {
	type received struct {
		message T
		err     error
	}
	came := make(chan received, 1)
	go func() {
		message, err := receive()
		came <- received{message, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-came:
		return r.message, r.err
	case <-timer.C:
		var none T
		return none, errSilent
	}
}

// beginUpload counts an upload of a session and of its certificate, unless they have as many as
// they may have.
func (m *Master) beginUpload(s *session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := s.party()
	switch {
	case s.uploads >= m.cfg.SessionUploads:
		return status.Errorf(codes.ResourceExhausted, "worker %s has %d uploads under way; try again", s.name,
			m.cfg.SessionUploads)
	case p.Certificate && m.uploading[p] >= m.cfg.OwnerUploads:
		return status.Errorf(codes.ResourceExhausted, "workers with the %v have %d uploads under way; try again", p,
			m.cfg.OwnerUploads)
	}
	s.uploads++
	if p.Certificate {
		m.uploading[p]++
	}
	return nil
}

func (m *Master) endUpload(s *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s.uploads--
	if p := s.party(); p.Certificate {
		if m.uploading[p]--; m.uploading[p] == 0 {
			delete(m.uploading, p)
		}
	}
}
