// House prints the figures that keep the repository readable, one a line with its limit and the
// five worst places, and ends with exit code 1 where one is broken and worse than its ceiling.
// scripts/house runs it.
//
// Every line of a Go file is one of three: blank, comment (nothing but a comment stands on it) or
// code. Generated files count nowhere, and tests only for the width of lines and for nothing else.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits. A limit that a change breaks is a reason to simplify, not to press lines together.
const (
	maxCode        = 32_000 // lines of code in master, worker and shared
	maxAllCode     = 37_000 // the same with scripts
	minComments    = 15     // comment lines in a hundred lines of comment and code, in master, worker and shared
	maxPackage     = 3_500  // lines of a package, blank ones and comments included
	maxFile        = 700    // lines of a file
	maxFunction    = 100    // lines of a function
	maxWidth       = 120    // columns of a line of Go or Markdown, a tab being four
	maxMasterFlags = 24     // flags that `master serve --help` shows
	maxWorkerFlags = 12     // flags that `worker run --help` shows
	maxHelp        = 90     // columns of a line of help of any command
)

// ceilings are for the figures that have not reached their limit: no change may make them worse.
// A change that brings one down writes the new value here, and takes the line out when the limit is
// met. A ceiling rises only with a new feature, or with a guard against wrong answers and lost evidence, in the
// series that brings it.
var ceilings = map[string]int{
	codeFigure:     45_922,
	allCodeFigure:  52_067,
	commentsFigure: 15,
}

// The names of the figures that have a ceiling.
const (
	codeFigure     = "code of master, worker and shared"
	allCodeFigure  = "code with scripts"
	commentsFigure = "comments of master, worker and shared, %"
)

// place is one spot that counts for a figure: the larger n, the worse.
type place struct {
	n    int
	name string
}

// house is what has been counted.
type house struct {
	code, comments map[string]int // by top folder
	packages       map[string]int // lines by folder
	files          []place
	functions      []place
	wide           []place
	bare           []place // exported names without a comment
	broken         bool
}

func main() {
	h := &house{code: map[string]int{}, comments: map[string]int{}, packages: map[string]int{}}
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*.go", "*.md").Output()
	check(err)
	for _, name := range strings.Fields(string(out)) {
		data, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		check(err)
		if strings.HasSuffix(name, ".md") {
			h.markdown(name, data)
		} else if !bytes.Contains(data, []byte("// Code generated ")) {
			h.golang(name, data)
		}
	}
	h.report()
	if h.broken {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

// golang counts one hand-written Go file.
func (h *house) golang(name string, data []byte) {
	h.width(name, data, func(string) bool { return false })
	if strings.HasSuffix(name, "_test.go") {
		return
	}
	top, _, _ := strings.Cut(name, "/")
	code, comments := kinds(data)
	h.code[top] += code
	h.comments[top] += comments
	lines := bytes.Count(data, []byte("\n"))
	h.packages[filepath.Dir(name)] += lines
	h.files = append(h.files, place{lines, name})

	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, data, parser.ParseComments)
	check(err)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			long := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
			h.functions = append(h.functions, place{long, fmt.Sprintf("%s:%s", name, f.Name.Name)})
		}
		for _, id := range uncommented(d) {
			h.bare = append(h.bare, place{1, fmt.Sprintf("%s:%d %s", name, set.Position(id.Pos()).Line, id.Name)})
		}
	}
}

// kinds returns how many lines of a Go file have code and how many have comments alone.
func kinds(data []byte) (code, comments int) {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, scanner.ScanComments)
	kind := map[int]token.Token{} // by line
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue // put there by the scanner
		}
		line := file.Line(pos)
		for i, part := range strings.Split(text, "\n") {
			if _, seen := kind[line+i]; i > 0 && strings.TrimSpace(part) == "" || seen && tok == token.COMMENT {
				continue
			}
			kind[line+i] = tok
		}
	}
	for _, tok := range kind {
		if tok == token.COMMENT {
			comments++
		} else {
			code++
		}
	}
	return code, comments
}

// uncommented returns the exported names that a declaration makes without a word about them. A
// comment on a group of constants or variables is one on each of them; a type has its own.
func uncommented(d ast.Decl) (bare []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || exported(d.Recv.List[0].Type)) {
			bare = append(bare, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if d.Doc == nil && s.Doc == nil && s.Name.IsExported() {
					bare = append(bare, s.Name)
				}
			case *ast.ValueSpec:
				if d.Doc == nil && s.Doc == nil && s.Comment == nil {
					bare = append(bare, slices.DeleteFunc(s.Names,
						func(id *ast.Ident) bool { return !id.IsExported() })...)
				}
			}
		}
	}
	return bare
}

