package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns the text of each page of documentation by its file, the README among them.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d pages: %v", len(files), err)
	}
	results, err := filepath.Glob("docs/results/*.md")
	if err != nil || len(results) < 5 {
		t.Fatalf("%d pages of results: %v", len(results), err)
	}
	files = append(files, results...)
	all := map[string]string{}
	for _, file := range append(files, "../README.md") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(data)
	}
	return all
}

// TestEveryAlertHasAnEntry wants a section of the runbook for each alert, a link to it in the
// alert, and no section and no name in a page for an alert that is not there.
func TestEveryAlertHasAnEntry(t *testing.T) {
	_, alerts := rules(t)
	sections := regexp.MustCompile(`(?m)^## (Amazons\w+)\n\n\S`).FindAllStringSubmatch(pages(t)["docs/RUNBOOK.md"], -1)
	var entries []string
	for _, s := range sections {
		entries = append(entries, s[1])
	}
	for _, a := range alerts {
		if !slices.Contains(entries, a.Alert) {
			t.Errorf("the runbook has no entry for %s", a.Alert)
		}
		if want := "deploy/docs/RUNBOOK.md#" + strings.ToLower(a.Alert); a.Annotations["runbook"] != want {
			t.Errorf("%s points to %q instead of %q", a.Alert, a.Annotations["runbook"], want)
		}
	}
	for _, e := range entries {
		if !slices.ContainsFunc(alerts, func(a rule) bool { return a.Alert == e }) {
			t.Errorf("the runbook has an entry for %s, which is no alert", e)
		}
	}
	for file, text := range pages(t) {
		for _, name := range regexp.MustCompile(`\bAmazons[A-Z]\w+`).FindAllString(text, -1) {
			if !slices.Contains(entries, name) {
				t.Errorf("%s names %s, which is no alert", file, name)
			}
		}
	}
}

// TestPagesNameWhatIsThere wants links between pages, folders and scripts in the text, and names of
// figures to be of things that exist.
func TestPagesNameWhatIsThere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	place := regexp.MustCompile("`((?:master|worker|shared|proto|scripts|deploy)/[a-z0-9/_.-]*[a-z0-9])")
	figure := regexp.MustCompile(`\bamazons_(?:master|worker)_[a-z0-9_]+`)
	known := registered(t)
	links, places, figures := 0, 0, 0
	for file, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: a link to %s: %v", file, m[1], err)
			}
		}
		for _, m := range place.FindAllStringSubmatch(text, -1) {
			places++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s: %v", file, m[1], err)
			}
		}
		for _, name := range figure.FindAllString(text, -1) {
			figures++
			if _, ok := known[name]; !ok {
				t.Errorf("%s names the figure %s, which is not there", file, name)
			}
		}
	}
	if links == 0 || places == 0 || figures == 0 {
		t.Errorf("%d links, %d places and %d figures found", links, places, figures)
	}
}

// TestArchitectureListsPackages wants every package of both programs in the README's table of
// folders or on the page about the architecture.
func TestArchitectureListsPackages(t *testing.T) {
	text := pages(t)["docs/ARCHITECTURE.md"] + pages(t)["../README.md"]
	for _, pattern := range []string{"../master/*/*.go", "../worker/*/*.go", "../shared/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("no page says what %s is for", name)
				text += "`" + name + "`" // once
			}
		}
	}
}

