//go:build !unix

package fuzzing

import "time"

var start = time.Now()

// processorTime is, where the system does not say it in the same way, the time since the program began.
func processorTime() time.Duration { return time.Since(start) }
