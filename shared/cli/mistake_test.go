package cli

import (
	"os"
	"testing"
)

// TestTyped: what is printed for a person to type works where the program was called.
func TestTyped(t *testing.T) {
	defer func(called string) { os.Args[0] = called }(os.Args[0])
	for called, want := range map[string]string{
		"master": "master", "bin/master": "bin/master", "./worker": "./master",
		"amazons-worker": "amazons-master", "/usr/bin/amazons-master": "/usr/bin/amazons-master",
		"/tmp/go-build1/b001/exe/master": "go run ./master",
		"/a cache/a9/a96998d7c3e04015d965af6ee54c072ccc9934e5d3f7d9b404dddc2b75cf5380-d/master": "go run ./master",
	} {
		if os.Args[0] = called; typed("master") != want {
			t.Errorf("%s: %q, want %q", called, typed("master"), want)
		}
	}
}

// TestQuoted: the name of a file is printed as a shell takes it.
func TestQuoted(t *testing.T) {
	for file, want := range map[string]string{
		"/a/5x5.proof": "/a/5x5.proof", "á.proof": "á.proof", "a b": "'a b'", "-a": "./-a", "it's": `'it'\''s'`,
		"a\nb": `$'a\nb'`, "": "''", "$x": "'$x'",
		"~": "'~'", "a!*": "'a!*'", "=ls": "'=ls'", "a=b": "a=b", "\u009b'": `$'\u009b\''`, "\xff": `$'\xff'`,
	} {
		if got := Quoted(file); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
	}
}
