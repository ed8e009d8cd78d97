// Package rpc is the master's shell: the gRPC services around one loop that owns the tree.
//
// Handlers turn messages into events and put them into one bounded queue. The loop takes a batch of
// what is queued, steps the tree for each event, makes what must survive durable in one commit, and
// only then sends acknowledgements, leases and cancellations: what a worker has been told is on
// disk. Nothing else touches the tree, so it needs no locks.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/schedule"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// The states of a campaign.
const (
	StateRunning    = "running"    // leases are granted
	StatePaused     = "paused"     // no new leases, for an operator or for want of room; running ones go on
	StateDraining   = "draining"   // no new leases; running ones are called back, then the process ends
	StateAssembling = "assembling" // the winner is known; the certificate is being put together
	StateVerifying  = "verifying"  // the checker goes over it
	StateSettled    = "settled"    // the winner is known and verified
	StateStopped    = "stopped"    // something is wrong, a person has to look; Why says what
	StateEnded      = "ended"      // an operator gave the campaign up
)

// Errors that end Run.
var (
	// ErrDrained: Drain was asked for and all leases are back.
	ErrDrained = errors.New("drained")
	// ErrLimit: Config.MaxNodes were spent and all leases are back.
	ErrLimit = errors.New("node limit reached")
	// ErrStore: the store took no commit; what was not acknowledged is done again after a restart.
	ErrStore = errors.New("commit to the store")
	// ErrContradiction is wrapped by a ContradictionError.
	ErrContradiction = errors.New("contradiction")
	// errConfig: a setting is out of its range.
	errConfig = errors.New("bad master setting")
)

// ContradictionError says which two claims exclude each other. The campaign stays stopped, also
// after a restart.
type ContradictionError struct {
	Position string // as text
	tree.Contradiction
}

// Error shows both sides.
func (e *ContradictionError) Error() string {
	return fmt.Sprintf("contradiction at %s: known as %s, now claimed as %s; the campaign is stopped until a person has looked at both certificates",
		e.Position, e.Known, e.Claim)
}

// Unwrap returns ErrContradiction.
func (e *ContradictionError) Unwrap() error { return ErrContradiction }

// Store is what the loop and the uploads need of a proof store. Methods may be called at the same time.
type Store interface {
	// Commit makes the effects of several steps durable in one transaction, in their order, and
	// keeps the memories if there is room.
	Commit([]tree.Persist, []Memory) error
	// Memory returns the memory kept for a position of a campaign, nil if there is none.
	Memory(campaign uint32, key amazons.Key) ([]byte, error)
	// PutCertificate keeps a certificate of a campaign durably. known says that it was there
	// before. The data is that of id.
	PutCertificate(campaign uint32, id proof.ID, data []byte) (known bool, err error)
	// Certificate returns a certificate for the facts that a campaign shares, or an error that
	// wraps ErrNoCertificate.
	Certificate(campaign uint32, id proof.ID) ([]byte, error)
	// HasCertificate reports whether Certificate would return one.
	HasCertificate(campaign uint32, id proof.ID) bool
	// Certificates returns how many there are, and their bytes in all.
	Certificates() (count int, bytes int64)
	// Quarantines returns who is quarantined; Quarantine keeps durably that a party is, and Release
	// that it is not any more.
	Quarantines() ([]Quarantine, error)
	Quarantine(Quarantine) error
	Release(Party) error
	// Standings returns what is known of parties; SetStandings keeps it durably, all in one
	// transaction: an empty one takes away what there was, and that of a party in quarantine is
	// passed over. Quarantine and Release take away that of their party.
	Standings() ([]Standing, error)
	SetStandings([]Standing) error
	// Room returns nil if there is room for more bytes, beside what is to stay free, and otherwise
	// an error that wraps ErrNoRoom. Commit and PutCertificate return such errors as well where
	// nothing was written for want of room.
	Room(more int64) error
	// Backup writes a consistent copy of the whole store to w while it is in use; begun is told its
	// size before the first byte.
	Backup(w io.Writer, begun func(size int64) error) (int64, error)
}

// ErrNoRoom is wrapped by errors that pass when somebody makes room on a disk. The campaign pauses
// until then.
var ErrNoRoom = errors.New("no room")

// ErrNoCertificate is wrapped by Store.Certificate where there is none of that id.
var ErrNoCertificate = errors.New("no such certificate")

