package cli

import (
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// rateMemory is how long a [Rate] remembers: short enough to show a change, long enough to be read.
const rateMemory = 5 * time.Second

// Rate tells how fast a count grows, as a mean over some seconds. The zero value is ready; it is for one
// goroutine.
type Rate struct {
	at     time.Duration
	count  uint64
	second float64
	known  bool
}

// Of returns the growth in a second, given the count at a time. A count that falls begins anew.
func (r *Rate) Of(count uint64, at time.Duration) uint64 {
	passed := (at - r.at).Seconds()
	switch {
	case !r.known || count < r.count || passed < 0:
		*r = Rate{at: at, count: count, known: true}
	case passed >= TerminalPeriod.Seconds()/2:
		now := float64(count-r.count) / passed
		weight := 1 - math.Exp(-passed/rateMemory.Seconds())
		if r.second == 0 {
			weight = 1
		}
		r.second += weight * (now - r.second)
		r.at, r.count = at, count
	}
	return uint64(r.second)
}

// MemoryUsed returns the bytes of memory that this process has, 0 where the system does not tell.
func MemoryUsed() int64 {
	text, _ := os.ReadFile("/proc/self/statm") // size and resident set, in pages
	if f := strings.Fields(string(text)); len(f) > 1 {
		pages, _ := strconv.ParseInt(f[1], 10, 64)
		return pages * int64(os.Getpagesize())
	}
	return 0
}
