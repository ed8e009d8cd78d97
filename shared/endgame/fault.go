package endgame

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"unsafe"
)

// fault turns a fault in the map into damage: somebody cut the file short while it was open. It is
// deferred, with what debug.SetPanicOnFault(true) has returned. The function that it ends then returns
// zero values, or *failed where that is not nil.
func (db *DB) fault(was bool, failed *error) {
	debug.SetPanicOnFault(was)
	r := recover()
	if r == nil {
		return
	}
	// A fault has an address. One outside of the map is a bug, and panics on as any other does.
	f, ok := r.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok || len(db.data) == 0 || f.Addr()-uintptr(unsafe.Pointer(&db.data[0])) >= uintptr(len(db.data)) {
		panic(r)
	}
	err := fmt.Errorf("%s: %w: the file was cut short, or cannot be read any more; it is not used from now on",
		db.name, ErrDamaged)
	db.fail(err)
	if failed != nil {
		*failed = err
	}
}
