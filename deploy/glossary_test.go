package deploy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// texts returns the text of all hand-written Go, messages, pages, rules and dashboards by file,
// the glossary left out.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != ".ci":
			return filepath.SkipDir
		case !strings.Contains(".go .md .proto .yml .json", filepath.Ext(file)) || filepath.Ext(file) == "":
			return nil
		case d.IsDir() || d.Name() == "GLOSSARY.md" || d.Name() == "glossary_test.go" ||
			strings.HasSuffix(file, ".pb.go"):
			return nil
		}
		data, err := os.ReadFile(file)
		all[file] = string(data)
		return err
	})
	if err != nil || len(all) < 300 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return all
}

// TestGlossaryWordsAreUsed wants each word of the glossary in a page or in code, and each word to
// stand there once.
func TestGlossaryWordsAreUsed(t *testing.T) {
	var text strings.Builder
	for _, s := range texts(t) {
		text.WriteString(strings.ToLower(s))
	}
	seen := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \|`).FindAllStringSubmatch(
		pages(t)["docs/GLOSSARY.md"], -1) {
		if row[1] == "word" {
			continue
		}
		for word := range strings.SplitSeq(row[1], ", ") {
			if seen[word] {
				t.Errorf("%q has two meanings", word)
			}
			seen[word] = true
			form := strings.TrimSuffix(word, "y") + "(y|ies|s|es|ed|d)?"
			if !regexp.MustCompile(`\b` + form + `\b`).MatchString(text.String()) {
				t.Errorf("no page and no code uses %q", word)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d words found", len(seen))
	}
}
