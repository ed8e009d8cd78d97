package store

import (
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal lets writes past a limit fail instead of ending the process.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
