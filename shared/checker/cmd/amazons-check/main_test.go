package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amazonsfarm/shared/checker"
)

const good = "../../../proof/testdata/format1.amzcert"

// TestImports holds what the program is made of: the checker, a zstd decoder, the standard library,
// and nothing else of this module.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	decoder := false
	for _, path := range strings.Fields(string(out)) {
		switch {
		case path == "amazonsfarm/shared/checker", path == "amazonsfarm/shared/checker/cmd/amazons-check":
		case strings.HasPrefix(path, "github.com/klauspost/compress"):
			decoder = true
		default:
			t.Errorf("it is made of %s as well", path)
		}
	}
	if !decoder {
		t.Errorf("go list says %s", out)
	}
}

func TestRun(t *testing.T) {
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string, data []byte) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	flipped := bytes.Clone(data)
	flipped[300] ^= 1
	manifest := filepath.FromSlash("../../../../deploy/results/6x5/6x5.proof") // most of its parts are elsewhere
	bad, short, text := write("bad", flipped), write("short", data[:100]), write("text", []byte("hello"))
	parts := filepath.Join(folder, "x.parts")
	if err := os.Mkdir(parts, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // parts of them
	}{
		{"valid", []string{good}, 0, "proved   .BB./B..B/W..W/.WW. w: black wins", ""},
		{"cores", []string{"-cores", "1", good}, 0, "with --cores 1", ""},
		{"damaged", []string{bad}, 20, "", "checksum"},
		{"short", []string{short}, 20, "", "truncated"},
		{"a name with lines", []string{write("x\nproved all\x1b[8m.proof", flipped)}, 20, "",
			`x\nproved all\x1b[8m.proof: certificate checksum`},
		{"valid, a name with lines", []string{write("y\nproved all.proof", data)}, 0, `y\nproved all.proof: valid`, ""},
		{"text", []string{text}, 20, "", "not a certificate"},
		{"one of two", []string{bad, good}, 20, "valid certificate for 4x4", "bad: certificate checksum"},
		{"missing", []string{filepath.Join(folder, "missing")}, 1, "", "no such file"},
		{"rules only", []string{"--rules-only", good}, 20, "", "entry"},
		{"missing, and parts are", []string{filepath.Join(folder, "missing"), manifest}, 1, "claimed", "not whole"},
		{"parts are missing", []string{good, manifest}, 3, "claimed", "not whole"},
		{"no folder of a state", []string{"--state", filepath.Join(folder, "none", "s"), manifest}, 64, "",
			"there is no such file, or no folder for it"},
		{"no state", []string{"--state", text, manifest}, 64, "", "not a state of this check"},
		{"too little memory", []string{"--max-memory", "100", good}, 1, "", "the limit is 100"},
		{"memory in GiB", []string{"--max-memory", "1GiB", good}, 0, "valid", ""},
		{"memory in T", []string{"--max-memory", "1T", good}, 0, "valid", ""},
		{"memory in iB", []string{"--max-memory", "1iB", good}, 64, "", "such as 4294967296 or 4GiB"},
		{"memory in a wrong unit", []string{"--max-memory", "1GB", good}, 64, "", "such as 4294967296 or 4GiB"},
		{"too much memory to count", []string{"--max-memory", "99999999999GiB", good}, 64, "", "such as"},
		{"no memory", []string{"--max-memory", "0", good}, 64, "", "above zero"},
		{"version", []string{"--version"}, 0, "formats 1 to 2", ""},
		{"flags behind", []string{good, "--rules-only"}, 20, "", "entry"},
		{"flags between", []string{bad, "--cores", "1", good}, 20, "with --cores 1", "bad: certificate checksum"},
		{"no flags behind --", []string{"--", good, "--cores"}, 1, "valid", "--cores: open certificate"},
		{"unknown flag behind", []string{good, "--nothing"}, 64, "", "-nothing; see amazons-check --help"},
		{"help", []string{good, "--help"}, 0, "Exit codes:", ""},
		{"nothing", nil, 64, "", "give a certificate"},
		{"no cores", []string{"--cores", "0", good}, 64, "", "above zero"},
		{"a sample of one file", []string{"--sample", "1%", good}, 64, "", "one file"},
		{"half a share", []string{"--sample", "0.5", good}, 64, "", "above 0%"},
		{"no shard", []string{"--shard", "17/16", good}, 64, "", "such as 3/16"},
		{"a seed alone", []string{"--seed", "3", good}, 64, "", "--seed chooses a sample; give --sample as well"},
		{"a folder", []string{good, parts}, 64, "", "x.parts is a folder; give a certificate or a manifest, such as " +
			strings.TrimSuffix(parts, ".parts") + ".proof"},
		{"unknown flag", []string{"--nothing", good}, 64, "", "not defined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(context.Background(), c.args, &stdout, &stderr); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(stdout.String(), c.stdout) || c.stdout == "" && stdout.Len() > 0 {
				t.Errorf("standard output %q", stdout.String())
			}
			if !strings.Contains(stderr.String(), c.stderr) || c.stderr == "" && stderr.Len() > 0 {
				t.Errorf("standard error %q", stderr.String())
			}
		})
	}
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	if code := run(context.Background(), []string{"--json", "--rules-only", good}, &out, io.Discard); code != 20 {
		t.Errorf("exit code %d", code)
	}
	if code := run(context.Background(), []string{"--json", good}, &out, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	lines := json.NewDecoder(strings.NewReader(out.String()))
	var refused, valid answer
	if err := errors.Join(lines.Decode(&refused), lines.Decode(&valid)); err != nil {
		t.Fatal(err)
	}
	if refused.Verified || refused.Fault == nil || refused.Reason == "" || refused.MessageType != "verification" {
		t.Errorf("refused: %+v", refused)
	}
	if !valid.Verified || valid.Report == nil || valid.Report.Width != 4 || valid.File != good {
		t.Errorf("valid: %+v", valid)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, told strings.Builder
	if code := run(ctx, []string{"--json", good}, &out, &told); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(out.String(), `"reason":"interrupted"`) ||
		!strings.HasSuffix(told.String(), ": interrupted\n") {
		t.Errorf("it says %q and %q", out.String(), told.String())
	}
}

// TestProgress holds that a long check says how far it is, of a certificate in one file as well, and that a short one
// after it says nothing.
func TestProgress(t *testing.T) {
	var out strings.Builder
	say := progress(&out)
	for _, seconds := range []time.Duration{4, 12, 15, 1} {
		say(checker.Progress{Entries: 60, TotalEntries: 90, Elapsed: seconds * time.Second})
	}
	if out.String() != "12s: 60 of 90 positions, 5 a second\n" {
		t.Errorf("it says %q", out.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestFullDisk(t *testing.T) {
	for _, args := range [][]string{{good}, {"--json", good}, {"--help"}, {"--version"}} {
		if code := run(context.Background(), args, full{}, io.Discard); code != exitFailed {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
