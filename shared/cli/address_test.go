package cli

import (
	"strings"
	"testing"
)

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:7171": true, "127.8.9.10:0": true, "[::1]:7171": true, "localhost:7171": true,
		":7171": false, "0.0.0.0:7171": false, "[::]:7171": false, "10.0.0.1:7171": false, "farm.example:7171": false,
		"localhost.example:1": false,
		"nothing":             true, "a:b:c": true,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("Loopback(%q) is %v", address, got)
		}
	}
}

// TestAddress reads what people write for HOST:PORT, and holds what they are told otherwise.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", ":7172": "127.0.0.1:7172", "0.0.0.0:1": "127.0.0.1:1",
		"localhost":    "localhost:7171",
		"farm.example": "farm.example:7171", "::1": "[::1]:7171", "[::1]:5": "[::1]:5", "10.0.0.1": "10.0.0.1:7171",
	} {
		if got, err := DialAddress("master", text, "127.0.0.1:7171"); got != want || err != nil {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"9171":            "--master 9171: write HOST:PORT, such as 127.0.0.1:9171",
		"":                `--master "": write HOST:PORT, such as 127.0.0.1:7171`,
		"a b":             `--master "a b": write HOST:PORT, such as 127.0.0.1:7171`,
		"http://farm":     `--master "http://farm": write HOST:PORT, such as 127.0.0.1:7171`,
		":99999":          "--master :99999: the port must be a number from 1 to 65535, such as 7171",
		"farm:http":       "--master farm:http: the port must be a number from 1 to 65535, such as 7171",
		"farm:":           "--master farm:: the port must be a number from 1 to 65535, such as 7171",
		"127.0.0.1:0":     "--master 127.0.0.1:0: the port must be a number from 1 to 65535",
		"a:b:c":           `--master "a:b:c": write HOST:PORT, such as 127.0.0.1:7171`,
		"[::1":            `--master "[::1": write HOST:PORT, such as 127.0.0.1:7171`,
		"farm:7171/path":  `--master "farm:7171/path": write HOST:PORT, such as 127.0.0.1:7171`,
		"-1.example:-1":   "--master -1.example:-1: the port must be a number from 1 to 65535, such as 7171",
		"127.0.0.1:65536": "--master 127.0.0.1:65536: the port must be a number from 1 to 65535, such as 7171",
	} {
		got, err := DialAddress("master", text, "127.0.0.1:7171")
		if err == nil || err.Error() != want || ExitCode(err) != ExitUsage {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestListen holds what is said about a port that another program has.
func TestListen(t *testing.T) {
	first, err := Listen("http", "127.0.0.1:0", "127.0.0.1:9171")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	at := first.Addr().String()
	_, err = Listen("http", at, "127.0.0.1:9171")
	want := "--http " + at + ": this or another program listens there; choose another port, such as 127.0.0.1:"
	if err == nil || !strings.HasPrefix(err.Error(), want) || ExitCode(err) != ExitFailed {
		t.Errorf("%v; want %q", err, want)
	}
	if _, err = Listen("http", "192.0.2.1:0", ""); err == nil || !strings.Contains(err.Error(), "no such address") {
		t.Errorf("an address of another machine: %v", err)
	}
}