// ErrOther is wrapped by ReadRoots where a certificate is for another board or kind of proof.
var ErrOther = errors.New("it is for another board or kind of proof")

// ErrFalse is wrapped by Config.Admit where a certificate does not prove what it claims.
var ErrFalse = errors.New("the certificate does not hold")

// Root is a claim of a certificate: a canonical position and who wins it.
type Root struct {
	Key     amazons.Key
	Verdict eval.Verdict
}

// Conclusion is what is known of a settled campaign after its certificate was made and checked.
type Conclusion struct {
	Winner       string // first, second, white or black; empty where no given first move wins
	Verified     bool   // the checker accepted the certificate
	File         string // of the certificate
	Positions    uint64 // its entries
	Bytes        uint64 // its size
	SHA256       string // of the file
	WinningMoves []string
}

// Evidence is what the tree itself contributes to the certificate of a settled campaign.
type Evidence struct {
	Settled    tree.Settled
	Won        []tree.WonNode
	FirstMoves []tree.FirstMove
	Spent      uint64
}

// Config holds the settings of a Master. Zero stands for the default where one is named.
type Config struct {
	Root       amazons.Position // of the campaign, for New; also where New is said below
	FirstMoves []amazons.Move   // for New: when given, only these are tried
	RulesOnly  bool             // for New: certificates may use leaf rule 1 alone
	StoreFile  string           // shown in the status

	// Campaigns keeps the campaigns that operators add and change. nil: they cannot.
	Campaigns Campaigns
	// Schedule says how the work is divided among campaigns.
	Schedule schedule.Config

	// Build names this build. A worker of another build is refused unless AllowOtherBuilds: its
	// node counts cannot be compared. Its facts are as good as any, since certificates are checked.
	// Empty: every build is taken.
	Build            string
	AllowOtherBuilds bool

	// Heartbeat is how often a worker reports; the tree's tick. Default 1 s. Too short: traffic;
	// too long: lost workers are noticed late, after three of them.
	Heartbeat time.Duration
	// Ticks, if not nil, takes the place of a ticker of one Heartbeat.
	Ticks <-chan time.Time
	// Now is the clock for what people see. Default time.Now.
	Now func() time.Time

	// QueueEvents bounds the events that wait for the loop; beyond it, the streams of workers wait.
	// Default 16,384, three for each of 5,000 workers. Too small: heartbeats wait where a late
	// master cannot see them, and it takes leases for lost.
	QueueEvents int
	// BatchEvents bounds the events of one commit. Default 1024. Too small: a commit for each
	// event; too large: late answers.
	BatchEvents int
	// SendQueue bounds the messages that wait for one worker; a worker that does not read them is
	// cut off. Default 256.
	SendQueue int
	// MaxWorkers bounds the sessions; more are refused with RESOURCE_EXHAUSTED. Default 10,000.
	MaxWorkers int
	// SessionTicks is how long a session without a stream lives. Default 30 ticks.
	SessionTicks int
	// LeavingTicks is how long a worker whose stream broke keeps its leases, if it comes back.
	// Default 3 ticks.
	LeavingTicks int
	// Slots is the number of leases a worker may hold: one running, the next in hand. Default 2.
	Slots int
	// MaxCertificateBytes bounds one upload. Default 1 GiB. Uploads are held in memory while they come.
	MaxCertificateBytes int64
	// MaxUploads bounds the uploads at one time; more are refused with RESOURCE_EXHAUSTED, to be
	// tried again. Default 8.
	MaxUploads int
	// MaxFacts bounds the facts of one message. Default 4096.
	MaxFacts int
	// MinFactNodes is the work below which a fact is not worth sending. Default 1000.
	MinFactNodes uint64
	// MaxMemoryEntries is how many entries of its table a worker sends along with a position it
	// leaves unsolved, about 13 bytes each. Default 4,096; negative: none. Too small: whoever goes
	// on with the position searches more of it again. Too large: traffic.
	MaxMemoryEntries int
	// MemoryBytes is the room for such memories in the master's own memory. Default 256 MiB. Too
	// small: those of positions that nobody has asked for lately are gone, but for the few in the
	// store.
	MemoryBytes int64
	// KnownCertificates bounds the certificates whose claims are kept in memory. Default 256;
	// others are read again.
	KnownCertificates int
	// RecentFacts is how many of the latest facts are kept for people to look at. Default 100.
	RecentFacts int
	// ShownTicks is how long the tree of a campaign that is over stays in memory after somebody
	// explored it. Default 60 ticks. Short: it is read from the store again and again; long: memory
	// is used for what nobody looks at.
	ShownTicks int
	// SpareBytes is how much more room than the store asks for there must be before a campaign goes
	// on that paused for want of it. Unit: bytes; default 16 MiB. Too small: it may stop and go
	// every second; large: it stands still for longer.
	SpareBytes int64
	// AgainTicks is how long to wait before a certificate that found no room is put together again.
	// Default 30 ticks.
	AgainTicks int
	// MaxHeld bounds the messages of one worker that wait for room; a sound worker sends four and
	// waits for their acknowledgement. One that sends more is cut off. Default 64.
	MaxHeld int
	// BackupPatience is how long a backup waits for an operator who does not read it, before it is
	// ended. Default 1 min. Short: slow connections get none; long: the store's file grows
	// meanwhile, since no page that the backup needs is used again.
	BackupPatience time.Duration
	// MaxNodes, if not 0, ends the run when that many nodes were spent in all campaigns together,
	// with ErrLimit. Leases in flight are called back and counted.
	MaxNodes uint64

	// ReadRoots, for New, reads a certificate of the campaign's board and kind of proof and returns
	// its claims, canonical. Required there.
	ReadRoots func(data []byte) ([]Root, error)
	// Admit, for New, verifies a certificate of a worker before it is stored. Its error wraps
	// ErrFalse where the certificate does not hold; keep is called once it is stored. nil:
	// certificates are stored as they come.
	Admit func(ctx context.Context, data []byte) (keep func(), err error)
	// MaxOffences is the number of offences (offences.go) after which a party (Party) is
	// quarantined: the streams of its workers are ended and none of them may join, until an
	// operator releases it. Default 3. 1: nothing is forgiven; large: a liar keeps the others busy
	// for longer.
	MaxOffences int
	// MaxOffenders bounds the parties of which is kept, in memory and in the store, what others
	// think of their results and what they have done: their standing. Default 10,000. Beyond it the
	// one is forgotten with the fewest offences, of equals the one that was seen longest ago, so a
	// quarantined one only when all are. Too small: sound workers are new ones after a restart, and
	// whoever comes under many names makes room for those that are quarantined; large: memory, 1
	// KiB each.
	MaxOffenders int
	// SessionMessages is the rate of messages on the stream of one worker; more are an offence and
	// end the stream. Unit: messages a second; default 2000. A worker sends one a second while it
	// searches, and two for each lease. Too small: good workers on tiny budgets are sent away; too
	// large: one worker can keep the master busy.
	SessionMessages float64
	// SessionBurst is how many may come at once. Unit: messages; default 4 seconds' worth.
	SessionBurst int
	// CallIdle is how long a call of a worker waits for the next message that is due: the hello of
	// a stream, the next chunk of an upload, of 1 MiB at most. Then the call is ended and its place
	// is free. Default 1 min. Short: workers on slow lines get no large certificate through; long:
	// uploads whose sender is gone hold their places for longer.
	CallIdle time.Duration
	// UploadRate is how fast an upload has to come on the whole, apart from CallIdle once; a slower
	// one is ended, to be tried again. Unit: bytes a second; default 32 KiB; negative: as slowly as
	// CallIdle allows. Small: one that sends a byte now and then holds a place for long; large:
	// slow lines get nothing through.
	UploadRate int64
	// SessionUploads bounds the uploads of one worker at one time; more are refused with
	// RESOURCE_EXHAUSTED, to be tried again. Default 2: a worker uploads one, and may have broken
	// off another of which the master does not know yet. Too large: one worker can hold all of
	// MaxUploads.
	SessionUploads int
	// OwnerUploads bounds the uploads of all workers with one certificate at one time, as
	// SessionUploads does those of one worker. Default: three quarters of MaxUploads, but
	// SessionUploads at least. Too small: workers that share a certificate wait for each other; too
	// large: they can hold all of MaxUploads.
	OwnerUploads int
	// Conclude, for New, makes and checks the certificate once the tree is settled. It may report
	// StateAssembling and StateVerifying. An error stops the campaign. Required there.
	Conclude func(ctx context.Context, e Evidence, report func(state, why string)) (Conclusion, error)
	// Look, for New, says if it is not nil what the certificates of the store prove of a position,
	// where the tree knows no more; it is called from several goroutines at the same time.
	Look Look
	// Stay keeps the master serving after its campaign is settled or stopped, until the context of
	// Run ends.
	Stay bool

	Metrics *Metrics     // default: on a registry nobody reads
	Log     *slog.Logger // default: discards
}

