package rpc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc/codes"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

var errFull = fmt.Errorf("%w: 3 MiB left where 256 MiB are wanted", store.ErrNoRoom)

// until receives messages until one is wanted.
func (w *worker) until(wanted func(*farmv1.WorkResponse) bool) *farmv1.WorkResponse {
	w.b.t.Helper()
	for {
		m, err := w.stream.Recv()
		if err != nil {
			w.b.t.Fatal(err)
		}
		if wanted(m) {
			return m
		}
	}
}

func (b *bench) status() *farmv1.StatusResponse {
	b.t.Helper()
	r, err := b.control.Status(b.t.Context(), &farmv1.StatusRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// figure returns the value of a counter, of all its labels together.
func (b *bench) figure(name string) (value float64) {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && f.GetType() == dto.MetricType_COUNTER {
			for _, m := range f.GetMetric() {
				value += m.GetCounter().GetValue()
			}
			return value
		}
	}
	b.t.Fatalf("no figure %s", name)
	return 0
}

// TestNoRoom takes the room away while a lease runs, for an hour: its worker is told why, its
// result waits and is acknowledged when there is room again, the lease has not expired, and the
// campaign goes on with a lease for whoever has waited.
func TestNoRoom(t *testing.T) {
	for name, full := range map[string]func(*memory){
		"seen at a tick":    func(s *memory) { s.fill(errFull) },
		"met by the commit": func(s *memory) { s.mu.Lock(); s.fullAfter = 1; s.mu.Unlock() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemory()
				b := start(t, s, nil)
				w := b.worker("w")
				l := w.lease()
				full(s)
				if name == "seen at a tick" {
					time.Sleep(1500 * time.Millisecond)
					if r := b.status(); r.GetState() != loop.StatePaused ||
						!strings.Contains(r.GetWhy(), "3 MiB left") ||
						!strings.Contains(r.GetWhy(), "by itself") {
						t.Errorf("without room: %s (%s)", r.GetState(), r.GetWhy())
					}
					_, err := w.upload(certificate(claim(b.root, eval.Won)))
					wantCode(t, err, codes.ResourceExhausted, "3 MiB left")
				}
				commits := s.commitsDone()
				for serial := range uint64(2) { // the second one has been sent before, as it were
					w.send(result(serial+1, l, 0))
					m := w.until(func(m *farmv1.WorkResponse) bool { return m.GetHold() != nil || m.GetAck() != nil })
					if m.GetAck() != nil {
						t.Fatal("acknowledged what is not on disk")
					}
				}
				idle := b.worker("idle")
				idle.ready()
				go func() { // a worker that does not read is cut off
					for {
						if _, err := idle.stream.Recv(); err != nil {
							return
						}
					}
				}()
				time.Sleep(200 * time.Second)
				if r := b.status(); r.GetState() != loop.StatePaused {
					t.Errorf("without room: %s (%s)", r.GetState(), r.GetWhy())
				}
				if n := s.commitsDone(); n != commits {
					t.Errorf("%d commits without room", n-commits)
				}
				if n := b.figure("amazons_master_space_pauses_total"); n != 1 {
					t.Errorf("%v pauses are counted", n)
				}
				if _, err := b.control.Resume(t.Context(), &farmv1.ResumeRequest{}); err != nil ||
					b.status().GetState() != loop.StatePaused {
					t.Errorf("an operator's resume makes no room: %v", err)
				}
				s.fill(nil)
				acks := 0
				w.until(func(m *farmv1.WorkResponse) bool {
					if a := m.GetAck(); a != nil {
						acks++
						if a.GetSerial() == 1 && a.GetRefused() != "" {
							t.Errorf("refused: %s", a.GetRefused())
						}
					}
					return m.GetAck().GetSerial() == 2
				})
				if r := b.status(); r.GetState() != loop.StateRunning || r.GetLeased() != 1 {
					t.Errorf("with room again: %s (%s), %d leased", r.GetState(), r.GetWhy(), r.GetLeased())
				}
				b.kill()
			})
		})
	}
}

// settle has a worker prove that the root is lost.
func (b *bench) settle() {
	b.t.Helper()
	w := b.worker("w")
	l := w.lease()
	part := certificate(claim(b.root, eval.Lost))
	if _, err := w.upload(part); err != nil {
		b.t.Fatal(err)
	}
	w.send(result(1, l, farmv1.Verdict_VERDICT_LOST, fact(b.root, farmv1.Verdict_VERDICT_LOST, proof.IDOf(part))))
	w.ack(1)
}

