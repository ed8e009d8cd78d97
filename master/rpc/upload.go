package rpc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/ledger"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// uploads are the places of uploads, of the whole master, of each worker and of each credential. Small
// ones have places of their own: most parts are some kilobytes, and large ones cannot hold those up.
type uploads struct {
	places places
	small  places

	mu    sync.Mutex
	of    map[string]int   // under way, by session
	held  int64            // bytes of all in memory
	most  int64            // of these
	holds map[string]int64 // by session
}

// places are those of one kind.
type places struct {
	taken chan struct{}       // a token for each that is received
	party map[trust.Party]int // under way, of parties with credentials
}

func newPlaces(most int) places { return places{make(chan struct{}, most), map[trust.Party]int{}} }

func newUploads(most, small int, largest int64) uploads {
	return uploads{places: newPlaces(most), small: newPlaces(small), of: map[string]int{},
		most: max(largest+largest/2+1, 64<<20), holds: map[string]int64{}}
}

// hold counts bytes of an upload before they take memory. One session may hold two thirds of all, which is
// what the largest upload takes, so others find room. A buffer that grows counts once: the old one is
// garbage as soon as it is copied. A negative n gives memory back, and never fails.
func (u *uploads) hold(s *loop.Session, n int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n > 0 && (u.held+n > u.most || u.holds[s.Token]+n > u.most*2/3) {
		return status.Errorf(codes.ResourceExhausted,
			"%d bytes of uploads are in memory, of them %d of worker %s; try again", u.held, u.holds[s.Token], s.Name)
	}
	u.held += n
	if u.holds[s.Token] += n; u.holds[s.Token] == 0 {
		delete(u.holds, s.Token)
	}
	return nil
}

// sized returns the places of uploads of so many bytes.
func (u *uploads) sized(size uint64) *places {
	if size <= smallUpload {
		return &u.small
	}
	return &u.places
}

// begin counts an upload of a session and of its credential, unless they have as many as they may
// have: those of one credential three quarters of all places, so that others find one.
func (u *uploads) begin(s *loop.Session, p *places) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	most := max(sessionUploads, cap(p.taken)*3/4)
	switch {
	case u.of[s.Token] >= sessionUploads:
		return status.Errorf(codes.ResourceExhausted, "worker %s has %d uploads under way; try again", s.Name,
			sessionUploads)
	case s.Party.Credential && p.party[s.Party] >= most:
		return status.Errorf(codes.ResourceExhausted, "workers with the %v have %d uploads under way; try again",
			s.Party, most)
	}
	u.count(s, p, 1)
	return nil
}

func (u *uploads) end(s *loop.Session, p *places) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count(s, p, -1)
}

func (u *uploads) count(s *loop.Session, p *places, n int) {
	if u.of[s.Token] += n; u.of[s.Token] == 0 {
		delete(u.of, s.Token)
	}
	if s.Party.Credential {
		if p.party[s.Party] += n; p.party[s.Party] == 0 {
			delete(p.party, s.Party)
		}
	}
}

// UploadCertificate receives a certificate in chunks, judges it and stores it. Only then does the
// answer come.
// The steps go from cheap to dear: the session, the form of the announcement, a place, room on the disk,
// the ledger, and then memory while the bytes come. Deferred calls give back what was taken, wherever
// the upload ends.
func (f *farmService) UploadCertificate(stream farmv1.Farm_UploadCertificateServer) error {
	first, err := within(f.cfg.CallIdle, stream.Recv)
	if errors.Is(err, errSilent) {
		return f.stalled("", loop.StallIdle, 0, 0)
	} else if err != nil {
		return err
	}
	s, err := f.session(stream.Context(), first.GetSession())
	if err != nil {
		return err
	}
	defer s.Uploads.Begin()()
	if len(first.GetSha256()) != len(proof.ID{}) {
		return status.Error(codes.InvalidArgument, "the first message of an upload has the SHA-256 of the certificate")
	}
	c, err := f.campaign(first.GetCampaign())
	if err != nil {
		return err
	}
	if f.loop.Store().Bucket() != nil {
		return status.Error(codes.FailedPrecondition, "the parts of this master lie in a bucket; place them there")
	}
	id, size, store := proof.ID(first.GetSha256()), first.GetSize(), f.loop.Store()
	switch {
	case size == 0:
		return status.Error(codes.InvalidArgument, "the first message of an upload has the size of the certificate")
	case size > uint64(f.cfg.MaxCertificateBytes):
		return f.offence(stream.Context(), s, trust.Oversize, status.Errorf(codes.ResourceExhausted,
			"a certificate of %d bytes is over the limit of %d", size, f.cfg.MaxCertificateBytes))
	}
	place := f.uploads.sized(size)
	if err := f.uploads.begin(s, place); err != nil {
		return err
	}
	defer f.uploads.end(s, place)
	// The answer to an earlier upload may have been lost with its stream.
	if store.HasCertificate(c.Number, id) {
		return stream.SendAndClose(&farmv1.UploadCertificateResponse{Known: true})
	}
	select {
	case place.taken <- struct{}{}:
		defer func() { <-place.taken }()
	default:
		return status.Errorf(codes.ResourceExhausted, "%d uploads are under way; try again", cap(place.taken))
	}
	if err := s.Ledger.Take(int64(size)); err != nil {
		return f.unasked(stream.Context(), s, err)
	}
	stored := false
	defer func() {
		if !stored {
			s.Ledger.Give(int64(size))
		}
	}()
	if err := store.Room(int64(size)); err != nil {
		f.loop.Crowded(stream.Context(), s, int64(size), err)
		return status.Errorf(codes.ResourceExhausted, "%v; try again", err)
	}
	held := int64(0)
	defer func() { _ = f.uploads.hold(s, -held) }()
	data, err := f.receiveCertificate(stream, s, first, &held)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(data); sum != id {
		return status.Errorf(codes.DataLoss, "what came has the SHA-256 %s, announced was %s",
			hex.EncodeToString(sum[:]), hex.EncodeToString(id[:]))
	}
	known, err := f.admit(stream.Context(), c, s, id, data)
	if err != nil {
		return err
	}
	stored = !known
	return stream.SendAndClose(&farmv1.UploadCertificateResponse{Known: known})
}

