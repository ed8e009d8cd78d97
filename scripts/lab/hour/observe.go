package main

import (
	"errors"
	"io/fs"
	"syscall"

	"amazonsfarm/scripts/lab/farm"

	"github.com/prometheus/procfs"
)

// programFigures takes out what every Go program publishes.
func programFigures(m farm.Metrics) program {
	return program{Goroutines: m["go_goroutines"], Live: m["go_memstats_next_gc_bytes"] / 2, Threads: m["go_threads"]}
}

// lookAt asks the system about a process. One that has ended is not alive and has no figures.
func lookAt(pid int) (process, error) {
	var stat procfs.ProcStat
	var status procfs.ProcStatus
	files := 0
	p, err := procfs.NewProc(pid)
	if err == nil {
		stat, err = p.Stat()
	}
	if err == nil {
		status, err = p.NewStatus()
	}
	if err == nil {
		files, err = p.FileDescriptorsLen()
	}
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	if gone || err == nil && status.RssAnon == 0 { // one that has just ended has no memory
		return process{}, nil
	}
	return process{CPU: stat.CPUTime(), Anon: float64(status.RssAnon), File: float64(status.RssFile), FDs: files,
		Alive: true}, err
}
