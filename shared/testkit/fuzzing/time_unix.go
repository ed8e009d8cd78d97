//go:build unix

package fuzzing

import (
	"syscall"
	"time"
)

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no such error for this argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
