package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"amazonsfarm/scripts/lab/farm"
)

// machine plays what goes wrong without anybody's fault: a machine that is busy with other things, and a
// disk that cannot be written to any more.
func (s *settings) machine(ctx context.Context) error {
	var table rows
	alone, err := s.play(ctx, "quiet", nil)
	if err != nil {
		return err
	}
	table.add(alone)
	busy, err := s.busy(ctx, 4)
	if err != nil {
		return err
	}
	table.add(busy)
	fmt.Println()
	if err := table.err(); err != nil {
		return err
	}
	return s.readOnly(ctx, alone)
}

// busy plays a campaign beside loops that do nothing.
func (s *settings) busy(ctx context.Context, loops int) (*outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range loops {
		c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			return nil, err
		}
		all.Go(func() { _ = c.Wait() })
	}
	return s.play(ctx, fmt.Sprintf("beside %d busy loops", loops), nil)
}

// readOnly has the file system of the store fail under a master, as a broken disk makes it: everything that
// is written is refused from then on. The master ends with one sentence; with the disk back it goes on. Only
// root can play this.
func (s *settings) readOnly(ctx context.Context, alone *outcome) error {
	folder, image := filepath.Join(s.folder, "read-only"), filepath.Join(s.folder, "image")
	err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(image, nil, 0o600), os.Truncate(image, 1<<30))
	if err != nil {
		return err
	}
	do := func(args ...string) error { return farm.Do(ctx, args...) }
	if err := errors.Join(do("mkfs.ext4", "-q", image), do("mount", "-o", "loop", image, folder)); err != nil {
		fmt.Printf("a disk that fails: not tried: %v\n", err)
		return nil
	}
	defer func() { _ = do("umount", "-l", folder) }()
	log, err := os.Create(filepath.Join(s.folder, "read-only.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	m := &served{settings: s, folder: folder, log: log}
	if err := errors.Join(m.prepare(), m.out.Close()); err != nil {
		return err
	}
	if m.out, err = os.Create(filepath.Join(s.folder, "answer")); err != nil {
		return err
	}
	if err := m.start(ctx); err != nil {
		return err
	}
	began := time.Now()
	w, err := farm.Start("worker", log, s.worker, "run", "--master", m.workers, "--cores", "1", "--table", "64MiB",
		"--name", "honest-0", "--log-level", "error")
	if err != nil {
		return err
	}
	defer w.Kill()
	_ = farm.Wait(ctx, time.Duration(alone.seconds/3*float64(time.Second)))
	if err := do("mount", "-o", "remount,abort", folder); err != nil {
		return err
	}
	if !m.process.EndsWithin(time.Minute) {
		m.process.Kill()
		return errors.New("the master goes on although its disk fails")
	}
	data, err := os.ReadFile(log.Name())
	if err != nil {
		return err
	}
	fmt.Printf("a disk that fails: exit code %d, %.1f s after the campaign began: %s\n",
		m.process.Cmd.ProcessState.ExitCode(), time.Since(began).Seconds(), last(string(data)))
	if err := errors.Join(do("umount", folder), do("mount", "-o", "loop", image, folder)); err != nil {
		return err
	}
	if err := errors.Join(m.start(ctx), m.checkLater(ctx)); err != nil {
		return err
	}
	if a := m.answer(); !a.Verified || a.Winner != alone.answer.Winner {
		return fmt.Errorf("with the disk back: %+v", a)
	}
	fmt.Printf("with the disk back it ends right and verified\n")
	return nil
}

// checkLater waits for the end of the campaign, and goes over the store then.
func (m *served) checkLater(ctx context.Context) error {
	select {
	case <-m.process.Ended:
		return m.checkStore()
	case <-time.After(m.limit):
		m.process.Kill()
		return errors.New("the campaign does not end")
	case <-ctx.Done():
		m.process.Kill()
		return ctx.Err()
	}
}

// last returns the last line of a text.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