func (c *Config) complete() error {
	if c.SessionMessages == 0 {
		c.SessionMessages = 2000
	}
	if !(c.SessionMessages > 0) {
		return fmt.Errorf("%w: SessionMessages %v is not more than 0", errConfig, c.SessionMessages)
	}
	for _, s := range []struct {
		name  string
		field *int
		value int
	}{
		{"QueueEvents", &c.QueueEvents, 1 << 14}, {"BatchEvents", &c.BatchEvents, 1024},
		{"SendQueue", &c.SendQueue, 256},
		{"MaxWorkers", &c.MaxWorkers, 10_000}, {"SessionTicks", &c.SessionTicks, 30},
		{"LeavingTicks", &c.LeavingTicks, 3},
		{"Slots", &c.Slots, 2}, {"MaxUploads", &c.MaxUploads, 8}, {"MaxFacts", &c.MaxFacts, 4096},
		{"MaxOffences", &c.MaxOffences, 3},
		{"MaxOffenders", &c.MaxOffenders, 10_000}, {"SessionUploads", &c.SessionUploads, 2},
		{"KnownCertificates", &c.KnownCertificates, 256},
		{"RecentFacts", &c.RecentFacts, 100}, {"AgainTicks", &c.AgainTicks, 30}, {"ShownTicks", &c.ShownTicks, 60},
		{"MaxHeld", &c.MaxHeld, 64},
		{"SessionBurst", &c.SessionBurst, int(min(max(1, 4*c.SessionMessages), 1<<30))},
	} {
		if *s.field == 0 {
			*s.field = s.value
		}
		if *s.field < 1 {
			return fmt.Errorf("%w: %s %d is less than 1", errConfig, s.name, *s.field)
		}
	}
	if c.OwnerUploads == 0 {
		c.OwnerUploads = max(c.SessionUploads, c.MaxUploads*3/4)
	}
	if c.OwnerUploads < 1 {
		return fmt.Errorf("%w: OwnerUploads %d is less than 1", errConfig, c.OwnerUploads)
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = hints.DefaultBytes
	}
	if c.MemoryBytes < 0 {
		return fmt.Errorf("%w: MemoryBytes %d is negative", errConfig, c.MemoryBytes)
	}
	if c.SpareBytes == 0 {
		c.SpareBytes = 16 << 20
	}
	if c.BackupPatience == 0 {
		c.BackupPatience = time.Minute
	}
	if c.CallIdle == 0 {
		c.CallIdle = time.Minute
	}
	if c.UploadRate == 0 {
		c.UploadRate = 32 << 10
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MaxCertificateBytes == 0 {
		c.MaxCertificateBytes = 1 << 30
	}
	switch {
	case c.MaxMemoryEntries == 0:
		c.MaxMemoryEntries = 1 << 12
	case c.MaxMemoryEntries < 0:
		c.MaxMemoryEntries = 0
	case c.MaxMemoryEntries > 1<<18:
		return fmt.Errorf("%w: MaxMemoryEntries %d; at most %d fit in a message", errConfig, c.MaxMemoryEntries, 1<<18)
	}
	if c.MinFactNodes == 0 {
		c.MinFactNodes = 1000
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case c.Heartbeat < time.Millisecond:
		return fmt.Errorf("%w: Heartbeat %v is less than a millisecond", errConfig, c.Heartbeat)
	case c.SpareBytes < 0 || c.BackupPatience < time.Millisecond:
		return fmt.Errorf("%w: SpareBytes %d, BackupPatience %v: they cannot be negative, and nobody reads within less than a millisecond", errConfig, c.SpareBytes, c.BackupPatience)
	case c.CallIdle < time.Millisecond:
		return fmt.Errorf("%w: CallIdle %v is less than a millisecond", errConfig, c.CallIdle)
	case c.MaxCertificateBytes < 1:
		return fmt.Errorf("%w: MaxCertificateBytes %d is less than 1", errConfig, c.MaxCertificateBytes)
	}
	return nil
}
