package loop

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/hints"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// The states of a campaign.
const (
	StateRunning    = "running"    // leases are granted
	StatePaused     = "paused"     // no new leases, for an operator or for want of room; running ones go on
	StateDraining   = "draining"   // no new leases; running ones are cancelled, then the process ends
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
	// ErrLimit: Config.NodeLimit is reached and all leases are back.
	ErrLimit = errors.New("node limit reached")
	// ErrStore: the store refused a commit; what was not acknowledged is done again after a restart.
	ErrStore = errors.New("commit to the store")
)

// Errors that callers get. Package rpc gives each its code.
var (
	// ErrEnded: the loop does not run any more.
	ErrEnded = errors.New("the master is stopping")
	// ErrNoSession: the token belongs to no session, or to one of a party in quarantine.
	ErrNoSession = errors.New("this session is not known (any more); join again")
	// ErrReplaced: another stream or another worker took over.
	ErrReplaced = errors.New("replaced")
	// ErrCrowded: a worker is beyond a limit.
	ErrCrowded = errors.New("over the limit")
	// ErrQuarantined: the worker's party is in quarantine.
	ErrQuarantined = errors.New("quarantined")
	// ErrNotQuarantined: there is nothing to release.
	ErrNotQuarantined = errors.New("not quarantined")
	// ErrNoCampaign: there is no campaign of that name or number.
	ErrNoCampaign = errors.New("no such campaign")
	// ErrFixed: this master's campaigns cannot be changed.
	ErrFixed = errors.New("this master keeps no settings of campaigns, and takes no other ones")
	// ErrOther is wrapped by ReadRoots where a certificate is for another board or kind of proof.
	ErrOther = errors.New("it is for another board or kind of proof")
	// ErrFalse is wrapped by Recheck where a part does not hold, or is not there.
	ErrFalse = errors.New("the part does not hold")
	// ErrOwn is wrapped, beside ErrFalse or a checks.FalsePartsError, where a worker of this process has made a part
	// that does not hold. That is a fault of this program, so it stops the campaign.
	ErrOwn = errors.New("this program has made a part that does not hold")
	// ErrLost is wrapped where the bytes of a part are missing or damaged: its maker need not be to blame.
	ErrLost = errors.New("the part is lost")
	// ErrAgain: the worker is to join again.
	ErrAgain = errors.New("join again")
)

// tell makes an error of a kind above. Its text says all by itself.
func tell(kind error, format string, args ...any) error {
	return cli.As(kind, fmt.Errorf(format, args...))
}

// contradiction is the error about two claims that exclude each other: a store.ErrContradiction. The campaign
// stays stopped, also after a restart.
func (a *About) contradiction(c tree.Contradiction) error {
	return tell(store.ErrContradiction, "contradiction at %s: known as %s, now claimed as %s; "+
		"the campaign is stopped until a person has looked at both certificates", a.Text(c.Key), c.Known, c.Claim)
}

// Store is what the loop and the uploads need of a proof store; a store.Store is one, and tests have
// one in memory. Methods may be called at the same time.
type Store interface {
	// Commit makes the effects of several steps durable in one transaction, in their order, and
	// keeps the hints if there is room.
	Commit([]tree.Persist, []hints.Hint) error
	// Hint returns the hint kept for a position of a campaign, nil if there is none.
	Hint(campaign uint32, key amazons.Key) ([]byte, error)
	// PutCertificate keeps a certificate of a campaign durably. known says that it was there
	// before. The data is that of id.
	PutCertificate(campaign uint32, id [32]byte, data []byte) (known bool, err error)
	// Certificate returns a certificate for the facts of a campaign's pool, or an error that wraps
	// store.ErrNoCertificate.
	Certificate(campaign uint32, id [32]byte) ([]byte, error)
	// CertificateFor returns a reader of the same, and its size in bytes.
	CertificateFor(campaign uint32, id [32]byte) (io.ReaderAt, int64, error)
	// HasCertificate reports whether Certificate would return one.
	HasCertificate(campaign uint32, id [32]byte) bool
	// Holds reports whether facts of a campaign may name a certificate: there is a record of it.
	Holds(campaign uint32, id [32]byte) bool
	// Bucket returns the bucket of the parts, nil where they lie in a folder.
	Bucket() evidence.Bucket
	// RecordPart records a part that a worker has put into the bucket, with its outline.
	RecordPart(campaign uint32, id proof.ID, size int64, outline []byte) (known bool, err error)
	// KeptOutline returns the outline in the record of a part of a campaign, nil if there is none, and the name of
	// its checker.
	KeptOutline(campaign uint32, id proof.ID) (outline []byte, by string)
	// Certificates returns how many there are, and their bytes in all.
	Certificates() (count int, bytes int64)
	// Quarantines returns all quarantines; Quarantine keeps one durably, and Release takes it away.
	Quarantines() ([]trust.Quarantine, error)
	Quarantine(trust.Quarantine) error
	Release(trust.Party) error
	// Standings returns what is known of parties; SetStandings keeps it durably, all in one
	// transaction: an empty one takes away what there was, and that of a party in quarantine is
	// passed over. Quarantine and Release take away that of their party.
	Standings() ([]trust.Standing, error)
	SetStandings([]trust.Standing) error
	// SetVerified notes who checked parts, and found that they hold.
	SetVerified(ids []proof.ID, by string) error
	// Retract takes out parts, and all facts that they prove. It returns the positions of these, by pool.
	Retract(ids []proof.ID) (facts map[uint32][]amazons.Key, err error)
	// Room returns nil if there is room for more bytes, beside what is to stay free, and otherwise
	// an error that wraps store.ErrNoRoom. Commit and PutCertificate return such errors as well where
	// nothing was written for want of room.
	Room(more int64) error
	// Backup writes a consistent copy of the whole store to w while it is in use; begun is told its
	// size before the first byte.
	Backup(w io.Writer, begun func(size int64) error) (int64, error)
}

