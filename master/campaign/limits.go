package campaign

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/tree"
)

// Limits are settings of the loop, the services and the trees. Each is the setting of loop.Config,
// rpc.Config or tree.Config with the same name, where its unit, its default and what too small and too
// large do are said. Zero stands for the default.
type Limits struct {
	MaxWorkers, MaxOffences int   // of loop.Config
	HintBytes               int64 // of loop.Config

	CallIdle                        time.Duration // of rpc.Config
	UploadRate, MaxCertificateBytes int64         // of rpc.Config
	SessionMessages                 float64       // of rpc.Config

	SilentTicks, ShortPercent, ProbePercent int    // of tree.Config
	CheckFirst                              int    // of tree.Config
	CheckSeed                               uint64 // of tree.Config; default: nobody knows it
	MaxTreeFacts                            int    // MaxFacts of tree.Config
	Results                                 int    // ResultsPerTick of tree.Config, but for each second. Default 2,000
}

// loop returns the settings of the loop.
func (o *Options) loop(k keeper, metrics *loop.Metrics) loop.Config {
	return loop.Config{
		StoreFile: o.StoreFile, Campaigns: k, Heartbeat: o.Heartbeat, NodeLimit: o.MaxNodes, Stay: o.Stay,
		HintBytes: o.Limits.HintBytes, MaxOffences: o.Limits.MaxOffences, MaxWorkers: o.Limits.MaxWorkers,
		Credit: o.Credit, Now: o.Now, Metrics: metrics, Log: o.Log, Retracted: k.farm.retracted,
	}
}

// services returns the settings of the services.
func (o *Options) services() rpc.Config {
	l := &o.Limits
	return rpc.Config{
		Build: o.Build, AllowOtherBuilds: o.AllowOtherBuilds, MaxCertificateBytes: l.MaxCertificateBytes,
		SessionMessages: l.SessionMessages, CallIdle: l.CallIdle, UploadRate: l.UploadRate,
	}
}

// silence is how many seconds a worker that is connected may say nothing about a lease. It is time, and no
// count of heartbeats: on a loaded machine these are late.
const silence = 10

// tree puts the limits into the settings of a tree that has a tick in so much time, 0: the
// standard, a second.
// People give seconds, and a tree counts ticks. With a tick that is not a second, Patience becomes as
// many ticks as make the same time, and ResultsPerTick the results of one tick. Patience is at least 10
// ticks: a long tick would otherwise leave a lease next to none.
func (l *Limits) tree(c *tree.Config, tick time.Duration) {
	if c.ResultsPerTick = l.Results; tick > 0 {
		c.Patience = int(max(10, math.Round(float64(c.WithDefaults().Patience)/tick.Seconds())))
		c.ResultsPerTick = int(max(1, math.Round(float64(c.WithDefaults().ResultsPerTick)*tick.Seconds())))
	}
	c.SilentTicks = l.SilentTicks
	if l.SilentTicks == 0 {
		c.SilentTicks = int(max(3, math.Round(silence/cmp.Or(tick.Seconds(), 1))))
	}
	c.ShortPercent, c.ProbePercent = l.ShortPercent, l.ProbePercent
	c.MaxFacts, c.CheckFirst, c.CheckSeed = l.MaxTreeFacts, l.CheckFirst, l.CheckSeed
	// The seed chooses which results are checked. A worker that knew it could lie where nobody looks.
	c.CheckSeed = cmp.Or(c.CheckSeed, rand.Uint64())
	if l.MaxWorkers > 10_000 {
		c.MaxWorkers = l.MaxWorkers // a session that the services let in is not refused here
	}
}
