package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"amazonsfarm/shared/cli"
)

// TestHelp holds every line of every help to 90 columns, and each command to 24 flags.
func TestHelp(t *testing.T) {
	root := &cobra.Command{Use: "master"}
	root.AddCommand(All()...)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		flags := 0
		c.Flags().VisitAll(func(*pflag.Flag) { flags++ })
		if flags > 24 {
			t.Errorf("%s has %d flags", c.CommandPath(), flags)
		}
		var out strings.Builder
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if code := cli.Execute(t.Context(), root, args, nil, &out, &out); code != 0 {
			t.Errorf("%s: exit code %d", args, code)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 90 {
				t.Errorf("%s: %d columns: %s", args, n, line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" { // of cobra
				walk(sub)
			}
		}
	}
	walk(root)
}

// TestSettings reads a settings file: it sets what no flag has set, and is refused where it is wrong.
func TestSettings(t *testing.T) {
	read := func(text string, args ...string) (*settings, error) {
		s := newSettings()
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		s.addTo(flags, "max-budget", "min-free")
		file := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := flags.Parse(append(args, "--config", file)); err != nil {
			t.Fatal(err)
		}
		return s, s.read()
	}
	s, err := read("split-after: 700\nmax-budget: 5\nmin-free: 3MiB # for now\nheartbeat: "+
		"20ms\n\nworker-messages: 1e3\n",
		"--max-budget", "9")
	if o := s.farm; err != nil || o.Tree.SplitAfter != 700 || o.Tree.MaxBudget != 9 || o.Store.MinFreeBytes != 3<<20 ||
		o.Loop.Heartbeat != 20*time.Millisecond || o.Services.SessionMessages != 1000 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, empty := range []string{"", "# nothing\n", "{}"} {
		if _, err := read(empty); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
	for _, bad := range []string{"split-after: -1", "initial-budget: 9\nmax-budget: 8", "x", "3: 4", "tree-facts:",
		"a: [",
		"tree-facts: &a 3\nmax-workers: *a", "page-history: 1"} {
		if _, err := read(bad); cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestSettingsPage wants every key of a settings file on the page about them, with the default that
// the help names, and no other.
func TestSettingsPage(t *testing.T) {
	data, err := os.ReadFile("../../deploy/docs/SETTINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(data), "## Environment")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(table, -1) {
		rows[m[1]] = strings.NewReplacer(",", "", " ", "").Replace(m[2])
	}
	newSettings().all.VisitAll(func(f *pflag.Flag) {
		want := f.DefValue
		if m := regexp.MustCompile(`\(default ([^,;) ]+)`).FindStringSubmatch(f.Usage); m != nil {
			want = m[1]
		}
		if rows[f.Name] != want {
			t.Errorf("the default of %s is %q on the page and %q in the help", f.Name, rows[f.Name], want)
		}
		delete(rows, f.Name)
	})
	for name := range rows {
		t.Errorf("the page has %s, which is no setting", name)
	}
}
