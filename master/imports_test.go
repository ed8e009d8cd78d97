package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "amazonsfarm/"

// allowedEntries are the top-level entries of the repository; the code lives in the first five.
var allowedEntries = []string{
	"proto", "master", "worker", "shared", "deploy", "scripts",
	"docker-compose.yml", "go.mod", "go.sum", "README.md", "Dockerfile", "LICENSE", ".ci", ".gitignore",
	".git", ".dockerignore",
}

// rank orders the packages inside shared: one may import only packages of a smaller rank. checker
// has none, since it imports nothing of this module; cli and proof stand beside the search.
var rank = map[string]int{
	"svg": -1, "amazons": 0, "disk": 0, "memory": 0,
	"area": 1, "cgt": 1, "reference": 1, "fuzzing": 1, "numbers": 1,
	"endgame": 2,
	"eval":    3,
	"proof":   4, "estimate": 4, "sgf": 4,
	"dfpn": 5,
	"cli":  6, "identity": 6,
}

// mayImport says whether a package of this module may import another one; both are paths below the
// module.
func mayImport(from, to string, test bool) bool {
	top := func(p string) string { s, _, _ := strings.Cut(p, "/"); return s }
	if strings.HasPrefix(to, "shared/testkit/") && !test && top(from) != "scripts" {
		return false
	}
	switch top(from) {
	case "proto":
		// Messages are converted to and from the domain's types here and nowhere else.
		return slices.Contains([]string{"shared/amazons", "shared/eval", "shared/proof"}, to)
	case "shared":
		fromName, toName := room(from), room(to)
		if top(to) != "shared" {
			return false
		}
		if test || from == to || strings.HasPrefix(to, from+"/") {
			// A test may compare any two parts of shared. That of the checker has a reference of
			// its own.
			return fromName != "checker" || toName != "reference"
		}
		if fromName == "checker" || toName == "checker" {
			// the checker with a command line
			return strings.HasPrefix(from, "shared/checker/cmd/") && to == "shared/checker"
		}
		f, okF := rank[fromName]
		t, okT := rank[toName]
		return okF && okT && t < f
	case "master":
		// A test may put something in the place of a worker's engine.
		return top(to) == "master" || top(to) == "shared" || top(to) == "proto" || to == "worker/agent" || test &&
			to == "worker/engine"
	case "worker":
		return top(to) == "worker" || top(to) == "shared" || top(to) == "proto"
	}
	return true
}

// room returns the name of a package inside shared without the folder of test support: "reference"
// for "shared/testkit/reference".
func room(p string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(p, "shared/"), "testkit/"), "/")
	return name
}

// foreign are imports that keep a part from being what it is: shared knows no network, no store and
// no metrics, and the state machine of the master has no clock, socket or file.
func foreign(from, imported string) bool {
	for _, p := range []string{"google.golang.org/grpc", "go.etcd.io/bbolt", "github.com/prometheus/"} {
		if strings.HasPrefix(from, "shared/") && strings.HasPrefix(imported, p) {
			return true
		}
	}
	// The loop speaks in its own types; package rpc translates them.
	if from == "master/loop" && (strings.HasPrefix(imported, "google.golang.org/") ||
		imported == module+"proto/farm/v1" || imported == "net") {
		return true
	}
	// Pure state machines are told the time; they have no clock of their own, and no shell.
	if from == "master/trust" || from == "master/schedule" {
		return slices.Contains([]string{"net", "os", "io", "math/rand", "math/rand/v2", "sync", "context", "log/slog"},
			imported)
	}
	if from == "master/tree" || strings.HasPrefix(from, "master/tree/") {
		return slices.Contains([]string{"time", "net", "os", "io", "math/rand", "math/rand/v2", "sync", "context",
			"log/slog"}, imported)
	}
	return false
}

// TestImports holds the direction of imports: master and worker know proto and shared, the master
// of the workers only the agent, for the embedded farm; shared knows neither; the checker imports
// nothing of this module.
func TestImports(t *testing.T) {
	root := ".."
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		from, test := filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(file, "_test.go")
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return nil // a file that does not parse fails elsewhere
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if foreign(from, imported) && !test {
				t.Errorf("%s imports %s, which %s must not know", rel, imported, from)
			}
			if to, ours := strings.CutPrefix(imported, module); ours && !mayImport(from, to, test) {
				t.Errorf("%s imports %s against the direction of imports", rel, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCommandsStandAlone holds that a command uses the common ground and nothing of another command.
func TestCommandsStandAlone(t *testing.T) {
	common := []string{"command/common.go", "command/remote.go", "command/settings.go",
		"command/progress.go"}
	files, err := filepath.Glob("command/*.go")
	if err != nil {
		t.Fatal(err)
	}
	parsed, home := map[string]*ast.File{}, map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed[file] = f
		for name := range f.Scope.Objects {
			home[name] = file
		}
	}
	for file, f := range parsed {
		for _, name := range f.Unresolved { // of another file, of the language or of an import
			if at := home[name.Name]; at != "" && !slices.Contains(common, at) && file != common[0] {
				t.Errorf("%s uses %s of %s", file, name.Name, at)
			}
		}
	}
	if len(home) < 50 {
		t.Errorf("only %d names found", len(home))
	}
}

// TestTopLevelEntries keeps the top level of the repository to what the design names. What git
// ignores may lie about, such as the certificate of the first command in the README.
func TestTopLevelEntries(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile("../.gitignore")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		product := slices.ContainsFunc(strings.Fields(string(ignored)), func(pattern string) bool {
			matches, err := filepath.Match(strings.Trim(pattern, "/"), e.Name())
			return err == nil && matches
		})
		if !product && !slices.Contains(allowedEntries, e.Name()) {
			t.Errorf("%s is not among the top-level entries that the design allows", e.Name())
		}
	}
}

func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"master/rpc", "master/tree", true},
		{"master", "worker/agent", true},
		{"master", "worker/engine", false},
		{"worker/agent", "master/tree", false},
		{"worker/agent", "proto/farm/v1", true},
		{"shared/dfpn", "shared/eval", true},
		{"shared/eval", "shared/dfpn", false},
		{"shared/amazons", "shared/area", false},
		{"shared/checker", "shared/amazons", false},
		{"shared/checker/cmd/amazons-check", "shared/checker", true},
		{"shared/checker/cmd/amazons-check", "shared/amazons", false},
		{"shared/proof", "shared/checker", false},
		{"shared/dfpn", "proto/farm/v1", false},
		{"shared/testkit/reference", "shared/amazons", true},
		{"shared/testkit/reference", "shared/eval", false},
		{"shared/dfpn", "shared/testkit/reference", false},
		{"worker/engine", "shared/testkit/reference", false},
		{"master", "shared/testkit/reference", false},
	} {
		if got := mayImport(c.from, c.to, false); got != c.want {
			t.Errorf("mayImport(%s, %s) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
	for _, c := range []struct {
		from string
		want bool
	}{{"shared/dfpn", true}, {"master/tree", true}, {"worker/engine", true}, {"shared/checker", false}} {
		if got := mayImport(c.from, "shared/testkit/reference", true); got != c.want {
			t.Errorf("mayImport(a test of %s, shared/testkit/reference) = %v, want %v", c.from, got, c.want)
		}
	}
	const codes = "google.golang.org/grpc/codes"
	if !foreign("shared/dfpn", codes) || !foreign("master/loop", codes) || foreign("master/rpc", codes) {
		t.Error("foreign does not tell shared and the loop from the services")
	}
}
