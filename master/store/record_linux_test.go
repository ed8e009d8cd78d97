package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A recording is made by the kernel's own interface for debuggers: the process that writes is
// stopped at each system call, so that what is recorded is what it really did, in the order in
// which it did it, and nothing in the program has to know of it. At the end the folder must be,
// byte for byte, what the recording makes of it; so nothing was missed.

// opKind is what a system call did to a file of the folder.
type opKind int

const (
	opCreate   opKind = iota // a name for a new, empty file
	opFolder                 // and for a new folder
	opWrite                  // bytes at an offset
	opTruncate               // a new size
	opSync                   // of a file, or of the folder
	opLink                   // another name for a file
	opRename
	opUnlink
	opSaid // a line on standard output
)

var opNames = [...]string{"create", "folder", "write", "truncate", "sync", "link", "rename", "unlink", "said"}

// op is one of them.
type op struct {
	kind     opKind
	file     int    // number of the file, in the order of their creation; 0: a folder
	name, to string // as seen from the folder of the recording; of a sync: the folder
	offset   int64
	data     []byte // of a write
	size     int64  // of a truncate
	covers   int    // of a sync: the operations before it that it makes durable
	text     string // of said
}

func (o op) String() string {
	switch o.kind {
	case opWrite:
		return fmt.Sprintf("write file %d at %d, %d bytes", o.file, o.offset, len(o.data))
	case opTruncate:
		return fmt.Sprintf("truncate file %d to %d", o.file, o.size)
	case opSaid:
		return fmt.Sprintf("said %q", o.text)
	}
	return fmt.Sprintf("%s file %d %s %s", opNames[o.kind], o.file, o.name, o.to)
}

// recorder follows a process and all of its threads.
type recorder struct {
	folder string
	pid    int
	ops    []op
	files  map[uint64]int // numbers by inode
	names  map[string]int // as a folder has them
	// the folder and those in it; an inode may have been another file's before
	folders map[string]bool
	count   int
	calls   map[int]entry // of threads, what they are in
	stdout  uint64        // inode of the pipe
}

// entry is a system call that has begun.
type entry struct {
	number uint64
	args   [6]uint64
	at     int // operations before it
}

// errNoTrace says that processes cannot be followed here.
var errNoTrace = errors.New("no process can be followed here")

// recordOps runs a command and returns what it did there.
func recordOps(t *testing.T, c *exec.Cmd, folder string) []op {
	t.Helper()
	folder, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{folder: folder, files: map[uint64]int{}, names: map[string]int{}, calls: map[int]entry{},
		folders: map[string]bool{".": true}}
	if err := r.run(c); errors.Is(err, errNoTrace) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	r.compare(t)
	return r.ops
}

func (r *recorder) run(c *exec.Cmd) error {
	// The kernel knows a tracer by its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(in.Fd()), &st); err != nil {
		return err
	}
	r.stdout = st.Ino
	go func() { _, _ = io.Copy(io.Discard, out) }()
	var said bytes.Buffer
	complaints, err := os.CreateTemp("", "recorded")
	if err != nil {
		return err
	}
	defer os.Remove(complaints.Name())
	defer complaints.Close()
	c.Stdout, c.Stderr = in, complaints
	c.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true, Pdeathsig: syscall.SIGKILL}
	err = c.Start()
	in.Close()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoTrace, err)
	}
	r.pid = c.Process.Pid
	defer syscall.Kill(-r.pid, syscall.SIGKILL)
	var status unix.WaitStatus
	if _, err := unix.Wait4(r.pid, &status, 0, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("%w: it does not stop: %v", errNoTrace, err)
	}
	if err := unix.PtraceSetOptions(r.pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|
		unix.PTRACE_O_EXITKILL); err != nil {
		return fmt.Errorf("%w: %w", errNoTrace, err)
	}
	if err := unix.PtraceSyscall(r.pid, 0); err != nil {
		return fmt.Errorf("%w: %w", errNoTrace, err)
	}
	known := map[int]bool{r.pid: true}
	for {
		thread, err := unix.Wait4(-r.pid, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		} else if errors.Is(err, unix.ECHILD) {
			return errors.New("the process is gone without a word")
		} else if err != nil {
			return err
		}
		if status.Exited() || status.Signaled() {
			delete(r.calls, thread)
			if thread != r.pid {
				continue
			}
			if status.ExitStatus() != 0 {
				_, _ = complaints.Seek(0, io.SeekStart)
				_, _ = said.ReadFrom(complaints)
				return fmt.Errorf("it ended with %d: %s", status.ExitStatus(), &said)
			}
			return nil
		}
		deliver := 0
		switch signal := status.StopSignal(); {
		case signal == unix.SIGTRAP|0x80:
			if err := r.stopped(thread); err != nil {
				return err
			}
		case signal == unix.SIGTRAP: // a new thread is announced
		case signal == unix.SIGSTOP && !known[thread]:
		default:
			deliver = int(signal)
		}
		known[thread] = true
		if err := unix.PtraceSyscall(thread, deliver); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
}

