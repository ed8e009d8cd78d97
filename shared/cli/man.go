package cli

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// AddPages gives a program the hidden command "pages FOLDER", for packages of a release. It writes a
// man page for each command to FOLDER/man/man1 and completions for the shells to FOLDER/completions.
// What it writes depends on the program alone.
func AddPages(root *cobra.Command) {
	root.AddCommand(&cobra.Command{
		Use: "pages FOLDER", Short: "Write man pages and completions", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return writePages(root, args[0]) },
	})
}

// writePages writes completions before forPages changes the texts of the commands for the man
// pages.
func writePages(root *cobra.Command, folder string) error {
	pages, shells := filepath.Join(folder, "man", "man1"), filepath.Join(folder, "completions")
	if err := errors.Join(os.MkdirAll(pages, 0o755), os.MkdirAll(shells, 0o755)); err != nil {
		return err
	}
	// The revision's time, not ours: a release is the same whenever it is built.
	header := &doc.GenManHeader{Section: "1", Manual: "Amazons proof farm", Source: "amazonsfarm", Date: &time.Time{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		header.Source += " " + strings.Trim(info.Main.Version, "()")
		for _, s := range info.Settings {
			if at, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
				header.Date = &at
			}
		}
	}
	name := root.Name()
	completions := errors.Join(root.GenBashCompletionFileV2(filepath.Join(shells, name+".bash"), true),
		root.GenZshCompletionFile(filepath.Join(shells, "_"+name)),
		root.GenFishCompletionFile(filepath.Join(shells, name+".fish"), true))
	forPages(root)
	return errors.Join(completions, doc.GenManTree(root, header, pages))
}

// forPages writes the help of a command and those below it as the page generator reads it, in
// Markdown, with sections for the environment and the exit codes.
func forPages(c *cobra.Command) {
	c.DisableAutoGenTag = true // it would hold the time of the build
	if c.Name() == "completion" {
		c.Hidden = true // it comes with cobra, and the completions lie beside the pages
	}
	if cores := c.Flags().Lookup("cores"); cores != nil {
		cores.DefValue = "all" // and not those of the machine that makes the page
	}
	text, _, _ := strings.Cut(cmp.Or(c.Long, c.Short+"."), ExitHelp)
	if variables := environmentHelp(c); variables != "" {
		text += "\n\n# ENVIRONMENT\n\n" + variables
	}
	_, codes, _ := strings.Cut(ExitHelp, "\n")
	text += "\n\n# EXIT STATUS\n\n" + codes + "\n"
	// Two spaces begin a list in our texts, four begin one in Markdown that keeps its lines.
	c.Long = strings.ReplaceAll(text, "\n  ", "\n    ")
	for _, sub := range c.Commands() {
		forPages(sub)
	}
}
