package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pagesCommand is the name of the hidden command that AddPages adds.
const pagesCommand = "pages"

// AddPages gives a program the hidden command "pages FOLDER", which writes a man page for each of
// its commands to FOLDER/man/man1 and completions for the shells to FOLDER/completions, for
// packages of a release. What it writes depends on the program alone. The pages are written as roff
// here because the generator that comes with cobra takes help texts for Markdown, joins the lines
// of their lists, and knows no exit codes and no environment.
func AddPages(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use: pagesCommand + " FOLDER", Short: "Write man pages and completions", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return writePages(root, args[0]) },
	})
}

func writePages(root *cobra.Command, folder string) error {
	pages, shells := filepath.Join(folder, "man", "man1"), filepath.Join(folder, "completions")
	if err := errors.Join(os.MkdirAll(pages, 0o755), os.MkdirAll(shells, 0o755)); err != nil {
		return err
	}
	write := func(name string, content func(io.Writer) error) error {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		return errors.Join(content(f), f.Close())
	}
	release := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		release = strings.Trim(info.Main.Version, "()")
	}
	var walk func(c *cobra.Command) error
	walk = func(c *cobra.Command) error {
		err := write(filepath.Join(pages, pageName(c)+".1"), func(w io.Writer) error {
			_, err := io.WriteString(w, manPage(c, release))
			return err
		})
		for _, sub := range shown(c) {
			err = errors.Join(err, walk(sub))
		}
		return err
	}
	name := root.Name()
	return errors.Join(walk(root),
		write(filepath.Join(shells, name+".bash"),
			func(w io.Writer) error { return root.GenBashCompletionV2(w, true) }),
		write(filepath.Join(shells, "_"+name), root.GenZshCompletion),
		write(filepath.Join(shells, name+".fish"), func(w io.Writer) error { return root.GenFishCompletion(w, true) }))
}

// shown returns the commands below c that people see, without those that cobra adds to every program.
func shown(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(c *cobra.Command) bool {
		return c.Hidden || c.Name() == "help" || c.Name() == "completion"
	})
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage returns the page of a command, for man(7).
func manPage(c *cobra.Command, release string) string {
	var s strings.Builder
	fmt.Fprintf(&s, ".TH %s 1 \"\" %q %q\n", roff(strings.ToUpper(pageName(c))), "amazonsfarm "+
		release, "Amazons proof farm")
	fmt.Fprintf(&s, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(pageName(c)), roff(c.Short))
	uses := strings.Split(c.UseLine(), " | ")
	if c.HasSubCommands() {
		uses = []string{c.CommandPath() + " COMMAND [flags]"}
	}
	for i, use := range uses {
		if i > 0 && !strings.HasPrefix(use, "-") {
			use = strings.TrimSuffix(c.CommandPath(), c.Name()) + use
		}
		fmt.Fprintf(&s, ".br\n.B %s\n", roff(use))
	}
	s.WriteString(".SH DESCRIPTION\n")
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	s.WriteString(paragraphs(strings.TrimSpace(strings.ReplaceAll(long, ExitHelp, ""))))
	if subs := shown(c); len(subs) > 0 {
		s.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&s, ".TP\n.BR %s (1)\n%s\n", roff(pageName(sub)), roff(sub.Short))
		}
	}
	options := func(title string, flags *pflag.FlagSet) {
		if !flags.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&s, ".SH %s\n", title)
		flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				s.WriteString(option(f))
			}
		})
	}
	options("OPTIONS", c.NonInheritedFlags())
	options("OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	s.WriteString(environmentSection(c))
	s.WriteString(".SH EXIT STATUS\n")
	for line := range strings.Lines(ExitHelp) {
		if code, meaning, ok := strings.Cut(strings.TrimSpace(line), " "); ok && code[0] <= '9' {
			fmt.Fprintf(&s, ".TP\n.B %s\n%s\n", code, roff(strings.TrimSpace(meaning)))
		}
	}
	if c.Example != "" {
		fmt.Fprintf(&s, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	var also []string
	if c.HasParent() {
		also = append(also, pageName(c.Parent()))
		for _, sibling := range shown(c.Parent()) {
			if sibling != c {
				also = append(also, pageName(sibling))
			}
		}
	}
	if len(also) > 0 {
		s.WriteString(".SH SEE ALSO\n")
		for i, name := range also {
			comma := ","
			if i == len(also)-1 {
				comma = ""
			}
			fmt.Fprintf(&s, ".BR %s (1)%s\n", roff(name), comma)
		}
	}
	return s.String()
}

func option(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	kind, usage := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " " + kind
	}
	// Where the default depends on the machine that makes the page, its help says so.
	if d := f.DefValue; d != "" && d != "0" && d != "0s" && d != "false" && d != "[]" && f.Name != "cores" {
		usage += fmt.Sprintf(" (default %s)", d)
	}
	return fmt.Sprintf(".TP\n.B %s\n%s\n", roff(name), roff(usage))
}

// environmentSection lists the variables that stand in for flags of the command.
func environmentSection(c *cobra.Command) string {
	var s strings.Builder
	for _, line := range strings.Fields(c.Root().Annotations[environmentAnnotation]) {
		flag, variable, _ := strings.Cut(line, "=")
		if c.Flags().Lookup(flag) != nil {
			fmt.Fprintf(&s, ".TP\n.B %s\nstands for %s where that is not given.\n", variable, roff("--"+flag))
		}
	}
	if s.Len() == 0 {
		return ""
	}
	return ".SH ENVIRONMENT\n" + s.String()
}

// paragraphs writes a help text: empty lines part paragraphs, and lines that begin with two spaces
// stay as they are.
func paragraphs(text string) string {
	var s strings.Builder
	asIs := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, "  "); indented != asIs {
			asIs = indented
			if asIs {
				s.WriteString(".RS\n.nf\n")
			} else {
				s.WriteString(".fi\n.RE\n")
			}
		}
		switch {
		case line == "":
			s.WriteString(".PP\n")
		default:
			s.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
		}
	}
	if asIs {
		s.WriteString(".fi\n.RE\n")
	}
	return s.String()
}

// roff escapes a text: backslashes, hyphens that are to be copied, and dots and quotes that would
// begin a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
