package program

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/shared/testkit/wrong"
)

// TestWrongInputs runs the lines of the page about wrong inputs.
func TestWrongInputs(t *testing.T) {
	page, err := filepath.Abs("../../deploy/docs/ERRORS.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	wrong.Check(t, page, "worker", func(args []string) (int, string) {
		var stderr bytes.Buffer
		code := Run(args, strings.NewReader(""), new(bytes.Buffer), &stderr)
		return code, stderr.String()
	})
}
