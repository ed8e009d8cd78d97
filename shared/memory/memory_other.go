//go:build !unix

package memory

// Total returns the bytes of memory of this machine, 0 when unknown.
func Total() int64 { return 0 }

// Reserve returns n zeroed bytes, from the Go heap on this system.
func Reserve(n int) ([]byte, error) { return make([]byte, n), nil }

// Release gives back what Reserve returned, nil among it. Nobody may use it any more.
func Release(m []byte) error { return nil }
