// Package wrong runs the wrong inputs of the page ERRORS.md and holds what is printed, and the exit code,
// against the page. It is for the tests of the programs.
package wrong

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is printed into the page")

// row is a line of the table: the command, what it prints on standard error, the exit code.
var row = regexp.MustCompile("^\\| `([^`]*)` \\| `([^`]*)` \\| ([0-9]+) \\|$")

// words are the words of a command, as a shell takes them apart.
var words = regexp.MustCompile(`'[^']*'|\S+`)

// Check runs each row of the page whose command is of a program, in the folder of the test, with an empty
// standard input. A … in what the page says stands for any text. run gets the arguments and returns the
// exit code and what went to standard error.
func Check(t *testing.T, page, program string, run func(args []string) (code int, stderr string)) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	lines, found := strings.Split(string(data), "\n"), 0
	for i, line := range lines {
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		command := strings.ReplaceAll(m[1], `\|`, "|")
		var args []string
		for _, w := range words.FindAllString(strings.TrimSuffix(command, " </dev/null"), -1) {
			args = append(args, strings.Trim(w, "'"))
		}
		var variables []string
		for len(args) > 0 && strings.Contains(args[0], "=") {
			variables, args = append(variables, args[0]), args[1:]
		}
		if len(args) == 0 || args[0] != program {
			continue
		}
		found++
		t.Run(command, func(t *testing.T) {
			for _, v := range variables {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			code, said := run(args[1:])
			if strings.Count(said, "\n") != 1 {
				t.Errorf("it is not one line: %q", said)
			}
			said = strings.ReplaceAll(strings.TrimSuffix(said, "\n"), "|", `\|`)
			got := fmt.Sprintf("| `%s` | `%s` | %d |", m[1], said, code)
			says := strings.ReplaceAll(regexp.QuoteMeta(lines[i]), "…", ".*")
			if regexp.MustCompile("^" + says + "$").MatchString(got) {
				return
			}
			if *update {
				lines[i] = got
			} else {
				t.Errorf("the page says\n%s\nbut it is\n%s", lines[i], got)
			}
		})
	}
	if found == 0 {
		t.Errorf("%s has no command of %s", page, program)
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
