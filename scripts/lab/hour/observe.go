package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"amazonsfarm/scripts/lab/farm"
)

// programFigures takes out what every Go program publishes.
func programFigures(m farm.Metrics) program {
	return program{Goroutines: m["go_goroutines"], Live: m["go_memstats_next_gc_bytes"] / 2, Threads: m["go_threads"]}
}

// lookAt asks the system about a process. One that has ended is not alive and has no figures.
func lookAt(pid int) (process, error) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(folder + "stat")
	status, gone := os.ReadFile(folder + "status")
	if err != nil || gone != nil {
		return process{}, nil
	}
	p := process{Alive: true}
	if p.CPU, err = cpuOf(string(stat)); err != nil {
		return p, err
	}
	for _, at := range []struct {
		name string
		into *float64
	}{{"RssAnon:", &p.Anon}, {"RssFile:", &p.File}} {
		_, rest, found := strings.Cut(string(status), at.name)
		if !found {
			return process{}, nil // it has just ended
		}
		fields := strings.Fields(rest)
		kib, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return p, err
		}
		*at.into = kib * 1024
	}
	files, err := os.ReadDir(folder + "fd")
	if errors.Is(err, os.ErrNotExist) {
		return process{}, nil
	}
	p.FDs = len(files)
	return p, err
}

// cpuOf reads the processor seconds out of /proc/PID/stat, whose unit is a hundredth of a second on
// Linux.
func cpuOf(stat string) (float64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the program's name may hold anything
	if len(fields) < 13 {
		return 0, fmt.Errorf("unknown form of /proc/PID/stat: %q", stat)
	}
	user, err := strconv.ParseFloat(fields[11], 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100, err
}