// syscallInfo is the kernel's struct ptrace_syscall_info.
type syscallInfo struct {
	op     uint8
	_      [3]uint8
	arch   uint32
	ip, sp uint64
	data   [8]uint64 // entry: number and arguments; exit: result and whether it is an error
}

const (
	ptraceGetSyscallInfo = 0x420e
	syscallEntry         = 1
	syscallExit          = 2
)

// stopped takes a thread's stop at the begin or the end of a system call.
func (r *recorder) stopped(thread int) error {
	var info syscallInfo
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(thread), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0); e != 0 {
		if e == unix.ESRCH {
			return nil
		}
		return fmt.Errorf("%w: %w", errNoTrace, e)
	}
	switch info.op {
	case syscallEntry:
		e := entry{number: info.data[0], at: len(r.ops)}
		copy(e.args[:], info.data[1:7])
		r.calls[thread] = e
	case syscallExit:
		e, ok := r.calls[thread]
		delete(r.calls, thread)
		if ok && int64(info.data[0]) >= 0 {
			return r.done(e, int64(info.data[0]))
		}
	}
	return nil
}

// done notes a system call that has succeeded.
func (r *recorder) done(e entry, result int64) error {
	switch e.number {
	case unix.SYS_OPENAT:
		if e.args[2]&unix.O_CREAT == 0 {
			return nil
		}
		name, ok, err := r.path(e.args[0], e.args[1])
		if err != nil || !ok {
			return err
		}
		inode, _, err := r.descriptor(uint64(result))
		if err != nil {
			return err
		}
		if number, known := r.names[name]; known {
			r.files[inode] = number
			if e.args[2]&unix.O_TRUNC != 0 {
				r.ops = append(r.ops, op{kind: opTruncate, file: number})
			}
			return nil
		}
		r.count++
		r.files[inode], r.names[name] = r.count, r.count
		r.ops = append(r.ops, op{kind: opCreate, file: r.count, name: name})
	case unix.SYS_MKDIRAT:
		name, ok, err := r.path(e.args[0], e.args[1])
		if err != nil || !ok {
			return err
		}
		r.count++
		r.names[name], r.folders[name] = r.count, true
		r.ops = append(r.ops, op{kind: opFolder, file: r.count, name: name})
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		inode, name, err := r.descriptor(e.args[0])
		if err != nil {
			return err
		}
		number, ours := r.files[inode]
		ours = ours && strings.HasPrefix(name, r.folder+"/")
		if !ours && inode != r.stdout {
			return nil
		}
		data := make([]byte, result)
		if _, err := r.read(data, int64(e.args[1])); err != nil {
			return fmt.Errorf("read what is written: %w", err)
		}
		if !ours {
			for line := range strings.Lines(string(data)) {
				r.ops = append(r.ops, op{kind: opSaid, text: strings.TrimSpace(line)})
			}
			return nil
		}
		offset := int64(e.args[3])
		if e.number == unix.SYS_WRITE {
			position, err := r.position(e.args[0])
			if err != nil {
				return err
			}
			offset = position - result
		}
		r.ops = append(r.ops, op{kind: opWrite, file: number, offset: offset, data: data})
	case unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		inode, name, err := r.descriptor(e.args[0])
		if err != nil {
			return err
		}
		number, ours := r.files[inode]
		inside, err := filepath.Rel(r.folder, name)
		folder := r.folders[inside]
		if err != nil || !folder && !(ours && filepath.IsLocal(inside)) {
			return nil
		} else if folder {
			r.ops = append(r.ops, op{kind: opSync, name: inside, covers: e.at})
			return nil
		}
		if e.number == unix.SYS_FTRUNCATE {
			r.ops = append(r.ops, op{kind: opTruncate, file: number, size: int64(e.args[1])})
		} else {
			r.ops = append(r.ops, op{kind: opSync, file: number, covers: e.at})
		}
	case unix.SYS_LINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		name, ok, err := r.path(e.args[0], e.args[1])
		if err != nil || !ok {
			return err
		}
		to, _, err := r.path(e.args[2], e.args[3])
		if err != nil {
			return err
		}
		kind := opRename
		if e.number == unix.SYS_LINKAT {
			kind = opLink
		}
		r.names[to] = r.names[name]
		if kind == opRename {
			delete(r.names, name)
		}
		r.ops = append(r.ops, op{kind: kind, name: name, to: to})
	case unix.SYS_UNLINKAT:
		name, ok, err := r.path(e.args[0], e.args[1])
		if err != nil || !ok {
			return err
		}
		delete(r.names, name)
		r.ops = append(r.ops, op{kind: opUnlink, name: name})
	case unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_FALLOCATE, unix.SYS_TRUNCATE:
		return fmt.Errorf("system call %d is not one that the recorder knows", e.number)
	}
	return nil
}