// TestNoRoomForCertificate: a campaign whose certificate finds no room is told to wait, and tried again. The farm does
// not wait for it.
func TestNoRoomForCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		var tries atomic.Int32
		b := start(t, s, func(c *settings) {
			c.conclude = func(context.Context, loop.Evidence,
				func(string, string, loop.Phase)) (loop.Conclusion, error) {
				if tries.Add(1) < 3 {
					return loop.Conclusion{}, errFull
				}
				return loop.Conclusion{Winner: "second", Verified: true}, nil
			}
			c.Stay = true
		})
		b.settle()
		time.Sleep(45 * time.Second) // it was tried again once
		if r := b.status(); r.GetState() != loop.StatePaused || !strings.Contains(r.GetWhy(), "3 MiB left") ||
			tries.Load() != 2 {
			t.Errorf("without room: %s (%s) after %d tries", r.GetState(), r.GetWhy(), tries.Load())
		}
		if n := b.figure("amazons_master_space_pauses_total"); n != 1 {
			t.Errorf("%v pauses are counted", n)
		}
		idle := b.worker("idle")
		idle.ready()
		if m := idle.receive(); m.GetHold() != nil {
			t.Error("the farm waits for one certificate")
		}
		time.Sleep(30 * time.Second)
		if r := b.status(); r.GetState() != loop.StateSettled {
			t.Errorf("with room: %s (%s)", r.GetState(), r.GetWhy())
		}
		b.kill()
	})
}

// TestDrainWithoutRoom: a drain ends a master whose certificate finds no room.
func TestDrainWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), func(c *settings) {
			c.conclude = func(context.Context, loop.Evidence,
				func(string, string, loop.Phase)) (loop.Conclusion, error) {
				return loop.Conclusion{}, errFull
			}
		})
		b.settle()
		time.Sleep(10 * time.Second)
		if _, err := b.control.Drain(t.Context(), &farmv1.DrainRequest{}); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-b.ended:
			if !errors.Is(err, loop.ErrDrained) {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("it has not ended")
			b.kill()
		}
	})
}

// TestNoRoomForPart: where there is room for commits but not for a part, its worker waits and the status says so.
func TestNoRoomForPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		b := start(t, s, nil)
		w := b.worker("w")
		l := w.lease()
		part := certificate(claim(b.root, eval.Won))
		spare := func(bytes int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.spare = int64(bytes)
		}
		spare(len(part) - 1)
		_, err := w.upload(part)
		wantCode(t, err, codes.ResourceExhausted, "3 MiB left")
		if r := b.status(); r.GetState() != loop.StateRunning || !strings.Contains(r.GetWhy(), "of worker w waits") ||
			!strings.Contains(r.GetWhy(), "3 MiB left") {
			t.Errorf("without room for a part: %s (%s)", r.GetState(), r.GetWhy())
		}
		spare(0)
		time.Sleep(2 * crowdedTime)
		if r := b.status(); strings.Contains(r.GetWhy(), "waits") {
			t.Errorf("long after: %s (%s)", r.GetState(), r.GetWhy())
		}
		if _, err := w.upload(part); err != nil {
			t.Error(err)
		}
		w.send(result(1, l, 0))
		w.until(func(m *farmv1.WorkResponse) bool { return m.GetAck() != nil })
		b.kill()
	})
}

// crowdedTime is how long the status tells of a part without room.
const crowdedTime = time.Minute

func (s *memory) commitsDone() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commits
}

