package rpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// TestStalledUploads has uploads that stop, that trickle and that come slowly but steadily, in
// virtual time, where there is one place for uploads: those that do not come lose it and are told
// to try again, the steady one goes through.
func TestStalledUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), func(c *settings) { c.services.Limits.SmallUploads, c.services.UploadRate = 1, 2 })
		defer b.kill()
		w := b.worker("w")
		data := certificate(claim(b.root, eval.Lost))
		id := proof.ID(sha256.Sum256(data))

		// trickle sends a byte of the announced ones every period, and returns how long that went
		// and how it ended.
		trickle := func(bytes []byte, size int, period time.Duration) (time.Duration, error) {
			began := time.Now()
			stream, err := b.farm.UploadCertificate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range bytes {
				m := &farmv1.UploadCertificateRequest{Data: []byte{c}}
				if i == 0 {
					m.Session, m.Sha256, m.Size = w.session, id[:], uint64(size)
				} else {
					time.Sleep(period)
				}
				if stream.Send(m) != nil {
					break
				}
			}
			if len(bytes) < size && stream.Context().Err() == nil {
				err = stream.RecvMsg(new(farmv1.UploadCertificateResponse)) // its end is not said
			} else {
				_, err = stream.CloseAndRecv()
			}
			return time.Since(began), err
		}

		stopped := make(chan error, 1)
		go func() {
			took, err := trickle(data[:1], len(data), 0)
			if took != time.Minute {
				t.Errorf("an upload that stopped was ended after %v", took)
			}
			stopped <- err
		}()
		synctest.Wait()
		wantCode(t, w.uploadAs(id, uint64(len(data)), data), codes.ResourceExhausted, "uploads are under way")
		wantCode(t, <-stopped, codes.Aborted, "1 of")

		took, err := trickle(make([]byte, 1000), 1000, time.Second)
		wantCode(t, err, codes.Aborted, "slower than 2 bytes a second")
		if took < 118*time.Second || took > 122*time.Second { // a minute, and half a second for each byte
			t.Errorf("an upload of a byte a second was ended after %v", took)
		}
		if took, err := trickle(data, len(data), 400*time.Millisecond); err != nil {
			t.Errorf("a slow but steady upload ended after %v: %v", took, err)
		}
		if !b.loop.Store().HasCertificate(1, id) {
			t.Error("it is not in the store")
		}
		if n := b.figure("amazons_master_uploads_stalled_total"); n != 2 {
			t.Errorf("%v uploads are counted as stalled", n)
		}
	})
}

// TestTrials has parts of new parties tried by a checker that takes for ever: a part waits for five seconds and then
// counts, and beside a crowd of 32 one does not wait at all.
func TestTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tried := atomic.Int32{}
		b := start(t, newMemory(), func(c *settings) {
			c.services.Limits.SmallUploads = 64
			c.try = func(ctx context.Context, _ []byte) error {
				tried.Add(1)
				<-ctx.Done()
				return ctx.Err()
			}
		})
		defer b.kill()
		moves := b.at.State().Moves(nil)
		waited := make(chan time.Duration, 40)
		for i := range cap(waited) {
			w := b.worker(fmt.Sprint("w", i))
			data := certificate(claim(b.at.After(moves[i]).State().CanonicalKey(b.at.Board), eval.Lost),
				claim(b.root, eval.Lost))
			go func() {
				began := time.Now()
				if err := w.uploadAs(proof.IDOf(data), uint64(len(data)), data); err != nil {
					t.Error(err)
				}
				waited <- time.Since(began)
			}()
		}
		atOnce := 0
		for range cap(waited) {
			switch took := <-waited; {
			case took < time.Second:
				atOnce++
			case took != trialTime:
				t.Errorf("an upload waited for %v", took)
			}
		}
		if atOnce != cap(waited)-trialCrowd || tried.Load() == 0 {
			t.Errorf("%d of %d did not wait; %d were tried", atOnce, cap(waited), tried.Load())
		}
	})
}

// TestTriedPart has the first part of a party found to hold before it counts: so it counts as checked at once.
func TestTriedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), func(c *settings) { c.try = func(context.Context, []byte) error { return nil } })
		defer b.kill()
		data := certificate(claim(b.root, eval.Lost))
		if err := b.worker("w").uploadAs(proof.IDOf(data), uint64(len(data)), data); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := b.figure("amazons_master_parts_verified_total"); n != 1 {
			t.Errorf("%v parts are counted as checked", n)
		}
	})
}

