package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// ErrConfig is wrapped by errors about settings.
var ErrConfig = errors.New("bad simulation setting")

// ShortLease is the number of searched nodes below which first leases distort a run: with 50 one
// worker searched 4.03 million nodes on 6x4, with 100 to 1,600 2.35 to 2.41, and worker solve 2.28.
const ShortLease = 100

// Shares of the search's time that evidence took on 6x4, measured with the third leaf rule
// (deploy/docs/results/simulate.md).
const (
	ExtractShare = 0.31
	CheckShare   = 0.11
)

// ErrLimit says that a run was ended by Config.MaxNodes.
var ErrLimit = errors.New("simulation reached its node limit")

// Config holds the settings of one run. Zero stands for the default; settings in nodes are those of
// the campaign that is meant, before they are divided by Scale.
type Config struct {
	// Tree is the question and the policy. Its budgets and thresholds are divided by Scale.
	Tree tree.Config
	// Workers is the number of virtual workers. Default 1.
	Workers int
	// Seed of all chance.
	Seed uint64

	// Scale is the number of nodes that one searched node stands for. Default 1. Too large: leases
	// become so short that their starts weigh more than in reality.
	Scale uint64
	// Speed is the number of nodes that a worker searches in a virtual second, on average. Default
	// 50,000: one core.
	Speed float64
	// SpeedSpread says how different workers are. Speeds lie between 1/(1+SpeedSpread) and
	// 1+SpeedSpread times the middle one, evenly on a logarithmic scale. Default 0: all alike. The
	// sum of all speeds is always Workers times Speed.
	SpeedSpread float64

	// Delay is the time that a message travels one way. Each message travels between half and one and
	// a half of it. Default 0.
	Delay time.Duration
	// LossRate is the chance that a message is lost. Its link breaks then, and comes back after a
	// second. Default 0.
	LossRate float64
	// CrashRate is the number of crashes of a worker in an hour. Default 0. A worker that crashed
	// comes back after Restart under another name, with an empty table.
	CrashRate float64
	// Restart is the time between a crash and the next join. Default 10 s.
	Restart time.Duration
	// TableBytes is the table of one worker; it is not divided by Scale. Default 16 MiB.
	TableBytes int64
	// TablesBytes bounds all tables together. Default 1 GiB. With more workers than fit, each table
	// is smaller.
	TablesBytes int64
	// SharedTable gives all workers one table of TableBytes. That is no farm, but the bound of a farm
	// in which all know at once what one finds.
	SharedTable bool
	// HintEntries is the number of table entries in the hints for an unsolved position; 0: none. It is
	// not divided by Scale.
	HintEntries int
	// HintBytes is the master's room for hints, as in master/rpc. It is not divided by Scale. Default
	// 256 MiB. Too small: positions that another worker goes on with are searched again.
	HintBytes int64
	// PrefetchPercent is the percent of a lease's time that the wait for the next one may take
	// before a worker asks for it early (worker/agent); 0: it never does.
	PrefetchPercent int
	// Lemma judges positions by the counting lemma alone: more nodes in less time. So a larger
	// campaign can be simulated in the same time.
	Lemma bool

	// ExtractShare is the time that workers take to extract the evidence of what they proved, as a share of
	// the time of their search; CheckShare is that of the checks of all parts. Default 0: evidence is
	// free. ExtractShare and CheckShare of this package are measured ones.
	ExtractShare, CheckShare float64

	// MaxNodes ends the run, with ErrLimit, after so many searched nodes (not scaled). Default 2^62.
	MaxNodes uint64
}

const (
	// tick is the tick of the tree and the heartbeat of workers, as in master/rpc.
	tick = time.Second
	// reconnect is the time that a broken link is down.
	reconnect = time.Second
	// leavingTicks is how long the master waits for a worker whose link broke.
	leavingTicks = 3
	// minFactNodes are the nodes from which a position solved on the way is sent as a fact, and
	// maxFacts the number of facts of one message, those with most nodes, as in master/rpc.
	minFactNodes, maxFacts = 1000, 256
)

