//go:build unix && !linux

package memory

// Total returns the bytes of memory of this machine, 0 when unknown.
func Total() int64 { return 0 }

// wishHuge does nothing on this system.
func wishHuge([]byte) {}
