package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// process is a program that is started again and again. It belongs to one goroutine.
type process struct {
	name   string
	args   []string
	out    string // files for what it says
	err    string
	exits  chan<- exit
	cmd    *exec.Cmd // nil: it does not run
	lives  int       // times it was started
	killed bool      // by us, in this life
	ended  bool      // it is not to be started again
	reborn func()    // called before it starts again; nil: nothing is
}

// exit says that a process has ended.
type exit struct {
	process *process
	code    int // -1: by a signal
}

// start starts it, unless it runs.
func (p *process) start() error {
	if p.cmd != nil || p.ended {
		return nil
	}
	c := exec.Command(p.args[0], p.args[1:]...)
	// With the harness its processes go.
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := os.Create(p.out)
	if err != nil {
		return err
	}
	defer out.Close()
	said, err := os.OpenFile(p.err, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer said.Close()
	c.Stdout, c.Stderr = out, said
	if err := c.Start(); err != nil {
		return err
	}
	p.cmd, p.killed = c, false
	p.lives++
	go func() {
		_ = c.Wait()
		p.exits <- exit{p, c.ProcessState.ExitCode()}
	}()
	return nil
}

func (p *process) signal(s syscall.Signal) bool {
	return p.cmd != nil && !p.killed && p.cmd.Process.Signal(s) == nil
}

// said returns what it has written as its answer.
func (p *process) said() string {
	data, _ := os.ReadFile(p.out)
	return string(data)
}

// complaints returns what it has complained about in all its lives.
func (p *process) complaints() string {
	data, _ := os.ReadFile(p.err)
	return string(data)
}

// last returns the last line of that.
func (p *process) last() string {
	lines := strings.Split(strings.TrimSpace(p.complaints()), "\n")
	return lines[len(lines)-1]
}

// crashed returns the first line of a panic or a data race that it has reported.
func (p *process) crashed() string {
	for line := range strings.Lines(p.complaints()) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") ||
			strings.Contains(line, "DATA RACE") || strings.HasPrefix(line, "unexpected fault") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// filler fills a disk.
type filler struct {
	path  string
	users int // troubles that want it full
}

// fill takes all of the disk but so many bytes.
func (f *filler) fill(left int64) error {
	f.users++
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	for block := make([]byte, 1<<20); len(block) > 256; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			return err
		}
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return file.Truncate(max(0, info.Size()-left))
}

// empty makes room again once nobody wants the disk full any more.
func (f *filler) empty() error {
	if f.users--; f.users > 0 {
		return nil
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
