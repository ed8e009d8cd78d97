package cli

import "testing"

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