// TestNoRoomAndBack: a worker that comes anew sends again what was not acknowledged, and only that
// is taken; one that sends without end is cut off; and a drain without room ends at once.
func TestNoRoomAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		b := start(t, s, func(c *settings) { c.Limits.Waiting = 3 })
		w := b.worker("w")
		l := w.lease()
		s.fill(errFull)
		time.Sleep(1500 * time.Millisecond)
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{Lease: l.GetId(),
			Epoch: l.GetEpoch(), Nodes: 5}}})
		w.send(result(1, l, 0))
		synctest.Wait() // both have come
		w.cancel()
		time.Sleep(time.Minute)
		w.connect()
		w.send(result(1, l, 0))
		synctest.Wait()
		s.fill(nil)
		acks := 0
		time.Sleep(3 * time.Second)
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 2}}})
		w.until(func(m *farmv1.WorkResponse) bool {
			if a := m.GetAck(); a != nil {
				acks++
				if a.GetSerial() == 1 && a.GetRefused() != "" {
					t.Errorf("refused: %s", a.GetRefused())
				}
			}
			return m.GetAck().GetSerial() == 2
		})
		if acks != 2 {
			t.Errorf("%d acknowledgements of two messages", acks)
		}
		s.fill(errFull)
		time.Sleep(1500 * time.Millisecond)
		for serial := range uint64(4) {
			w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 3 + serial}}})
		}
		var err error
		for err == nil {
			_, err = w.stream.Recv()
		}
		wantCode(t, err, codes.ResourceExhausted, "wait for room")
		if _, err := b.control.Drain(t.Context(), &farmv1.DrainRequest{}); err != nil {
			t.Errorf("drain without room: %v", err)
		}
		if err := <-b.ended; !errors.Is(err, loop.ErrDrained) {
			t.Errorf("ended with %v", err)
		}
	})
}

// TestConclusionWithoutRoom: a certificate that finds no room is put together again, and the
// campaign is not stopped.
func TestConclusionWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		s := newMemory()
		b := start(t, s, func(c *settings) {
			c.conclude = func(ctx context.Context, _ loop.Evidence,
				_ func(string, string, loop.Phase)) (loop.Conclusion, error) {
				if tries++; tries < 3 {
					return loop.Conclusion{}, errFull
				}
				return loop.Conclusion{Verified: true}, nil
			}
		})
		w := b.worker("w")
		l := w.lease()
		id := w.uploadLost()
		w.sendLost(1, l, id)
		time.Sleep(10 * time.Second)
		if r := b.status(); r.GetState() != loop.StatePaused || !strings.Contains(r.GetWhy(), "3 MiB left") {
			t.Errorf("without room for the certificate: %s (%s)", r.GetState(), r.GetWhy())
		}
		if err := <-b.ended; err != nil || tries != 3 {
			t.Errorf("ended with %v after %d tries", err, tries)
		}
	})
}

// TestBackup: the bytes come whole, in chunks, with their size and hash; a second backup at the
// same time is refused; one that nobody reads is ended.
func TestBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		whole := strings.Repeat("0123456789abcdef", 5<<20/16+3)
		s.copy = func(w io.Writer) error { _, err := io.WriteString(w, whole); return err }
		b := start(t, s, nil)
		read := func(stream farmv1.Control_BackupClient, err error) (string, *farmv1.BackupResponse, error) {
			var all strings.Builder
			last := &farmv1.BackupResponse{}
			for err == nil {
				var m *farmv1.BackupResponse
				if m, err = stream.Recv(); err == nil {
					if len(m.GetData()) > farmv1.ChunkBytes || all.Len() == 0 && last.GetSize() == 0 &&
						m.GetSize() != 12345 {
						t.Fatalf("a message of %d bytes, size %d", len(m.GetData()), m.GetSize())
					}
					all.Write(m.GetData())
					last = m
				}
			}
			return all.String(), last, err
		}
		got, last, err := read(b.control.Backup(t.Context(), &farmv1.BackupRequest{}))
		sum := sha256.Sum256([]byte(whole))
		if !errors.Is(err, io.EOF) || got != whole || !bytes.Equal(last.GetSha256(), sum[:]) {
			t.Errorf("%d of %d bytes, sha256 %x, %v", len(got), len(whole), last.GetSha256(), err)
		}

		release, under := make(chan struct{}), make(chan struct{}, 2)
		s.copy = func(io.Writer) error { under <- struct{}{}; <-release; return errors.New("the disk is broken") }
		first, err := b.control.Backup(t.Context(), &farmv1.BackupRequest{})
		if err != nil {
			t.Fatal(err)
		}
		<-under
		_, _, err = read(b.control.Backup(t.Context(), &farmv1.BackupRequest{}))
		wantCode(t, err, codes.ResourceExhausted, "another backup")
		close(release)
		_, _, err = read(first, nil)
		wantCode(t, err, codes.Internal, "the disk is broken")

		written := make(chan error, 1)
		s.copy = func(w io.Writer) error {
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					written <- err
					return err
				}
			}
		}
		stalled, err := b.control.Backup(t.Context(), &farmv1.BackupRequest{})
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, <-written, codes.Aborted, "not read") // while this end reads nothing
		_, _, err = read(stalled, nil)
		wantCode(t, err, codes.Aborted, "not read")
	})
}
