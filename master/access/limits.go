package access

import (
	"cmp"
	"math"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Limits bound what one identity may use of a master, all its connections together; what is over
// them is refused with RESOURCE_EXHAUSTED. Processes that share a credential share its limits.
// Zero stands for the default. Without credentials nobody is known, and only the limits of the
// whole master hold (Config).
type Limits struct {
	// MessagesPerSecond is the rate of messages and calls. Unit: messages a second; default 4000. A
	// worker sends one a second while it searches, and two for each lease. Too small: streams of
	// good workers are ended and come back, which costs time; too large: one worker can keep the
	// master busy. Below Config.SessionMessages a flood is refused before it counts as an offence
	// of its worker: several that share a credential come to it without any fault.
	MessagesPerSecond float64
	// MessageBurst is how many may come at once. Unit: messages; default 4 seconds' worth. Too
	// small: as above, when a worker brings in what it had while the master was away.
	MessageBurst int
	// OpenCalls is the number of calls and streams at one time. Unit: calls; default 64. A worker
	// needs two and an operator one for each watch. Too small: of the workers that share a
	// credential some cannot join; too large: one worker can hold all upload slots.
	OpenCalls int
	// UploadBytes is the announced size of all uploads at one time, which are held in memory while
	// they come. Unit: bytes; default 1 GiB. A larger certificate of a worker is never taken.
	UploadBytes int64
}

// complete fills in the defaults.
func (l *Limits) complete() {
	l.MessagesPerSecond = cmp.Or(l.MessagesPerSecond, 4000)
	l.MessageBurst = cmp.Or(l.MessageBurst, int(min(max(1, 4*l.MessagesPerSecond), 1<<30)))
	l.OpenCalls = cmp.Or(l.OpenCalls, 64)
	l.UploadBytes = cmp.Or(l.UploadBytes, 1<<30)
}

// account is what one identity uses now. Connections are counted under Guard.mu.
type account struct {
	limits      Limits
	messages    *rate.Limiter
	connections atomic.Int64
	calls       *semaphore.Weighted // one for each open call
	uploads     *semaphore.Weighted // one for each byte that an upload has announced
}

func newAccount(l Limits) *account {
	return &account{limits: l, messages: rate.NewLimiter(rate.Limit(l.MessagesPerSecond), l.MessageBurst),
		calls: semaphore.NewWeighted(int64(l.OpenCalls)), uploads: semaphore.NewWeighted(l.UploadBytes)}
}

// idle reports whether nothing is lost by forgetting the account: nothing is open, and as many
// messages are allowed as ever. Where no connection is, no call begins meanwhile.
func (a *account) idle() bool {
	all := int64(a.limits.OpenCalls)
	if a.connections.Load() > 0 || a.messages.Tokens() < float64(a.limits.MessageBurst) || !a.calls.TryAcquire(all) {
		return false
	}
	a.calls.Release(all)
	return true
}

// reserve counts the announced size of an upload until the call ends.
func (c *guardedCall) reserve(size uint64) error {
	p := c.caller
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return status.Error(codes.Canceled, "the call is over")
	}
	if size > math.MaxInt64 || !p.account.uploads.TryAcquire(int64(size)) {
		return p.refuse(ReasonUploads, codes.ResourceExhausted,
			"with %d bytes more, the uploads of %v are over their limit of %d bytes", size, p.identity,
			p.account.limits.UploadBytes)
	}
	c.reserved = int64(size)
	return nil
}
