package program

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amazonsfarm/shared/testkit/wrong"
)

// TestWrongInputs runs the lines of the page about wrong inputs, with a master that serves 4x4.
func TestWrongInputs(t *testing.T) {
	page, err := filepath.Abs("../../deploy/docs/ERRORS.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	run := func(args ...string) (int, string) {
		var stderr bytes.Buffer
		code := Run(args, strings.NewReader(""), new(bytes.Buffer), &stderr)
		return code, stderr.String()
	}
	if code, said := run("solve", "4x4", "--store", "4x4.db", "--cores", "1"); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	change := func(from, to string, f func([]byte) []byte) {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, f(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change("4x4.db", "cut.db", func(data []byte) []byte { return data[:20000] })
	change("4x4.proof", "damaged.proof", func(data []byte) []byte { data[300] ^= 1; return data })
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	change("4x4.proof", "empty", func([]byte) []byte { return nil })
	change("4x4.proof", "text", func([]byte) []byte { return []byte("hello\n") })

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ended := make(chan int)
	go func() {
		code, _ := run("serve", "--board", "4x4", "--store", "served.db", "--listen", address, "--log-level", "error")
		ended <- code
	}()
	for range 200 {
		if code, _ := run("status", "--master", address); code == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Run("page", func(t *testing.T) {
		t.Setenv("AMAZONS_MASTER", address)
		wrong.Check(t, page, "master", func(args []string) (int, string) { return run(args...) })
	})
	if code, said := run("drain", "--master", address); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	<-ended
	for _, file := range []string{"s", "same", "p"} {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("a wrong input left the file %s", file)
		}
	}
}