// Config holds the settings of a Loop. Zero stands for the default.
type Config struct {
	StoreFile string    // shown in the status
	Campaigns Campaigns // keeps the campaigns that operators add and change. nil: they cannot

	// Heartbeat is how often a worker reports; the tick of the trees. Default 1 s. Too short: traffic;
	// too long: lost workers are noticed late, after three of them.
	Heartbeat time.Duration
	// NodeLimit, if not 0, ends the run when all campaigns together have that many nodes, with
	// ErrLimit. Running leases are cancelled and counted.
	NodeLimit uint64
	// Stay keeps Run going after all campaigns are over, until its context ends.
	Stay bool
	// HintBytes is the room for hints in memory. Default hints.DefaultBytes.
	HintBytes int64
	// MaxOffences is the number of offences that quarantine a party. Default trust.MaxOffences. 1:
	// nothing is forgiven; large: a liar keeps the others busy for longer.
	MaxOffences int
	// Credit is how far a campaign may catch up, in nodes. Default schedule.Credit.
	Credit uint64
	// MaxWorkers bounds the sessions; more are refused. Default 10,000.
	MaxWorkers int
	// Limits bound what the loop keeps; tests make them small.
	Limits Limits
	// Retracted has the claims that were taken back before Run. Default: none.
	Retracted *checks.Retracted

	Ticks   <-chan time.Time // takes the place of a ticker of one Heartbeat; for virtual time
	Now     func() time.Time // the clock for what people see. Default: time.Now
	Metrics *Metrics         // default: on a registry nobody reads
	Log     *slog.Logger     // default: discards
}

// Limits bound what a Loop keeps. Zero stands for the default: no operator has a reason to turn them.
type Limits struct {
	Answers      int // that wait for one worker; a worker that does not read is cut off. Default 256
	SessionTicks int // how long a session without a stream lives. Default 30 ticks
	Parties      int // of the trust book. Default trust.MaxParties
	Waiting      int // messages of one worker that wait for room; a sound one sends twenty. Default 64
	Recent       int // facts that people may look at. Default 100
	ShownTicks   int // how long an explored tree that was put away stays. Default 60 ticks
}

const (
	queued  = 1 << 14 // messages that wait for the loop: three for each of 5,000 workers
	batched = 1024    // messages of one commit: larger ones answer late
	// leavingTicks is how long a worker whose stream broke keeps its leases: after three missed
	// heartbeats it is gone.
	leavingTicks = 3
	// spareBytes is how much more room than the store asks for there must be before campaigns go on
	// that paused for want of it; otherwise they may stop and go every second. A small disk may never have much more.
	spareBytes = 4 << 20
	// againTicks is how long to wait before a certificate that found no room is put together again:
	// that reads all parts.
	againTicks = 30
)

// complete fills in the defaults.
func (c *Config) complete() {
	l := &c.Limits
	l.Answers, l.SessionTicks, l.Waiting = cmp.Or(l.Answers, 256), cmp.Or(l.SessionTicks, 30), cmp.Or(l.Waiting, 64)
	l.Recent, l.ShownTicks = cmp.Or(l.Recent, 100), cmp.Or(l.ShownTicks, 60)
	c.MaxWorkers = cmp.Or(c.MaxWorkers, 10_000)
	c.HintBytes, c.Heartbeat = cmp.Or(c.HintBytes, hints.DefaultBytes), cmp.Or(c.Heartbeat, time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Retracted = cmp.Or(c.Retracted, checks.NewRetracted())
	c.Metrics = cmp.Or(c.Metrics, NewMetrics(prometheus.NewRegistry()))
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
}