// receiveCertificate receives the chunks of an upload. held counts the memory that they take.
func (f *farmService) receiveCertificate(stream farmv1.Farm_UploadCertificateServer, s *loop.Session,
	first *farmv1.UploadCertificateRequest, held *int64) ([]byte, error) {
	size := first.GetSize()
	// The buffer grows with what has really come, not with what was announced.
	var data []byte
	began := time.Now()
	for msg := first; ; {
		chunk := msg.GetData()
		if len(chunk) > farmv1.ChunkBytes {
			return nil, f.offence(stream.Context(), s, trust.Oversize, status.Errorf(codes.InvalidArgument,
				"a chunk of %d bytes is over the limit of %d", len(chunk), farmv1.ChunkBytes))
		}
		if uint64(len(data)+len(chunk)) > size {
			return nil, status.Errorf(codes.DataLoss, "more than the announced %d bytes came", size)
		}
		if need := len(data) + len(chunk); need > cap(data) {
			larger := min(size, uint64(max(need, 2*cap(data))))
			if err := f.uploads.hold(s, int64(larger)-*held); err != nil {
				return nil, err
			}
			data, *held = append(make([]byte, 0, larger), data...), int64(larger)
		}
		data = append(data, chunk...)
		f.traffic.WithLabelValues("received").Add(float64(len(chunk)))
		patience, why := f.cfg.CallIdle, loop.StallIdle
		// Two clocks run: one for the next chunk, and one for all that has come. The one that ends first counts.
		if left := f.uploadTime(len(data)) - time.Since(began); left < patience {
			patience, why = left, loop.StallSlow
		}
		var err error
		if msg, err = within(patience, stream.Recv); errors.Is(err, io.EOF) {
			break
		} else if errors.Is(err, errSilent) {
			return nil, f.stalled(s.Name, why, len(data), size)
		} else if err != nil {
			if kind := unreadable(stream.Context(), err); kind != "" {
				f.loop.Offend(stream.Context(), s, kind, err)
			}
			return nil, err
		}
	}
	if uint64(len(data)) != size {
		return nil, status.Errorf(codes.DataLoss, "%d bytes came of the announced %d", len(data), size)
	}
	return data, nil
}

// admit stores a part. known says that it was there before. Whether it holds is looked at later.
func (f *farmService) admit(ctx context.Context, c *loop.About, s *loop.Session, id proof.ID, data []byte) (known bool,
	err error) {
	claims, err := claimsOf(c, func() ([]proof.Citation, error) { return c.ReadRoots(data) })
	if err != nil {
		kind := trust.FalseCertificate
		if errors.Is(err, loop.ErrLarge) {
			kind = trust.Oversize
		}
		return false, f.offence(ctx, s, kind,
			status.Errorf(codes.InvalidArgument, "not a certificate for this campaign: %v", err))
	}
	charge := int64(len(claims)) * ledger.RootCharge
	if err = s.Ledger.Take(charge); err != nil {
		return false, f.unasked(ctx, s, err)
	}
	defer func() {
		if known || err != nil { // it has not come, and may be tried again
			s.Ledger.Give(charge)
		}
	}()
	holds, err := f.try(ctx, c, s, data)
	if err != nil {
		return false, err
	}
	known, err = f.loop.Store().PutCertificate(c.Number, id, data)
	if mayPass(err) {
		f.loop.Crowded(ctx, s, int64(len(data)), err)
		return false, status.Errorf(codes.ResourceExhausted, "%v; try again", err)
	} else if err != nil {
		f.log.Error("a part cannot be stored", "part", id, "worker", s.Name, "error", err)
		return false, placeError(err) // one that is there for another campaign is refused for good
	}
	f.known.put(id, claimed{c.Pool, claims})
	if !known {
		err = f.loop.Delivered(ctx, s, checks.Part{Campaign: c.Number, ID: id, Size: int64(len(data))}, holds)
	}
	return known, err
}