// anew has the tree of a bench grow again from its store.
type anew struct {
	loop.Campaigns
	c *settings
	s *memory
}

func (a anew) Grow(uint32) (loop.Campaign, error) {
	t, err := tree.New(tree.Config{Root: a.c.root}, a.s.snapshot())
	return a.c.about(t), err
}

// TestPassingErrors has the master fail to read a part, and to find what rests on a false one. Both pass: no worker
// offends, and what is false is taken back a little later.
func TestPassingErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data, tries := certificate(), 0
		s := newMemory()
		b := start(t, s, func(c *settings) {
			data = certificate(claim(c.root.State().CanonicalKey(c.root.Board), eval.Lost))
			s.certificates[proof.IDOf(data)] = data
			s.broken = errors.New("too many open files")
			c.Campaigns = anew{c: c, s: s}
			c.recheck = func(context.Context, proof.ID) error { return loop.ErrFalse }
			c.resting = func(_ context.Context, ids []proof.ID) ([]proof.ID, error) {
				if tries++; tries < 3 {
					return nil, errors.New("too many open files")
				}
				return ids, nil
			}
		})
		defer b.kill()
		id := proof.IDOf(data)
		w := b.worker("w")
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Facts{Facts: &farmv1.Facts{Serial: 1,
			Facts: []*farmv1.Fact{fact(b.root, farmv1.Verdict_VERDICT_LOST, id)}}}})
		_, err := w.stream.Recv()
		wantCode(t, err, codes.Unavailable, "too many open files")
		if all := b.loop.Standings(); len(all) > 0 {
			t.Errorf("the worker is to blame: %+v", all)
		}
		began := time.Now()
		if err := b.loop.Check(t.Context(), checks.Part{Campaign: 1, ID: id, Size: 1}); err != nil {
			t.Fatal(err)
		}
		for s.HasCertificate(1, id) && time.Since(began) < time.Hour {
			time.Sleep(time.Second)
		}
		if took := time.Since(began); tries != 3 || took > time.Minute || b.view().State != loop.StateRunning {
			t.Errorf("%d tries in %v; the campaign is %s: %s", tries, took, b.view().State, b.view().Why)
		}
	})
}

// TestDroppedPart: a part that was verified and dropped while the check of another worker was under way is not lost.
func TestDroppedPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		var data []byte
		var looks atomic.Int64
		b := start(t, s, func(c *settings) {
			data = certificate(claim(c.root.State().CanonicalKey(c.root.Board), eval.Lost))
			s.certificates[proof.IDOf(data)] = data
			c.Campaigns = anew{c: c, s: s}
			c.recheck = func(context.Context, proof.ID) error {
				looks.Add(1)
				return fmt.Errorf("%w: %w", loop.ErrLost, store.ErrDropped)
			}
			c.resting = func(_ context.Context, ids []proof.ID) ([]proof.ID, error) { return ids, nil }
		})
		defer b.kill()
		id := proof.IDOf(data)
		if err := b.loop.Check(t.Context(), checks.Part{Campaign: 1, ID: id, Size: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if looks.Load() != 1 || !s.HasCertificate(1, id) || b.view().State != loop.StateRunning {
			t.Errorf("%d looks, it is there: %v, the campaign is %s: %s", looks.Load(), s.HasCertificate(1, id),
				b.view().State, b.view().Why)
		}
	})
}

// TestGonePart: an answer that comes to wait for a part after that was taken back is told so. It waited for ever, and
// each later answer of the master behind it.
func TestGonePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), func(c *settings) {
			c.recheck = func(context.Context, proof.ID) error { return store.ErrNoCertificate }
		})
		defer b.kill()
		w, id, answered := b.worker("w"), proof.ID{1}, make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() {
			answered <- b.loop.Verify(ctx, []checks.Part{{Campaign: 1, ID: id, Size: 1}}, func(int, int) {})
		}()
		w.receive()
		w.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Checked{Checked: &farmv1.Checked{Campaign: 1,
			Sha256: id[:], Failed: "there is no such part"}}})
		if err := <-answered; !errors.Is(err, checks.ErrRetracted) {
			t.Errorf("the answer ends with %v", err)
		}
	})
}

// late is anew for a campaign that is added: its first tree is handed over once told.
type late struct {
	anew
	read, told chan struct{}
}

func (l late) Add(loop.Asked) (loop.Campaign, error) {
	c := l.c.about(nil)
	c.Number, c.Name = 2, "two"
	return c, nil
}

