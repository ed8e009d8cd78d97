package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"amazonsfarm/master/store"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/worker/agent"
)

// settle is how long the workers are left alone before their memory is read.
const settle = 2 * time.Second

// fleet is all the workers of a run.
type fleet struct {
	settings
	conns  []*grpc.ClientConn
	record record
	parts  *evidence
	joined atomic.Int64
	fail   context.CancelCauseFunc // ends the run with the first worker whose stream breaks
	group  sync.WaitGroup
}

// run starts a master, loads it, and writes the table.
func (s *settings) run(ctx context.Context, out, log io.Writer) (err error) {
	folder := s.store
	if folder == "" {
		if folder, err = os.MkdirTemp("", "throughput"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	file := filepath.Join(folder, "throughput.store")
	parts, err := s.prepare(ctx, log)
	if err != nil {
		return err
	}
	began := time.Now()
	master, err := s.serve(ctx, file, log)
	if err != nil {
		return err
	}
	defer master.Kill()
	took := time.Since(began)
	m, err := s.load(ctx, master, parts, file, log)
	m.start = took
	master.Kill()
	if err != nil {
		return err
	}
	if m.kept, err = kept(file); err != nil {
		return err
	}
	s.write(out, m)
	return s.judge(m)
}

// prepare proves what the workers deliver.
func (s *settings) prepare(ctx context.Context, log io.Writer) (*evidence, error) {
	if s.parts == 0 {
		return nil, nil
	}
	board, err := amazons.ParseBoard(s.board)
	if err != nil {
		return nil, err
	}
	done := int64(0)
	hide := cli.NewStatusLine(log).Show(ctx, func() string {
		return fmt.Sprintf("%d of %d parts are prepared", atomic.LoadInt64(&done), s.parts)
	})
	defer hide()
	return prepare(ctx, board, s.parts, func(n int64) { atomic.StoreInt64(&done, n) })
}

// load connects the workers and watches the master while they work.
func (s *settings) load(ctx context.Context, master *farm.Process, parts *evidence, file string, log io.Writer) (
	m measured, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	f := &fleet{settings: *s, parts: parts, fail: cancel}
	defer func() {
		cancel(nil)
		f.group.Wait()
		for _, c := range f.conns {
			_ = c.Close()
		}
	}()
	if err := f.connect(master.Workers); err != nil {
		return m, err
	}
	control := farmv1.NewControlClient(f.conns[0])
	if _, err := control.Pause(ctx, &farmv1.PauseRequest{}, grpc.WaitForReady(true)); err != nil {
		return m, fmt.Errorf("pause: %w", err)
	}
	if m.alone, err = ask(master); err != nil {
		return m, err
	}
	if err := f.join(ctx, log); err != nil {
		return m, err
	}
	if err := farm.Wait(ctx, settle); err != nil {
		return m, err
	}
	if m.idle, err = ask(master); err != nil {
		return m, err
	}
	f.record.take()
	begun := time.Now()
	if _, err := control.Resume(ctx, &farmv1.ResumeRequest{}); err != nil {
		return m, fmt.Errorf("resume: %w", err)
	}
	before, mine := m.idle, processor()
	before.at = begun
	for !s.enough(&m, time.Since(begun)) {
		if err := farm.Wait(ctx, s.window); errors.Is(err, errNoMore) && len(m.windows) > 0 {
			fmt.Fprintln(log, "throughput:", err)
			break
		} else if err != nil {
			return m, err
		}
		g, err := ask(master)
		if err != nil {
			return m, err
		}
		w := window{tally: f.record.take(), from: before, to: g, workers: processor() - mine}
		w.seconds = g.at.Sub(begun).Seconds()
		if info, err := os.Stat(file); err == nil {
			w.store = info.Size()
		}
		m.windows = append(m.windows, w)
		m.results, m.nodes, m.refused = m.results+w.results, m.nodes+w.nodes, m.refused+w.refused
		fmt.Fprintf(log, "throughput: %.0f s, %d results, %.0f positions\n", w.seconds, m.results, g.positions)
		before, mine = g, processor()
	}
	cancel(nil)
	f.group.Wait() // what is acknowledged until then is counted
	last := f.record.take()
	m.results, m.nodes, m.refused = m.results+last.results, m.nodes+last.nodes, m.refused+last.refused
	m.refusal = f.record.refusal
	return m, nil
}

// enough reports whether the run has what was asked for.
func (s *settings) enough(m *measured, past time.Duration) bool {
	if past >= s.limit {
		return true
	}
	if len(m.windows) == 0 {
		return false
	}
	last := m.windows[len(m.windows)-1].to
	if s.positions > 0 {
		return last.positions >= float64(s.positions)
	}
	return s.results > 0 && m.results >= s.results
}

func (f *fleet) connect(address string) error {
	options := append(agent.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10)) // this process holds all of them
	for range f.connections {
		c, err := grpc.NewClient("passthrough:///"+address, options...)
		if err != nil {
			return err
		}
		f.conns = append(f.conns, c)
	}
	return nil
}

// join has all workers join, some at a time, and begin to work.
func (f *fleet) join(ctx context.Context, log io.Writer) error {
	board, err := amazons.ParseBoard(f.board)
	if err != nil {
		return err
	}
	hide := cli.NewStatusLine(log).Show(ctx, func() string {
		return fmt.Sprintf("%d of %d workers have joined", f.joined.Load(), f.workers)
	})
	defer hide()
	doors := make(chan struct{}, 32)
	for i := range f.workers {
		select {
		case doors <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		f.group.Go(func() {
			w := &synthetic{settings: f.settings, name: fmt.Sprintf("synthetic-%d", i), board: board, record: &f.record,
				random: rand.New(rand.NewPCG(1, uint64(i))), parts: f.parts, hands: make(chan handed),
				sent: map[uint64]delivered{}}
			own, stop := context.WithCancel(ctx)
			defer stop()
			w.stop = stop
			err := w.join(own, f.conns[i%len(f.conns)])
			<-doors
			if err == nil {
				f.joined.Add(1)
				err = w.run(own)
			}
			if err != nil {
				f.fail(err)
			}
		})
	}
	for range cap(doors) { // until the last has joined
		select {
		case doors <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// kept returns what the store holds after the master was killed.
func kept(file string) (st store.Stats, err error) {
	s, err := store.Open(file, store.Options{ReadOnly: true, LockTimeout: 5 * time.Second})
	if err != nil {
		return st, fmt.Errorf("the store after the kill: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Stats()
}

// processor returns the seconds of processor time that this process has used.
func processor() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
