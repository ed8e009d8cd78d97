package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tool is a program with all that a page can have.
func tool() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "Do things", Long: "tool does things.\n\n" + ExitHelp}
	ReadEnvironment(root)
	run := func(*cobra.Command, []string) error { return nil }
	do := &cobra.Command{
		Use: "do FILE | do --all FOLDER", Short: "Do one thing",
		Long: "do does it.\n.Not a request, nor\n'this\\one. Kinds:\n\n  a  the first\n  b  the " +
			"second\n\nThat is all.\n\n" + ExitHelp,
		Example: "  tool do x\n  tool do y", RunE: run,
	}
	do.Flags().String("table", "3", "size in bytes")
	do.Flags().BoolP("all", "a", false, "all of them")
	do.Flags().Int("cores", 7, "cores to use")
	do.Flags().Bool("secret", false, "not shown")
	if err := do.Flags().MarkHidden("secret"); err != nil {
		panic(err)
	}
	root.AddCommand(do, &cobra.Command{Use: "undo", Short: "Undo it", RunE: run},
		&cobra.Command{Use: "ghost", Hidden: true, RunE: run})
	AddPages(root)
	return root
}

// TestManPage wants what the help has in the page: texts as they are, flags, environment, exit codes.
func TestManPage(t *testing.T) {
	folder := t.TempDir()
	if err := writePages(tool(), folder); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "man", "man1", "tool-do.1"))
	if err != nil {
		t.Fatal(err)
	}
	page, last := string(data), 0
	for _, want := range []string{".TH \"TOOL-DO\" \"1\"", "\"Amazons proof farm\"", ".SH NAME",
		"tool-do - Do one thing",
		".SH SYNOPSIS", "tool do FILE | do --all FOLDER [flags]", ".SH DESCRIPTION", "do does it.", "Not a request",
		"\na  the first\nb  the second\n", "That is all.", ".SH ENVIRONMENT", "AMAZONS_TABLE stands in for --table",
		".SH EXIT STATUS", "\n130  interrupted\n", ".SH OPTIONS", "-a", "--all", "--cores", "=all", "--table",
		"size in bytes",
		".SH EXAMPLE", "  tool do x\n  tool do y", ".SH SEE ALSO", "tool(1)"} {
		at := strings.Index(page[last:], want)
		if at < 0 {
			t.Fatalf("no %q from byte %d on in\n%s", want, last, page)
		}
		last += at
	}
	if strings.Contains(page, "secret") {
		t.Error("a hidden flag is shown")
	}
}

// TestPages wants a page for each command that people see, completions for three shells, and the
// same bytes each time.
func TestPages(t *testing.T) {
	read := func() map[string]string {
		folder := t.TempDir()
		if code := Execute(t.Context(), tool(), []string{"pages", folder}, nil, io.Discard,
			os.Stderr); code != ExitDone {
			t.Fatalf("exit code %d", code)
		}
		files := map[string]string{}
		if err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			rel, _ := filepath.Rel(folder, name)
			files[filepath.ToSlash(rel)] = string(data)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return files
	}
	files, again := read(), read()
	for _, name := range []string{"man/man1/tool.1", "man/man1/tool-do.1", "man/man1/tool-undo.1",
		"completions/tool.bash", "completions/_tool", "completions/tool.fish"} {
		if len(files[name]) < 100 || files[name] != again[name] {
			t.Errorf("%s: %d bytes, and then %d others", name, len(files[name]), len(again[name]))
		}
	}
	if len(files) != 6 {
		t.Errorf("%d files instead of 6", len(files))
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff on this machine: whether pages are well formed is not checked")
	}
	for name, page := range files {
		if strings.HasPrefix(name, "man/") {
			c := exec.Command(groff, "-man", "-ww", "-z", "-Tutf8")
			c.Stdin = strings.NewReader(page)
			if out, err := c.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
				t.Errorf("%s: %v %s", name, err, out)
			}
		}
	}
}

func TestPagesErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := Execute(t.Context(), tool(), []string{"pages", file}, nil, io.Discard, io.Discard); code != ExitFailed {
		t.Errorf("pages into a file: exit code %d", code)
	}
	if code := Execute(t.Context(), tool(), []string{"pages"}, nil, io.Discard, io.Discard); code != ExitUsage {
		t.Errorf("pages into nothing: exit code %d", code)
	}
}
