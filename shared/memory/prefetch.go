//go:build amd64 || arm64

package memory

import "unsafe"

// Prefetch has the processor load the cache lines of two addresses, and does not wait for them. An address where there
// is no memory does no harm.
//
//go:noescape
func Prefetch(a, b unsafe.Pointer)