// read reads from the memory of the process, which another one has once it has become another program.
func (r *recorder) read(data []byte, at int64) (int, error) {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", r.pid))
	if err != nil {
		return 0, err
	}
	defer memory.Close()
	return memory.ReadAt(data, at)
}

// descriptor returns the inode and the path of an open file.
func (r *recorder) descriptor(fd uint64) (inode uint64, path string, err error) {
	at := fmt.Sprintf("/proc/%d/fd/%d", r.pid, int32(fd))
	var st unix.Stat_t
	if err := unix.Stat(at, &st); err != nil {
		return 0, "", fmt.Errorf("descriptor %d: %w", int32(fd), err)
	}
	path, err = os.Readlink(at)
	return st.Ino, path, err
}

func (r *recorder) position(fd uint64) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", r.pid, int32(fd)))
	if err != nil {
		return 0, err
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(string(data), "pos:"), "\n")
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

// path reads a path that a call names, and returns it as seen from the folder, if it is in there.
func (r *recorder) path(folder, at uint64) (name string, ours bool, err error) {
	var data [4096]byte
	n, err := r.read(data[:], int64(at))
	end := bytes.IndexByte(data[:n], 0)
	if end < 0 {
		return "", false, fmt.Errorf("read a path: %w", err)
	}
	path := string(data[:end])
	if !filepath.IsAbs(path) {
		if int32(folder) != unix.AT_FDCWD {
			return "", false, nil // programs here give whole paths, or those from where they stand
		}
		from, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", r.pid))
		if err != nil {
			return "", false, err
		}
		path = filepath.Join(from, path)
	}
	name, err = filepath.Rel(r.folder, path)
	return name, err == nil && filepath.IsLocal(name), nil
}

// compare holds the recording against the folder that it led to.
func (r *recorder) compare(t *testing.T) {
	t.Helper()
	d := newFolder()
	for _, o := range r.ops {
		d.apply(o)
	}
	found := 0
	err := filepath.WalkDir(r.folder, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(r.folder, path)
		if err != nil || name == "." {
			return err
		}
		found++
		file, ok := d.names[name]
		made, isFile := d.files[file]
		if e.IsDir() && ok && !isFile {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !ok || !isFile || !bytes.Equal(made, data) {
			return fmt.Errorf("the recording makes another %s of %d bytes: it has %d", name, len(made), len(data))
		}
		return nil
	})
	if err != nil || found != len(d.names) {
		t.Fatalf("the recording makes %d files and folders, there are %d: %v", len(d.names), found, err)
	}
}
