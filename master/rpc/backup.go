package rpc

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"hash"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/loop"
	farmv1 "amazonsfarm/proto/farm/v1"
)

// backupPatience is how long a backup waits for a reader.
const backupPatience = time.Minute

// errNotRead ends a backup that nobody reads.
var errNotRead = status.Error(codes.Aborted, "the backup was not read for too long, and is ended; ask for it again")

// Backup sends a copy of the store. The reading transaction behind it belongs to a goroutine of its
// own: this one may wait for a caller that does not read for as long as the connection lives, and
// the store must not.
func (c *controlService) Backup(_ *farmv1.BackupRequest, stream farmv1.Control_BackupServer) error {
	select {
	case c.backups <- struct{}{}:
	default:
		return status.Error(codes.ResourceExhausted, "another backup is under way; try again when it has ended")
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	w := &chunks{ctx: ctx, done: c.loop.Done(), out: make(chan *farmv1.BackupResponse), sum: sha256.New()}
	// There is room for the one error, so the goroutine ends even where nobody asks for it.
	failed := make(chan error, 1)
	begun := time.Now()
	go func() {
		defer func() { <-c.backups }()
		buffered := bufio.NewWriterSize(w, farmv1.ChunkBytes)
		n, err := c.loop.Store().Backup(buffered, func(size int64) error {
			return w.hand(&farmv1.BackupResponse{Size: uint64(size)})
		})
		if err == nil {
			err = buffered.Flush()
		}
		if err == nil {
			err = w.hand(&farmv1.BackupResponse{Sha256: w.sum.Sum(nil)})
		}
		c.log.Info("backup ended", "bytes", n, "seconds", time.Since(begun).Seconds(), "error", err)
		failed <- err
		close(w.out)
	}()
	for msg := range w.out {
		if err := stream.Send(msg); err != nil {
			return err // cancel ends the goroutine
		}
	}
	return <-failed
}

// chunks makes messages of what is written to it, and hands them over one at a time.
type chunks struct {
	ctx  context.Context
	done <-chan struct{} // closed when the master has ended
	out  chan *farmv1.BackupResponse
	sum  hash.Hash
}

// Write hands out copies of what comes, and counts it in the sum.
func (c *chunks) Write(p []byte) (int, error) {
	c.sum.Write(p)
	for part := range slices.Chunk(p, farmv1.ChunkBytes) {
		if err := c.hand(&farmv1.BackupResponse{Data: bytes.Clone(part)}); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// hand waits until the goroutine of the call takes a message. The wait is bounded: while the reading
// transaction is open, bbolt cannot use the pages again that commits replace, and the file grows.
func (c *chunks) hand(msg *farmv1.BackupResponse) error {
	timer := time.NewTimer(backupPatience)
	defer timer.Stop()
	select {
	case c.out <- msg:
		return nil
	case <-timer.C:
		return errNotRead
	case <-c.done:
		return loop.ErrEnded
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}