// mayPass reports whether a part that could not be stored may find room, or a folder that can be written, later.
func mayPass(err error) bool {
	path, link := new(fs.PathError), new(os.LinkError)
	folder := errors.As(err, &path) || errors.As(err, &link)
	return errors.Is(err, store.ErrNoRoom) || disk.Crowded(err) || folder && !errors.Is(err, store.ErrFailed)
}

// trialTime is the longest time that a part on trial waits for its check; after it the part counts unchecked, so that
// large parts do not hold up others. trialCrowd is the number of parts that may wait: if thousands of workers join at
// once, most parts are checked later, as a sample or when an answer needs them.
const trialTime, trialCrowd = 5 * time.Second, 32

// try checks a part before it counts, if its party is on trial, and reports whether it was found to hold. Only one
// part is checked at a time. The error says that the part is false.
func (f *farmService) try(ctx context.Context, c *loop.About, s *loop.Session, data []byte) (holds bool, err error) {
	if c.Try == nil || !s.Ledger.OnTrial() {
		return false, nil
	}
	select {
	case f.crowd <- struct{}{}:
		defer func() { <-f.crowd }()
	default:
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	select {
	case f.trial <- struct{}{}:
		defer func() { <-f.trial }()
	case <-ctx.Done():
		return false, nil
	}
	err = c.Try(ctx, data)
	if !errors.Is(err, loop.ErrFalse) {
		return err == nil, nil
	}
	return false, f.offence(ctx, s, trust.FalseCertificate, err)
}

// fetchBytes is what one message of a part carries. A worker that asks for parts and does not read them
// holds a message of each, and nothing else, in memory. With its frame it fits gRPC's pooled buffers of 32 KiB;
// the next larger ones have a MiB.
const fetchBytes = 31 << 10

// FetchCertificate sends a part.
func (f *farmService) FetchCertificate(r *farmv1.FetchCertificateRequest,
	stream farmv1.Farm_FetchCertificateServer) error {
	if _, err := f.session(stream.Context(), r.GetSession()); err != nil {
		return err
	}
	c, err := f.campaign(r.GetCampaign())
	if err != nil {
		return err
	}
	if len(r.GetSha256()) != len(proof.ID{}) {
		return status.Error(codes.InvalidArgument, "a part is named by its SHA-256")
	}
	if f.loop.Store().Bucket() != nil {
		return status.Error(codes.FailedPrecondition, "the parts of this master lie in a bucket; read them there")
	}
	part, size, err := f.loop.Store().CertificateFor(c.Number, proof.ID(r.GetSha256()))
	if errors.Is(err, store.ErrNoCertificate) {
		return status.Error(codes.NotFound, err.Error())
	} else if err != nil {
		return status.Errorf(codes.DataLoss, "stored part: %v", err)
	}
	for at := int64(0); at < size; at += fetchBytes {
		chunk := make([]byte, min(fetchBytes, size-at))
		if _, err := part.ReadAt(chunk, at); err != nil {
			return status.Errorf(codes.DataLoss, "stored part: %v", err)
		}
		if err := stream.Send(&farmv1.FetchCertificateResponse{Data: chunk}); err != nil {
			return err
		}
		f.traffic.WithLabelValues("sent").Add(float64(len(chunk)))
	}
	return nil
}

// uploadTime is how long an upload may have taken when that many bytes are there.
func (f *farmService) uploadTime(bytes int) time.Duration {
	if f.cfg.UploadRate < 0 {
		return math.MaxInt64
	}
	seconds := f.cfg.CallIdle.Seconds() + float64(bytes)/float64(f.cfg.UploadRate)
	return time.Duration(min(seconds*float64(time.Second), float64(math.MaxInt64/2)))
}

// stalled counts an upload that does not come, and returns what its sender is told: to try again.
// It may be an accident, such as a cut line.
func (f *farmService) stalled(worker, why string, have int, size uint64) error {
	f.loop.Metrics().Stalled(why)
	f.log.Warn("an upload is ended: it does not come", "worker", worker, "why", why, "bytes", have, "announced", size)
	if why == loop.StallSlow {
		return status.Errorf(codes.Aborted, "%d of %d bytes came, slower than %d bytes a second; try again", have, size,
			f.cfg.UploadRate)
	}
	return status.Errorf(codes.Aborted, "%d of %d bytes came, and then nothing for %v; try again", have, size,
		f.cfg.CallIdle)
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
