package farm

import (
	"math"
	"math/rand/v2"
	"time"

	"amazonsfarm/master/rpc"
	"amazonsfarm/master/tree"
)

// Limits bound what workers may use of a master, how their leases go and what is kept in memory.
// Each is the setting of rpc.Config or tree.Config with the same name, where its unit, its default
// and what too small and too large do are said. Zero stands for the default.
type Limits struct {
	// Of rpc.Config.
	CallIdle                                      time.Duration
	BackupPatience                                time.Duration
	UploadRate, MemoryBytes                       int64
	MaxCertificateBytes                           int64
	SessionMessages                               float64
	SessionBurst                                  int
	SessionUploads, OwnerUploads, MaxUploads      int
	MaxWorkers, SessionTicks, LeavingTicks, Slots int
	QueueEvents, BatchEvents, SendQueue, MaxHeld  int
	MaxFacts, MaxMemoryEntries, KnownCertificates int
	MinFactNodes                                  uint64
	MaxOffences, MaxOffenders                     int

	// Of tree.Config.
	SilentTicks, ShortPercent, ProbePercent int
	CheckFirst                              int
	CheckSeed                               uint64 // default: nobody knows it
	MaxTreeFacts                            int    // MaxFacts there
	Results                                 int    // ResultsPerTick there, but for each second. Default 2,000
}

// services puts the limits into the settings of the services.
func (l *Limits) services(c *rpc.Config) {
	c.CallIdle, c.BackupPatience = l.CallIdle, l.BackupPatience
	c.UploadRate, c.MaxCertificateBytes, c.MemoryBytes = l.UploadRate, l.MaxCertificateBytes, l.MemoryBytes
	c.SessionMessages, c.SessionBurst, c.SessionUploads = l.SessionMessages, l.SessionBurst, l.SessionUploads
	c.OwnerUploads, c.MaxUploads = l.OwnerUploads, l.MaxUploads
	c.MaxWorkers, c.SessionTicks, c.LeavingTicks, c.Slots = l.MaxWorkers, l.SessionTicks, l.LeavingTicks, l.Slots
	c.QueueEvents, c.BatchEvents, c.SendQueue, c.MaxHeld = l.QueueEvents, l.BatchEvents, l.SendQueue, l.MaxHeld
	c.MaxFacts, c.MaxMemoryEntries, c.KnownCertificates = l.MaxFacts, l.MaxMemoryEntries, l.KnownCertificates
	c.MinFactNodes, c.MaxOffences, c.MaxOffenders = l.MinFactNodes, l.MaxOffences, l.MaxOffenders
}

// tree puts the limits into the settings of a tree that has a tick in so much time, 0: the
// standard, a second.
func (l *Limits) tree(c *tree.Config, tick time.Duration) {
	if c.ResultsPerTick = l.Results; tick > 0 {
		c.ResultsPerTick = int(max(1, math.Round(float64(c.WithDefaults().ResultsPerTick)*tick.Seconds())))
	}
	c.SilentTicks, c.ShortPercent, c.ProbePercent = l.SilentTicks, l.ShortPercent, l.ProbePercent
	c.MaxFacts, c.CheckFirst, c.CheckSeed = l.MaxTreeFacts, l.CheckFirst, l.CheckSeed
	if c.CheckSeed == 0 {
		c.CheckSeed = rand.Uint64()
	}
	if l.MaxWorkers > 10_000 {
		c.MaxWorkers = l.MaxWorkers // a session that the services let in is not refused here
	}
}