// exported reports whether the type of a receiver has an exported name.
func exported(e ast.Expr) bool {
	name := ""
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return ast.IsExported(name)
}

// alone matches a line of Markdown that nothing can break: one URL, link or picture.
var alone = regexp.MustCompile(`^\s*([-*] )?(!?\[[^\]]*\]\([^)]*\)|<?https?://\S+)[.,:]?$`)

// markdown looks at the width of a page. Tables, fenced blocks (commands and what they print) and
// lines of nothing but a link may be as wide as they need.
func (h *house) markdown(name string, data []byte) {
	fenced := false
	h.width(name, data, func(line string) bool {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "```") {
			fenced = !fenced
		}
		return fenced || strings.HasPrefix(text, "|") || alone.MatchString(line)
	})
}

// width notes the lines of a file that are too wide, but for those that may be.
func (h *house) width(name string, data []byte, free func(line string) bool) {
	for i, line := range strings.Split(string(data), "\n") {
		wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
		if !free(line) && wide > maxWidth {
			h.wide = append(h.wide, place{wide, fmt.Sprintf("%s:%d", name, i+1)})
		}
	}
}

// report prints the table.
func (h *house) report() {
	sum := func(of map[string]int) int { return of["master"] + of["worker"] + of["shared"] }
	var packages []place
	for name, n := range h.packages {
		packages = append(packages, place{n, name})
	}
	code, comments := sum(h.code), sum(h.comments)
	h.most(codeFigure, code, maxCode, nil)
	h.most(allCodeFigure, code+h.code["scripts"], maxAllCode, nil)
	percent := 100 * comments / (code + comments)
	h.line(commentsFigure, percent, minComments, percent >= minComments, percent >= ceilings[commentsFigure])
	h.worst("lines of a package", packages, maxPackage)
	h.worst("lines of a file", h.files, maxFile)
	h.worst("lines of a function", h.functions, maxFunction)
	h.most("lines too wide", len(h.wide), 0, h.wide)
	h.most("exported names without a comment", len(h.bare), 0, h.bare)
	h.help()
}

// flag matches the line of help that begins the text of a flag.
var flag = regexp.MustCompile(`^ {2,6}-`)

// help looks at what the two programs, built in the folder that is the argument, say of themselves.
func (h *house) help() {
	var wide []place
	flags := map[string]int{}
	var visit func(command []string)
	visit = func(command []string) {
		program := append([]string{filepath.Join(os.Args[1], command[0])}, append(command[1:], "--help")...)
		out, err := exec.Command(program[0], program[1:]...).CombinedOutput()
		check(err)
		name, listing := strings.Join(command, " "), false
		for line := range strings.Lines(string(out)) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > maxHelp {
				wide = append(wide, place{n, name + ": " + fmt.Sprintf("%.40s", strings.TrimSpace(line))})
			}
			if flag.MatchString(line) {
				flags[name]++
			}
			if words := strings.Fields(line); listing && len(words) > 1 && words[0] != "help" &&
				words[0] != "completion" {
				visit(append(slices.Clone(command), words[0]))
			}
			listing = strings.HasSuffix(line, "Commands:") || listing && line != ""
		}
	}
	visit([]string{"master"})
	visit([]string{"worker"})
	h.most("flags of master serve", flags["master serve"], maxMasterFlags, nil)
	h.most("flags of worker run", flags["worker run"], maxWorkerFlags, nil)
	h.most("lines of help too wide", len(wide), 0, wide)
}

// worst prints the largest of the places, which has to be within the limit.
func (h *house) worst(name string, places []place, limit int) {
	h.most(name, slices.MaxFunc(places, func(a, b place) int { return a.n - b.n }).n, limit, places)
}

// most prints a number that has to be within the limit, and the five worst places it comes from.
func (h *house) most(name string, value, limit int, places []place) {
	ceiling, given := ceilings[name]
	h.line(name, value, limit, value <= limit, given && value <= ceiling)
	slices.SortStableFunc(places, func(a, b place) int { return b.n - a.n })
	for _, p := range places[:min(5, len(places))] {
		fmt.Printf("      %6d  %s\n", p.n, p.name)
	}
}

// line prints one figure. One that is not ok, but no worse than its ceiling, breaks nothing yet.
func (h *house) line(name string, value, limit int, ok, below bool) {
	verdict := "ok"
	switch {
	case !ok && below:
		verdict = "over, not above its ceiling"
	case !ok:
		verdict, h.broken = "over", true
	}
	fmt.Printf("%-42s %7d %7d  %s\n", name, value, limit, verdict)
}
