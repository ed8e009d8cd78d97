// Package fuzzing is what fuzz targets share: limits of processor time and memory for a call, since
// what comes from outside must not keep a program busy, whatever it says; and a tape of decisions,
// which makes a sequence of calls of an input. It is for tests only.
package fuzzing

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// patience is the wall time after which a call that uses no processor is taken for one that waits
// for itself. It is long: a busy or stopped machine must not fail a test.
const patience = 10 * time.Minute

// Within runs f. It fails the test when f takes more than so many bytes from the heap, given back
// or not, or uses more than so much processor time; what other goroutines use meanwhile counts as
// well. A call that goes on for three times as long, or for ten minutes without an end, ends the
// process with what the input is to be called, so that a loop without an end is found.
func Within(t testing.TB, processor time.Duration, bytes uint64, f func()) {
	t.Helper()
	began, before := processorTime(), allocated()
	ended := make(chan struct{})
	defer close(ended)
	go watch(t.Name(), began+3*processor, ended)
	f()
	if used := allocated() - before; used > bytes {
		t.Errorf("%d bytes were allocated, more than %d", used, bytes)
	}
	if used := processorTime() - began; used > processor {
		t.Errorf("%v of processor time were used, more than %v", used, processor)
	}
}

// watch ends the process when the call goes on for too long.
func watch(name string, until time.Duration, ended <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for begun := time.Now(); ; {
		select {
		case <-ended:
			return
		case <-ticker.C:
		}
		if processorTime() > until || time.Since(begun) > patience {
			panic(fmt.Sprintf("%s: no end after %v", name, time.Since(begun)))
		}
	}
}

// allocated is the number of bytes that were ever taken from the heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
