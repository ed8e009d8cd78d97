package agent

import (
	"math"
	"sync/atomic"
	"time"
)

// Stats counts what an agent does. It may be read at any time; the zero value is ready.
type Stats struct {
	Joins       atomic.Uint64 // sessions begun
	Leases      atomic.Uint64 // leases begun
	Prefetched  atomic.Uint64 // of these, those that were there when the one before ended
	Results     atomic.Uint64 // results acknowledged
	Refused     atomic.Uint64 // results and facts refused by the master
	Facts       atomic.Uint64 // facts sent
	Checked     atomic.Uint64 // parts checked for the master
	PartBytes   atomic.Uint64 // bytes of parts uploaded
	Entries     atomic.Uint64 // certificate entries in them
	Nodes       atomic.Uint64 // positions expanded in ended slices of leases
	Evaluations atomic.Uint64 // positions evaluated in them
	Connected   atomic.Bool   // a stream to the master stands
	Lease       atomic.Uint64 // the lease being searched; 0: none
	Search      Clock         // time in slices of leases
	Extract     Clock         // time in which parts were extracted
	Check       Clock         // time in which parts of others were checked, beside the search
	fill        atomic.Uint64
}

// Clock adds up time, by the clock on the wall.
type Clock struct{ nanoseconds atomic.Int64 }

// Since adds the time since a moment.
func (c *Clock) Since(begin time.Time) { c.nanoseconds.Add(int64(time.Since(begin))) }

// Total returns the time so far.
func (c *Clock) Total() time.Duration { return time.Duration(c.nanoseconds.Load()) }

// TableFill returns the share of the transposition table in use, 0..1.
func (s *Stats) TableFill() float64 { return math.Float64frombits(s.fill.Load()) }
