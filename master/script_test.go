package main

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"master": main})
}

// TestScripts runs the commands as processes. Beside the usual commands of testscript there are:
// code N COMMAND... (the command ends with exit code N), await ADDRESS (until something listens),
// taken ADDRESS (listens there), flip FILE OFFSET (one bit), lock FILE (holds it until the script
// ends), foreign FILE (a database of somebody else), json KEY... VALUE (of the last standard
// output), get URL [PATTERN] (its body becomes the standard output; with a pattern it is asked for
// until that matches, for ten seconds at most: what pages and metrics say may be a second old).
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("HOME", e.WorkDir)
			for _, name := range []string{"ADDR", "HTTP"} {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					return err
				}
				e.Setenv(name, l.Addr().String())
				if err := l.Close(); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": runCode, "await": runAwait, "flip": runFlip, "lock": runLock, "json": runJSON, "taken": runTaken,
			"foreign": runForeign,
			"get":     runGet,
		},
	})
}

func runCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func runAwait(ts *testscript.TestScript, _ bool, args []string) {
	for range 200 {
		conn, err := net.DialTimeout("tcp", args[0], time.Second)
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("nobody listens on %s", args[0])
}

func runTaken(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", args[0])
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

func runFlip(ts *testscript.TestScript, _ bool, args []string) {
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	data[at] ^= 1
	ts.Check(os.WriteFile(name, data, 0o644))
}

func runLock(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	ts.Check(unix.Flock(int(f.Fd()), unix.LOCK_EX))
	ts.Defer(func() { f.Close() })
}

func runJSON(ts *testscript.TestScript, _ bool, args []string) {
	var doc map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	var got any = doc
	for _, k := range args[:len(args)-1] {
		m, ok := got.(map[string]any)
		if !ok {
			ts.Fatalf("%v: %s is missing in %v", args, k, got)
		}
		got = m[k]
	}
	text, err := json.Marshal(got)
	ts.Check(err)
	if want := args[len(args)-1]; string(text) != want {
		ts.Fatalf("%v is %s, want %s", args[:len(args)-1], text, want)
	}
}

func runGet(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: get URL [PATTERN]")
	}
	want := regexp.MustCompile(strings.Join(args[1:], ""))
	var r *http.Response
	var body []byte
	for range 200 {
		var err error
		r, err = http.Get(args[0])
		ts.Check(err)
		body, err = io.ReadAll(r.Body)
		ts.Check(errors.Join(err, r.Body.Close()))
		if want.Match(body) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, err := ts.Stdout().Write(body)
	ts.Check(err)
	if good := r.StatusCode == http.StatusOK; good == neg {
		ts.Fatalf("%s: %s", args[0], r.Status)
	}
	if !want.Match(body) {
		ts.Fatalf("%s: %s does not match in ten seconds", args[0], want)
	}
}

// runForeign makes a bbolt file that is not a store of ours.
func runForeign(ts *testscript.TestScript, _ bool, args []string) {
	db, err := bbolt.Open(ts.MkAbs(args[0]), 0o644, nil)
	ts.Check(err)
	ts.Check(db.Close())
}
