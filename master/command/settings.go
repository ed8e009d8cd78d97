package command

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/pflag"

	"amazonsfarm/master/farm"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/cli"
)

// limitFlags are the flags for limits, with what is checked once they are read.
type limitFlags struct {
	checks []func() error
}

// check returns what is wrong with the first value that is out of its range, as one sentence and
// with the exit code of usage.
func (l *limitFlags) check() error {
	for _, check := range l.checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// within adds the check of a flag's range.
func within[T int | int64 | uint64 | float64 | time.Duration](l *limitFlags, name string, value *T, low, high T) {
	l.checks = append(l.checks, func() error {
		if !(*value >= low && *value <= high) {
			return cli.Usagef("--%s %v: it must be from %v to %v", name, *value, low, high)
		}
		return nil
	})
}

// most is the largest value of a limit that is a count, so that nothing that is made of it overflows.
const most = 1_000_000_000

func (l *limitFlags) count(flags *pflag.FlagSet, field *int, name, help string) {
	flags.IntVar(field, name, 0, help)
	within(l, name, field, 0, most)
}

func (l *limitFlags) period(flags *pflag.FlagSet, field *time.Duration, name, help string) {
	flags.DurationVar(field, name, 0, help)
	l.checks = append(l.checks, func() error {
		if d := *field; d != 0 && (d < 10*time.Millisecond || d > 24*time.Hour) {
			return cli.Usagef("--%s %v: it must be from 10ms to 24h, or 0", name, d)
		}
		return nil
	})
}

// addServices adds the limits of what workers may send, and when they are sent away.
func (l *limitFlags) addServices(flags *pflag.FlagSet, to *farm.Options, certificate *cli.Size) {
	x := &to.Limits
	l.count(flags, &x.MaxWorkers, "limit-workers",
		"workers that may be there at a time, 0: standard (10000); smaller: those beyond it are refused; larger: each takes memory")
	l.count(flags, &x.Slots, "limit-leases", "leases that a worker may hold, one of them running, 0: standard (2); 1: it waits for the next one after each; larger: it keeps others from work that it has not begun")
	flags.Float64Var(&x.SessionMessages, "limit-worker-messages", 0,
		"messages a second from one worker, more are an offence, 0: standard (2000); smaller: good workers on tiny budgets are sent away; larger: one can keep the master busy")
	within(l, "limit-worker-messages", &x.SessionMessages, 0, 1e9)
	l.count(flags, &x.SessionBurst, "limit-worker-burst",
		"messages at once from one worker, 0: standard (four seconds' worth); smaller: one that brings in what has waited is sent away")
	l.count(flags, &x.MaxFacts, "limit-facts", "facts in one message, 0: standard (4096); smaller: more messages; larger: one message takes the master long")
	l.count(flags, &x.MaxUploads, "limit-uploads",
		"uploads of all workers at a time, 0: standard (8); smaller: workers wait for each other; larger: each holds its certificate in memory")
	l.count(flags, &x.SessionUploads, "limit-worker-uploads",
		"uploads of one worker at a time, 0: standard (2); larger: one can hold all places")
	l.count(flags, &x.OwnerUploads, "limit-name-uploads",
		"with --credentials: uploads of all workers of one name at a time, 0: standard (three quarters of --limit-uploads); smaller: workers that share a certificate wait for each other; larger: they can hold all places")
	flags.Var(certificate, "limit-certificate", "bytes of one upload (standard 1 GiB); smaller: evidence of large leases is never taken; larger: an upload is held in memory while it comes")
	l.period(flags, &x.CallIdle, "upload-idle", "how long a call waits for its next message, of 1 MiB at most, until it is ended, 0: standard (1m); shorter: slow lines get no large certificate through; longer: senders that are gone hold places")
	flags.Int64Var(&x.UploadRate, "upload-rate", 0,
		"bytes a second that an upload must come with on the whole, 0: standard (32768), -1: any; smaller: one that trickles holds a place for long; larger: slow lines get nothing through")
	within(l, "upload-rate", &x.UploadRate, -1, 1<<40)
	l.count(flags, &x.MaxOffences, "limit-offences",
		"offences after which a worker is quarantined, 0: standard (3); 1: nothing is forgiven; larger: a liar stays for longer")
	l.count(flags, &x.MaxOffenders, "limit-offenders",
		"workers of which is kept, also over restarts, what they did and what others think of their results, 0: standard (10000); beyond it names without a certificate that have shown nothing are forgotten, then such names in quarantine, then those with the fewest offences, the longest away first; smaller: sound workers are checked anew after a restart; larger: memory and space in the store")
	l.count(flags, &x.SendQueue, "limit-unread", "messages that may wait for a worker that does not read, which is cut off beyond it, 0: standard (256); smaller: slow lines are cut off; larger: memory")
	l.count(flags, &x.MaxHeld, "limit-held", "messages of one worker that are kept while the disk is full, 0: standard (64); smaller: sound workers are cut off; larger: memory")
	flags.IntVar(&x.MaxMemoryEntries, "limit-memory", 0,
		"entries of its table that a worker sends along with an unsolved position, of 13 bytes each, 0: standard (4096), -1: none; smaller: whoever goes on with the position searches more of it again; larger: the store and the traffic grow")
	within(l, "limit-memory", &x.MaxMemoryEntries, -1, 1<<18)
	flags.Var((*cli.Size)(&x.MemoryBytes), "limit-memories",
		"room for what workers' tables knew of unsolved positions, in the master's memory (standard 256 MiB); smaller: more is searched again when another worker goes on with a position")
	within(l, "limit-memories", &x.MemoryBytes, 0, 1<<40)
	l.count(flags, &x.QueueEvents, "limit-queue", "messages of all workers that wait for the master, beyond which their streams wait, 0: standard (16384); fewer than three for each worker: a master that is behind takes leases for lost")
	l.count(flags, &x.BatchEvents, "limit-batch", "messages that share a commit, 0: standard (1024); smaller: a commit for each few; larger: late answers")
	l.count(flags, &x.KnownCertificates, "limit-known",
		"certificates whose claims are kept in memory, 0: standard (256); others are read again when they are named")
	flags.Uint64Var(&x.MinFactNodes, "min-fact-nodes", 0,
		"nodes below which a fact is not sent, 0: standard (1000); smaller: more traffic and a larger store; larger: less is shared among workers")
	l.period(flags, &to.Heartbeat, "heartbeat", "how often workers report, 0: standard (1s); shorter: traffic; longer: lost workers are noticed late")
	l.count(flags, &x.SilentTicks, "limit-silent",
		"heartbeats without progress after which a lease is lost, 0: standard (3); smaller: slow or far workers lose theirs; larger: what a dead one holds waits")
	l.count(flags, &x.LeavingTicks, "limit-away", "heartbeats for which a worker whose connection broke keeps its leases, 0: standard (3)")
	l.count(flags, &x.SessionTicks, "limit-session",
		"heartbeats for which a worker without connection is remembered, 0: standard (30)")
	l.period(flags, &x.BackupPatience, "backup-patience",
		"how long a backup waits for its reader, 0: standard (1m); shorter: slow lines get none; longer: the store grows meanwhile")
}

// addTrust adds what decides whose results are checked.
func (l *limitFlags) addTrust(flags *pflag.FlagSet, to *farm.Options) {
	x := &to.Limits
	flags.IntVar(&x.CheckFirst, "check-first", 2, "results of a new worker whose numbers are not taken before another worker has confirmed them, 0: none, nor any later one, which is right where all workers are your own; larger: more is searched twice")
	within(l, "check-first", &x.CheckFirst, 0, most)
}

// addTree adds the limits of leases and of the tree.
func (l *limitFlags) addTree(flags *pflag.FlagSet, to *farm.Options) {
	x, d := &to.Limits, tree.Config{}.WithDefaults()
	flags.Uint64Var(&to.InitialBudget, "initial-budget", 0,
		fmt.Sprintf("positions expanded in the first lease of a position, 0: standard (%d); smaller: more messages, and numbers that say little; larger: with many workers more is searched that is not needed", d.InitialBudget))
	within(l, "initial-budget", &to.InitialBudget, 0, math.MaxInt64)
	flags.IntVar(&x.ProbePercent, "probe-percent", 0,
		fmt.Sprintf("percent of the initial budget that the first lease of a position has at least, where others are more likely to be needed and there is more than one worker, 0: standard (%d); smaller: more messages; larger: with many workers more is searched that is not needed", d.ProbePercent))
	within(l, "probe-percent", &x.ProbePercent, 0, 100)
	flags.Uint64Var(&to.MaxBudget, "max-budget", 0,
		"positions expanded in any lease, 0: standard (5000000, or the initial budget if that is larger); smaller: more messages; larger: a lost worker loses that much")
	l.checks = append(l.checks, func() error {
		if m := to.MaxBudget; m > 0 && m < max(to.InitialBudget, 1) || m > math.MaxInt64 {
			return cli.Usagef("--max-budget %d: it must be at least --initial-budget %d", m, to.InitialBudget)
		}
		return nil
	})
	flags.Uint64Var(&to.SplitAfter, "split-after", 0,
		fmt.Sprintf("positions expanded on a position until it is split, twice as many with each eighth of --tree-nodes that is in use, 0: standard (%d); smaller: the tree grows fast; larger: only where work is scarce something is split", d.SplitAfter))
	l.count(flags, &to.MaxTreeNodes, "tree-nodes",
		"positions in the tree at most, of some 400 bytes of memory each, 0: standard (2,000,000); when it is full nothing is split any more")
	l.count(flags, &x.MaxTreeFacts, "tree-facts", "facts in memory at most, of about 150 bytes each, 0: standard (4,000,000); beyond it those outside the tree are dropped")
	l.count(flags, &x.Results, "limit-results", "results a second that the master is to take in, 0: standard (2000); with more, leases get longer until there are no more than that; smaller: with many workers more is searched that is not needed; larger: workers wait for the master")
	flags.IntVar(&x.ShortPercent, "short-percent", 0,
		"percent of its budget that an unsolved position must have used to count, 0: standard (50), -1: any; smaller: workers that do not search mislead the others; larger: what a search that found no way on has learned is lost")
	within(l, "short-percent", &x.ShortPercent, -1, 100)
}