// withDefaults returns c with the defaults in place of zeros and with everything divided by Scale.
// Errors wrap ErrConfig.
func (c Config) withDefaults() (Config, error) {
	c.Workers = cmp.Or(c.Workers, 1)
	c.Scale = cmp.Or(c.Scale, 1)
	c.Speed = cmp.Or(c.Speed, 50_000)
	c.Restart = cmp.Or(c.Restart, 10*time.Second)
	c.TableBytes = cmp.Or(c.TableBytes, 16<<20)
	c.TablesBytes = cmp.Or(c.TablesBytes, 1<<30)
	c.HintBytes = cmp.Or(c.HintBytes, hints.DefaultBytes)
	c.MaxNodes = cmp.Or(c.MaxNodes, 1<<62)
	switch {
	case c.Delay < 0 || c.Delay > time.Hour:
		return c, fmt.Errorf("%w: times must not be negative, and a delay at most an hour", ErrConfig)
	case c.TablesBytes/int64(c.Workers) < dfpn.MinTableBytes || c.TableBytes < dfpn.MinTableBytes:
		return c, fmt.Errorf("%w: tables of %d bytes, %d together: each of %d workers needs at least %d", ErrConfig,
			c.TableBytes, c.TablesBytes, c.Workers, dfpn.MinTableBytes)
	}
	c.TableBytes = min(c.TableBytes, c.TablesBytes/int64(c.Workers))
	c.Tree = c.Tree.WithDefaults()
	for _, nodes := range []*uint64{&c.Tree.InitialBudget, &c.Tree.MaxBudget, &c.Tree.SplitAfter} {
		*nodes = max(1, *nodes/c.Scale)
	}
	c.Speed /= float64(c.Scale)
	return c, nil
}

// judge returns a function that makes the judge of a worker. All workers have the same one: they
// search one after the other.
func (c Config) judge() func() *eval.Judge {
	if c.Lemma {
		return func() *eval.Judge { return nil }
	}
	j := eval.NewJudge(nil, eval.DefaultSettings())
	return func() *eval.Judge { return j }
}

// Result is what one run shows. Shares are of the time of all workers from the start until
// the last check, 0 to 1.
type Result struct {
	Workers int     `json:"workers"`
	Answer  string  `json:"answer"`  // the tree's words
	Seconds float64 `json:"seconds"` // of virtual time until the last check
	Nodes   uint64  `json:"nodes"`   // searched by all workers, times Scale

	Busy       float64 `json:"busy"`       // share: searching
	Extracting float64 `json:"extracting"` // share: extracting evidence
	Checking   float64 `json:"checking"`   // share: checking parts, once the root is solved
	Starved    float64 `json:"starved"`    // share: the master has the request and no work
	// Late is the share of Nodes that went into leases after they had been cancelled because their
	// position was closed.
	Late float64 `json:"late"`
	// Closed is the share of Nodes of leases that were cancelled because their position was closed.
	Closed float64 `json:"closed"`

	// Needed is the share of Nodes that was searched for positions of the proof (tree.Tree.Needed).
	// Even a lone worker's is less than 1.
	Needed float64 `json:"needed"`

	Leases  int `json:"leases"`
	Cancels int `json:"cancels"`
	// Confirmed and Contradicted are results that another party's search confirmed or contradicted
	// (tree.Checked). All workers are honest here: a contradiction is a wrong accusation.
	Confirmed    int    `json:"confirmed"`
	Contradicted int    `json:"contradicted"`
	Lost         int    `json:"lost"` // leases that failures ended
	Crashes      int    `json:"crashes"`
	Breaks       int    `json:"breaks"`     // broken links
	TreeNodes    int    `json:"tree_nodes"` // in the tree at the end
	Expanded     int    `json:"expanded"`   // of TreeNodes
	Facts        int    `json:"facts"`      // known to the tree at the end
	Steps        int    `json:"steps"`      // events of the tree
	Trace        string `json:"trace"`      // SHA-256 of all events and effects with their times, the first 16 digits
}

// Efficiency is the time of one worker over the time of r's workers together: the share of r's
// workers that is put to use.
func Efficiency(one, r Result) float64 {
	if r.Seconds == 0 { // the question takes no time at all
		return 1 / float64(r.Workers)
	}
	return one.Seconds / (float64(r.Workers) * r.Seconds)
}

// Overhead is the nodes of r over the nodes of one worker, which has searched some.
func Overhead(one, r Result) float64 { return float64(r.Nodes) / float64(one.Nodes) }
