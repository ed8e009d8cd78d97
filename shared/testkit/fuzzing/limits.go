// Package fuzzing helps fuzz targets. [Within] limits the processor time and memory of a call, since
// no input from outside may keep a program busy. A [Tape] turns an input into a sequence of
// decisions. The package is for tests only.
package fuzzing

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"
)

// patience is the wall time after which a call counts as stuck although it uses no processor time.
// It is long, because a busy or stopped machine must not fail a test.
const patience = 10 * time.Minute

// Within runs f. It fails the test when f allocates more bytes or uses more processor time than
// allowed. Allocated bytes count even when they are freed, and other goroutines count, too. After
// three times the processor time, or ten minutes, Within ends the process with the name of the test,
// so that an endless loop is found.
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
