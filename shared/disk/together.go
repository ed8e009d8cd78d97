package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Together replaces many small files of one file system, as [Replace] does, with fewer syncs. The zero
// Together is ready for use, by any number of goroutines.
//
// The simple way is two syncs a file: one of its bytes, before it gets its name, and one of the
// folder after that. Each costs the processor a tenth of a millisecond and waits for the disk. So
// one goroutine syncs, and all that wait when it is free share the next sync: of the whole file
// system where they are many. The order for each file stays as it is: its bytes are durable before it
// has its name, and its name before Replace returns.
type Together struct {
	mu      sync.Mutex
	waiting []waits
	busy    bool
	opened  sync.Once
	system  *fileSystem // nil: it can only sync files
}

// waits is a file or a folder that is to be durable.
type waits struct {
	path string
	sync func(path string) error
	done chan error
}

// wholeFrom is the number of files from which the whole file system is synced. Fewer would pay for what
// other programs have written to it.
const wholeFrom = 4

// Replace is the package's Replace. All files of one Together lie on one file system.
func (t *Together) Replace(name string, mode fs.FileMode, fill func(*os.File) error) error {
	// Before the first write: an open file system tells of all that goes wrong from then on.
	t.opened.Do(func() { t.system = openFileSystem(filepath.Dir(name)) })
	return replace(name, mode, fill, func(path string) error { return t.wait(path, Sync) },
		func(folder string) error { return t.wait(folder, SyncFolder) })
}

// wait returns when a path is durable.
func (t *Together) wait(path string, sync func(string) error) error {
	w := waits{path, sync, make(chan error, 1)}
	t.mu.Lock()
	t.waiting = append(t.waiting, w)
	if !t.busy {
		t.busy = true
		go t.run()
	}
	t.mu.Unlock()
	return <-w.done
}

// run syncs until nobody waits.
func (t *Together) run() {
	for {
		t.mu.Lock()
		group := t.waiting
		t.waiting = nil
		t.busy = len(group) > 0
		t.mu.Unlock()
		if len(group) == 0 {
			return
		}
		if len(group) >= wholeFrom && t.system != nil {
			if err := t.system.sync(); !errors.Is(err, errors.ErrUnsupported) {
				for _, w := range group {
					w.done <- err
				}
				continue
			}
		}
		var each sync.WaitGroup // at the same time: the file system joins them
		for _, w := range group {
			each.Go(func() { w.done <- w.sync(w.path) })
		}
		each.Wait()
	}
}