func (l late) Grow(number uint32) (loop.Campaign, error) {
	c, err := l.anew.Grow(number)
	if number == 2 {
		c.Number, c.Name = 2, "two"
		l.read <- struct{}{}
		<-l.told
	}
	return c, err
}

// TestAddedWhileTakenBack has a fact taken back while a campaign is added whose tree was read from the store before.
func TestAddedWhileTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, read, told, added := newMemory(), make(chan struct{}, 2), make(chan struct{}), make(chan error, 1)
		var id proof.ID
		b := start(t, s, func(c *settings) {
			p := c.root.After(c.root.State().Moves(nil)[0])
			key := p.State().CanonicalKey(p.Board)
			data := certificate(claim(key, eval.Lost))
			id = proof.IDOf(data)
			s.certificates[id] = data
			s.facts = []proof.Fact{{Key: key, Verdict: eval.Lost, Certificate: id}}
			c.Campaigns = late{anew{c: c, s: s}, read, told}
			c.recheck = func(context.Context, proof.ID) error { return loop.ErrFalse }
			c.resting = func(_ context.Context, ids []proof.ID) ([]proof.ID, error) { return ids, nil }
			c.conclude = func(ctx context.Context, _ loop.Evidence,
				_ func(string, string, loop.Phase)) (loop.Conclusion, error) {
				<-ctx.Done()
				return loop.Conclusion{}, ctx.Err()
			}
		})
		defer b.kill()
		go func() {
			_, err := b.loop.Add(t.Context(), loop.Asked{Name: "two", Root: b.at})
			added <- err
		}()
		<-read
		if err := b.loop.Check(t.Context(), checks.Part{Campaign: 1, ID: id, Size: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		close(told)
		if err := <-added; err != nil {
			t.Fatal(err)
		}
		views, err := b.loop.Views(t.Context())
		if err != nil || len(views) != 2 {
			t.Fatalf("%d campaigns, %v", len(views), err)
		}
		for _, v := range views {
			if n := v.Tree.FactsLost + v.Tree.FactsWon; n != 0 {
				t.Errorf("campaign %s has %d facts that were taken back", v.Name, n)
			}
		}
	})
}

// refutes has the master check a part that does not hold, and waits until it is gone.
func (b *bench) refutes(s *memory, id proof.ID) {
	b.t.Helper()
	if err := b.loop.Check(b.t.Context(), checks.Part{Campaign: 1, ID: id, Size: 1}); err != nil {
		b.t.Fatal(err)
	}
	for s.HasCertificate(1, id) {
		time.Sleep(time.Second)
	}
}

// wantQuarantined names the parties that are to be in quarantine, in order.
func (b *bench) wantQuarantined(want ...string) {
	b.t.Helper()
	var names []string
	for _, q := range b.quarantines() {
		names = append(names, q.Party.Name)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		b.t.Errorf("in quarantine are %q, want %q", names, want)
	}
}

// TestUnderWay has parts arrive after a claim was taken back that they cite. Their makers could not know, for a day:
// so long they may have been away. Who cites what was never proved has no excuse.
func TestUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, of := newMemory(), map[proof.ID]error{}
		b := start(t, s, func(c *settings) {
			c.Campaigns, c.Heartbeat = anew{c: c, s: s}, time.Minute
			c.recheck = func(_ context.Context, id proof.ID) error { return of[id] }
			c.resting = func(_ context.Context, ids []proof.ID) ([]proof.ID, error) { return ids, nil }
		})
		defer b.kill()
		keyOf := func(move int) amazons.Key {
			p := b.at.After(b.at.State().Moves(nil)[move])
			return p.State().CanonicalKey(p.Board)
		}
		for i, c := range []struct {
			worker string
			wait   time.Duration // before it comes
			lacks  []int         // moves to the positions that its part cites and nothing proves; nil: it is a lie
			lies   time.Duration // before an answer needs its part
		}{
			{"liar", 0, nil, 0}, {"an hour away", time.Hour, []int{0}, 0}, {"never proved", 0, []int{0, 20}, 0},
			{"cites one under way", 20 * time.Hour, []int{1}, 0}, {"needed later", 0, []int{0}, 28 * time.Hour},
			{"two days later", 0, []int{0}, 0},
		} {
			time.Sleep(c.wait)
			w := &worker{b: b, session: b.join(c.worker)}
			data := certificate(claim(keyOf(i), eval.Lost))
			id := proof.IDOf(data)
			lacks := map[proof.ID][]amazons.Key{}
			for _, move := range c.lacks {
				lacks[id] = append(lacks[id], keyOf(move))
			}
			if of[id] = loop.ErrFalse; c.lacks != nil {
				of[id] = fmt.Errorf("%w: %w", loop.ErrFalse, &checks.FalsePartsError{Lacks: lacks})
			}
			if _, err := w.upload(data); err != nil {
				t.Fatal(err)
			}
			if err := s.Commit([]tree.Persist{{Campaign: 1,
				Facts: []proof.Fact{{Key: keyOf(i), Verdict: eval.Lost, Certificate: id}}}}, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.lies)
			b.refutes(s, id)
		}
		b.wantQuarantined("liar", "never proved", "two days later")
	})
}