// TestWayOfALease wants each function on the way of a lease and its result, as the page about the
// architecture lists them, at most fifteen each way with at most five conversions.
func TestWayOfALease(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| (down|back) (\\d+) \\| `([^`]+)` \\| `([^`]+)`( \\*)? \\|")
	hops, conversions := map[string]int{}, map[string]int{}
	for _, m := range row.FindAllStringSubmatch(pages(t)["docs/ARCHITECTURE.md"], -1) {
		way, file, function := m[1], m[3], m[4]
		if hops[way]++; m[2] != fmt.Sprint(hops[way]) {
			t.Errorf("%s %s is hop %d", way, m[2], hops[way])
		}
		if m[5] != "" {
			conversions[way]++
		}
		source, err := os.ReadFile("../" + file)
		if err != nil {
			t.Error(err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + function + `[(\[]`).Match(source) {
			t.Errorf("%s %s: %s has no function %s", way, m[2], file, function)
		}
	}
	for _, way := range []string{"down", "back"} {
		if hops[way] == 0 || hops[way] > 15 || conversions[way] > 5 {
			t.Errorf("%s: %d hops, %d conversions", way, hops[way], conversions[way])
		}
	}
}

// TestJSONFields wants every field of every document that programs read of ours on the page about
// them, and each kind of document as a title.
func TestJSONFields(t *testing.T) {
	page := pages(t)["docs/JSON.md"]
	tag := regexp.MustCompile("`json:\"([a-z_0-9]+)")
	kind := regexp.MustCompile(`json:"message_type"` + "`" + ` // "([a-z_]+)"`)
	kinds, fields := 0, 0
	for _, pattern := range []string{"../master/command/*.go", "../master/document/*.go", "../master/web/*.go",
		"../master/simulate/*.go", "../worker/command/*.go", "../master/credentials/*.go",
		"../master/store/report/*.go", "../master/campaign/*.go", "../master/forecast/*.go",
		"../master/archive/import.go", "../master/loop/contributors.go",
		"../shared/cli/result.go", "../shared/checker/report.go", "../shared/checker/text.go",
		"../shared/endgame/info.go", "../shared/eval/explain_forms.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range kind.FindAllStringSubmatch(string(data), -1) {
				kinds++
				if !regexp.MustCompile(`(?m)^## .*\b` + m[1] + `\b`).MatchString(page) {
					t.Errorf("%s: the page has no title for documents of kind %s", file, m[1])
				}
			}
			// Progress is told to callers of the checker, not to other programs.
			for _, m := range tag.FindAllStringSubmatch(
				regexp.MustCompile(`(?s)type Progress struct .*?\n}`).ReplaceAllString(string(data), ""), -1) {
				fields++
				if !strings.Contains(page, "`"+m[1]+"`") {
					t.Errorf("%s: the page does not say what %s is", file, m[1])
				}
			}
		}
	}
	if kinds < 10 || fields < 150 {
		t.Errorf("only %d kinds and %d fields found", kinds, fields)
	}
}

// TestEveryScriptIsListed wants a line of SCRIPTS.md for each script, with what it does.
func TestEveryScriptIsListed(t *testing.T) {
	page := pages(t)["docs/SCRIPTS.md"]
	files, err := filepath.Glob("../scripts/*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.IsDir() || info.Mode()&0o111 == 0 ||
			filepath.Base(file) == "lib.sh" {
			continue // not to be run by people
		}
		name := "scripts/" + filepath.Base(file)
		if !regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "[ `]").MatchString(page) {
			t.Errorf("SCRIPTS.md has no line about %s", name)
		}
	}
}

// TestCheckNamesPackages wants each package and fuzz target that .ci/run names to be there.
func TestCheckNamesPackages(t *testing.T) {
	data, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[ /]((?:master|worker|shared)(?:/[a-z]+)+)(?::(Fuzz\w+))?`).
		FindAllStringSubmatch(string(data), -1)
	if len(named) < 10 {
		t.Fatalf("only %d packages found", len(named))
	}
	for _, m := range named {
		text := ""
		files, err := filepath.Glob("../" + m[1] + "/*_test.go")
		for _, file := range files {
			data, _ := os.ReadFile(file)
			text += string(data)
		}
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no tests: %v", m[1], err)
		}
		if !strings.Contains(text, "func "+m[2]+"(") && m[2] != "" {
			t.Errorf("%s has no target %s", m[1], m[2])
		}
	}
}
