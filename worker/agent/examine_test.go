package agent

import (
	"testing"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/proof"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fetched plays one answer to a fetch.
type fetched func(attempt int) ([]byte, error)

func (m *fakeMaster) FetchCertificate(_ *farmv1.FetchCertificateRequest,
	s farmv1.Farm_FetchCertificateServer) error {
	m.mu.Lock()
	m.attempts++
	attempt := m.attempts
	m.mu.Unlock()
	data, err := m.fetch(attempt)
	if err != nil {
		return err
	}
	return s.Send(&farmv1.FetchCertificateResponse{Data: data})
}

// TestFetchIsTriedAgain: a master that is full for a while gets its answer all the same. One that stays
// full gets the check back in time, and no failure. A part that is gone is a failure at once.
func TestFetchIsTriedAgain(t *testing.T) {
	data := []byte("not a part")
	for name, c := range map[string]struct {
		fetch    fetched
		returned bool
		failed   bool
		within   time.Duration
	}{
		"full for a while": {func(attempt int) ([]byte, error) {
			if attempt < 4 {
				return nil, status.Error(codes.ResourceExhausted, "too many calls; try again")
			}
			return data, nil
		}, false, false, 10 * time.Second},
		"full": {func(int) ([]byte, error) {
			return nil, status.Error(codes.ResourceExhausted, "too many calls; try again")
		}, true, true, fetchPatience + time.Second},
		"gone": {func(int) ([]byte, error) { return nil, status.Error(codes.NotFound, "no such part") }, false, true,
			time.Second},
		"too long": {func(int) ([]byte, error) { return append(data, data...), nil }, false, true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			work(t, Config{}, spent, nil, func(f *farm) {
				f.master.fetch = c.fetch
				s := f.stream()
				s.ready()
				id, began := proof.IDOf(data), time.Now()
				s.send(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Check{Check: &farmv1.Check{
					Campaign: &farmv1.Campaign{Board: "4x4", Number: 1}, Sha256: id[:], Size: uint64(len(data))}}})
				r := s.next().GetChecked()
				if r == nil || r.Returned != c.returned || (r.Failed != "") != c.failed || (r.Fault != "") == c.failed {
					t.Errorf("the worker says %v", r)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("the answer took %v", took)
				}
				s.finish()
			})
		})
	}
}
