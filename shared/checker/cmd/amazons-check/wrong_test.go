package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"amazonsfarm/shared/testkit/wrong"
)

// TestWrongInputs runs the lines of the page about wrong inputs.
func TestWrongInputs(t *testing.T) {
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	page, err := filepath.Abs("../../../../deploy/docs/ERRORS.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	damaged := bytes.Clone(data)
	damaged[300] ^= 1
	files := map[string][]byte{"4x4.proof": data, "damaged.proof": damaged, "text": []byte("hello\n")}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	wrong.Check(t, page, "amazons-check", func(args []string) (int, string) {
		var stderr bytes.Buffer
		code := run(t.Context(), args, io.Discard, &stderr)
		return code, stderr.String()
	})
}
