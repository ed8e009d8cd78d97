package cli

import (
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Help has the help texts of a program's commands: the files help/NAME.txt. Lines that begin with two spaces are
// lists and stay as they are.
type Help struct{ fs.FS }

// Text returns a help text.
func (h Help) Text(name string) string {
	data, err := fs.ReadFile(h, "help/"+name+".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	return strings.TrimSuffix(string(data), "\n")
}

// Long returns a help text, put together from files, with the exit codes.
func (h Help) Long(names ...string) string {
	s := ""
	for _, name := range names {
		s += h.Text(name) + "\n\n"
	}
	return s + ExitHelp
}

// helpColumns is the longest line of a help text.
const helpColumns = 90

// groupAnnotation holds the title of a flag's group in the annotations of the flag.
const groupAnnotation = "group"

// Group puts flags under a title of their own in the help of their command. Groups appear in the
// order of their first flags; flags without a group come last.
func Group(flags *pflag.FlagSet, title string, names ...string) {
	flags.SortFlags = false
	for _, name := range names {
		if err := flags.SetAnnotation(name, groupAnnotation, []string{title}); err != nil {
			panic(err) // the flag is not defined: a mistake of ours
		}
	}
}

// ungrouped is the title of the flags without a group.
const ungrouped = "Flags"

// FlagUsages returns the help of a set of flags: a paragraph for each group.
func FlagUsages(flags *pflag.FlagSet) string {
	var titles []string
	groups := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		title := ungrouped
		if given := f.Annotations[groupAnnotation]; len(given) > 0 {
			title = given[0]
		}
		if groups[title] == nil {
			groups[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			groups[title].SortFlags = false
			if title != ungrouped {
				titles = append(titles, title)
			}
		}
		groups[title].AddFlag(f)
	})
	var s strings.Builder
	for _, title := range append(titles, ungrouped) {
		if g := groups[title]; g != nil && g.HasAvailableFlags() {
			s.WriteString("\n" + title + ":\n" + g.FlagUsagesWrapped(helpColumns))
		}
	}
	return s.String()
}

// useGroups makes the help of all commands of a program show flags in groups, and the environment
// variables that stand in for them.
func useGroups(root *cobra.Command) {
	cobra.AddTemplateFunc("flagUsages", FlagUsages)
	cobra.AddTemplateFunc("environmentHelp", environmentHelp)
	text := root.UsageTemplate()
	from := strings.Index(text, "{{if .HasAvailableLocalFlags}}")
	to := strings.Index(text, "{{if .HasHelpSubCommands}}")
	root.SetUsageTemplate(text[:from] + `{{if .HasAvailableLocalFlags}}
{{flagUsages .LocalFlags | trimTrailingWhitespaces}}{{end}}{{with environmentHelp .}}

Environment:
{{. | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}` + text[to:])
}
