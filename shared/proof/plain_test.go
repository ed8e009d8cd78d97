package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWritePlain writes a certificate as plain lines, alone and in parts, and finds each entry, root,
// citation and claim in them once.
func TestWritePlain(t *testing.T) {
	const file = "testdata/format1.amzcert"
	c, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "p.proof")
	m, err := WriteParts(context.Background(), name, c, 20)
	if err != nil {
		t.Fatal(err)
	}
	wholeID := fileID(t, file)
	whole, parts := map[string]int{"claim": 1, "part": 1, "root": 1, "entry": c.Set.Len()}, map[string]int{"claim": 1}
	for _, p := range m.Parts {
		parts["part"]++
		parts["root"] += len(p.Roots)
		parts["entry"] += int(p.Positions)
		parts["cite"] += int(p.Citations)
	}
	if parts["part"] < 3 || parts["cite"] == 0 {
		t.Fatalf("a proof in parts with %v shows nothing", parts)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for _, x := range []struct {
		name string
		id   ID
		want map[string]int
	}{{file, wholeID, whole}, {name, fileID(t, name), parts}} {
		var out bytes.Buffer
		if err := WritePlain(context.Background(), &out, x.name); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		head := fmt.Sprintf("amazons-plain 1\nboard 4 4\nfile %s\nrules %d\n", x.id.Name(), plainRules(c.Leaves))
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, "\nend\n") {
			t.Fatalf("%s begins with %q", x.name, text[:len(head)])
		}
		got := map[string]int{}
		for line := range strings.Lines(text) {
			got[strings.Fields(line)[0]]++
		}
		for word, n := range x.want {
			if got[word] != n {
				t.Errorf("%s: %d lines %q, want %d", x.name, got[word], word, n)
			}
		}
		out.Reset()
		err := WritePlain(over, &out, x.name)
		if !errors.Is(err, context.Canceled) || strings.Contains(out.String(), "end\n") {
			t.Errorf("%s, interrupted: %v and %d bytes", x.name, err, out.Len())
		}
	}
	if err := WritePlain(context.Background(), &bytes.Buffer{}, "plain_test.go"); err == nil {
		t.Error("a file that is no certificate was written")
	}
}

func fileID(t *testing.T, name string) ID {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return IDOf(data)
}

// TestWritePlainOfNoFile: what is no file is no certificate, as for ReadFile.
func TestWritePlainOfNoFile(t *testing.T) {
	var out bytes.Buffer
	if err := WritePlain(t.Context(), &out, t.TempDir()); !errors.Is(err, ErrNotCertificate) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}
