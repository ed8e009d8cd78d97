package rpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// errNotRead ends a backup that nobody reads.
var errNotRead = status.Error(codes.Aborted, "the backup was not read for too long, and is ended; ask for it again")

// Backup sends a copy of the store. The reading transaction behind it belongs to a goroutine of its
// own: this one may wait for a caller that does not read for as long as the connection lives, and
// the store must not.
func (c *controlService) Backup(_ *farmv1.BackupRequest, stream farmv1.Control_BackupServer) error {
	m := c.master
	select {
	case m.backups <- struct{}{}:
	default:
		return status.Error(codes.ResourceExhausted, "another backup is under way; try again when it has ended")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	w := &chunks{ctx: ctx, done: m.done, patience: m.cfg.BackupPatience, out: make(chan *farmv1.BackupResponse),
		sum: sha256.New()}
	failed := make(chan error, 1)
	begun := m.cfg.Now()
	go func() {
		defer func() { <-m.backups }()
		n, err := m.store.Backup(w, func(size int64) error {
			return w.hand(
				&farmv1.BackupResponse{Size: uint64(size)})
		})
		if err == nil {
			err = w.finish()
		}
		m.cfg.Log.Info("backup ended", "bytes", n, "seconds", m.cfg.Now().Sub(begun).Seconds(), "error", err)
		failed <- err
		close(w.out)
	}()
	for msg := range w.out {
		if err := stream.Send(msg); err != nil {
			return err // cancel ends the goroutine
		}
	}
	err := <-failed
	if s := (interface{ GRPCStatus() *status.Status })(nil); errors.As(err, &s) {
		return s.GRPCStatus().Err()
	}
	if err != nil {
		return status.Errorf(codes.Internal, "%v", err)
	}
	return nil
}

// chunks makes messages of what is written to it, and hands them over one at a time.
type chunks struct {
	ctx      context.Context
	done     <-chan struct{} // closed when the master has ended
	patience time.Duration
	out      chan *farmv1.BackupResponse
	sum      hash.Hash
	data     []byte
}

func (c *chunks) Write(p []byte) (int, error) {
	c.sum.Write(p)
	for rest := p; len(rest) > 0; {
		if c.data == nil {
			c.data = make([]byte, 0, farmv1.ChunkBytes)
		}
		n := min(farmv1.ChunkBytes-len(c.data), len(rest))
		c.data = append(c.data, rest[:n]...)
		rest = rest[n:]
		if len(c.data) == farmv1.ChunkBytes {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (c *chunks) flush() error {
	data := c.data
	c.data = nil // the message is sent by another goroutine
	if len(data) == 0 {
		return nil
	}
	return c.hand(&farmv1.BackupResponse{Data: data})
}

// finish sends the rest, and the word that it is whole.
func (c *chunks) finish() error {
	if err := c.flush(); err != nil {
		return err
	}
	return c.hand(&farmv1.BackupResponse{Sha256: c.sum.Sum(nil)})
}

func (c *chunks) hand(msg *farmv1.BackupResponse) error {
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case c.out <- msg:
		return nil
	case <-timer.C:
		return errNotRead
	case <-c.done:
		return errEnded
	case <-c.ctx.Done():
		return status.FromContextError(c.ctx.Err()).Err()
	}
}
