package campaign

import (
	"cmp"
	"math"
	"math/rand/v2"

	"amazonsfarm/master/tree"
)

// Silence is how many seconds a connected worker may report no progress on a lease. It is given in seconds and not
// in heartbeats, because heartbeats are late on a loaded machine.
const Silence = 10

// tree returns the settings of a tree, but for its question. A tick is a heartbeat, 0: the standard, a second.
// People give seconds, and a tree counts ticks. With a tick that is not a second, Patience becomes as
// many ticks as make the same time, and ResultsPerTick the results of one tick. Patience is at least 10
// ticks: a long tick would otherwise leave a lease next to none.
func (o *Options) tree() tree.Config {
	c, tick := o.Tree, o.Loop.Heartbeat
	if c.ResultsPerTick = o.Results; tick > 0 {
		c.Patience = int(max(10, math.Round(float64(c.WithDefaults().Patience)/tick.Seconds())))
		c.ResultsPerTick = int(max(1, math.Round(float64(c.WithDefaults().ResultsPerTick)*tick.Seconds())))
	}
	if c.SilentTicks == 0 {
		c.SilentTicks = int(max(3, math.Round(Silence/cmp.Or(tick.Seconds(), 1))))
	}
	// The seed chooses which results are checked. A worker that knew it could lie where nobody looks.
	c.CheckSeed = cmp.Or(c.CheckSeed, rand.Uint64())
	if o.Loop.MaxWorkers > 10_000 {
		c.MaxWorkers = o.Loop.MaxWorkers // a session that the services let in is not refused here
	}
	return c
}