// TestBroughtAfterARestart has workers bring parts that cite what this store does not know. It may be older than what
// a known worker brings before its first lease, for a day.
func TestBroughtAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemory()
		var standings []trust.Standing
		for _, name := range []string{"known", "leased", "late"} {
			standings = append(standings, trust.Standing{Party: trust.Party{Name: name}, Solved: 1})
		}
		if err := s.SetStandings(standings); err != nil {
			t.Fatal(err)
		}
		var why error
		b := start(t, s, func(c *settings) {
			c.Campaigns, c.Heartbeat = anew{c: c, s: s}, time.Minute
			c.recheck = func(context.Context, proof.ID) error { return why }
			c.resting = func(_ context.Context, ids []proof.ID) ([]proof.ID, error) { return ids, nil }
		})
		defer b.kill()
		for i, name := range []string{"known", "new", "leased", "late"} {
			w := &worker{b: b, session: b.join(name)}
			switch name {
			case "leased":
				w.connect()
				w.lease()
			case "late":
				time.Sleep(25 * time.Hour)
				w.session = b.join(name)
			}
			p := b.at.After(b.at.State().Moves(nil)[i])
			data := certificate(claim(p.State().CanonicalKey(p.Board), eval.Lost))
			id := proof.IDOf(data)
			why = fmt.Errorf("%w: %w", loop.ErrFalse,
				&checks.FalsePartsError{Lacks: map[proof.ID][]amazons.Key{id: {{A: 1}}}})
			if _, err := w.upload(data); err != nil {
				t.Fatal(err)
			}
			b.refutes(s, id)
		}
		b.wantQuarantined("late", "leased", "new")
	})
}

// TestLargestUpload has one of just as many bytes as are allowed: there is memory for it while its buffer grows.
func TestLargestUpload(t *testing.T) {
	const size = 43<<20 + 1
	b := start(t, newMemory(), func(c *settings) { c.services.MaxCertificateBytes = size })
	defer b.kill()
	chunks := make([][]byte, 0, 44)
	for left := size; left > 0; left -= len(chunks[len(chunks)-1]) {
		chunks = append(chunks, make([]byte, min(left, farmv1.ChunkBytes)))
	}
	wantCode(t, b.worker("w").uploadAs(proof.ID{1}, size, chunks...), codes.DataLoss, "has the SHA-256")
}

// TestNothingIsSaid opens calls and says nothing: they are ended.
func TestNothingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newMemory(), func(c *settings) { c.services.CallIdle = 10 * time.Second })
		defer b.kill()
		began := time.Now()
		work, err := b.farm.Work(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = work.Recv()
		wantCode(t, err, codes.DeadlineExceeded, "no hello")
		upload, err := b.farm.UploadCertificate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, upload.RecvMsg(new(farmv1.UploadCertificateResponse)), codes.Aborted, "nothing for 10s")
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("both took %v", took)
		}
	})
}

// TestFactOfRemovedPart: the claims of a part stay known after it was taken back or collected. A fact that names it
// then is refused, and the campaign goes on.
func TestFactOfRemovedPart(t *testing.T) {
	s := newMemory()
	b := start(t, s, func(*settings) {})
	defer b.kill()
	w := b.worker("w")
	l := w.lease()
	id := w.uploadLost()
	s.mu.Lock()
	delete(s.certificates, id)
	s.mu.Unlock()
	w.sendLost(1, l, id)
	if a := w.ack(1); !strings.Contains(a.GetRefused(), "not among those that were received") {
		t.Errorf("refused with %q", a.GetRefused())
	}
	if facts := s.snapshot().Facts; len(facts) > 0 || b.view().State != loop.StateRunning {
		t.Errorf("facts %v, the campaign is %s", facts, b.view().State)
	}
}
