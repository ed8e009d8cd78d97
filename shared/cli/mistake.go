package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program returns the name of one of our programs as a person on this machine types it: the one that
// runs may be installed as amazons-master, and then the others are called alike.
func Program(name string) string {
	if len(os.Args) > 0 && strings.HasPrefix(filepath.Base(os.Args[0]), installedPrefix) {
		return installedPrefix + name
	}
	return name
}

// typed returns a call of one of our programs that works in this folder, if the one that runs was called
// by a path, as bin/master is: bin/master as well. Of "go run" nothing stays but the call itself.
func typed(name string) string {
	folder, _ := filepath.Split(os.Args[0])
	cached := filepath.Base(folder) // the cache of builds has folders with the name of a SHA-256
	if strings.Contains(folder, "go-build") || len(cached) == 2*sha256.Size+2 && strings.HasSuffix(cached, "-d") {
		return "go run ./" + name
	}
	return Quoted(folder + Program(name))
}

// Quoted returns the name of a file as a shell takes it for that file: in quotes where it has other signs than those
// of most names, and never as a flag. What a terminal would not print is escaped, as Bash and its kin read it.
func Quoted(file string) string {
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	hidden := func(c rune) bool { return !unicode.IsPrint(c) }
	odd := func(c rune) bool {
		return c < utf8.RuneSelf && !unicode.IsLetter(c) && !unicode.IsDigit(c) &&
			!strings.ContainsRune("/._-+=:,@%", c)
	}
	switch {
	case !utf8.ValidString(file) || strings.ContainsFunc(file, hidden):
		quoted := strconv.Quote(file)
		return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
	case file == "" || file[0] == '=' || strings.ContainsFunc(file, odd):
		return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	}
	return file
}

// installedPrefix begins the names of our programs where they are installed beside others.
const installedPrefix = "amazons-"

// explainFlag turns the error about a flag into a sentence that names the flag, its value and what
// would be right.
func explainFlag(_ *cobra.Command, err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f := wrong.GetFlag()
	return fmt.Errorf("--%s %s: %w", f.Name, wrong.GetValue(), explainValue(f, wrong.Unwrap()))
}

// explainValue says what the value of a flag looks like, where the error is one of package strconv or
// time.
func explainValue(f *pflag.Flag, err error) error {
	if _, ranged := f.Value.(interface{ ranged() }); ranged {
		return err
	}
	if errors.Is(err, strconv.ErrRange) {
		return errors.New("the number is too large or too small")
	}
	if form, ok := forms[f.Value.Type()]; ok {
		return fmt.Errorf("write %s", form)
	}
	return err
}

// forms are the values of flags by the type that pflag names.
var forms = map[string]string{
	"int": "a whole number", "int32": "a whole number", "int64": "a whole number",
	"uint32": "a whole number, 0 or more", "uint64": "a whole number, 0 or more", "float64": "a number",
	"bool": "true or false", "duration": "a time such as 500ms, 30s, 5m or 2h", "intSlice": "numbers such as 1,4,16",
}

// explainArguments makes the check of a command's arguments say how the command is called.
func explainArguments(c *cobra.Command) {
	check := c.Args
	if check == nil || c.HasSubCommands() {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil || errors.Is(err, ErrUsage) {
			return err
		}
		got := "an argument is missing"
		if len(args) > 0 && check(c, append(slices.Clone(args), "more")) != nil {
			got = "the arguments do not fit"
		}
		_, wants, more := strings.Cut(c.Use, " ")
		if (!more || strings.HasPrefix(wants, "-")) && len(args) > 0 {
			return fmt.Errorf("%q: %s takes no argument but flags", args[0], c.CommandPath())
		}
		text := fmt.Sprintf("%s; write %s %s", got, c.CommandPath(), wants)
		if strings.HasPrefix(wants, "BOARD") {
			text += ", where a BOARD is such as 5x6"
		}
		return errors.New(text)
	}
}

// missingFlag is cobra's error about a flag that a command must have.
var missingFlag = regexp.MustCompile(`^required flag\(s\) "([a-z-]+)" not set$`)

// suggest puts errors of cobra into our words: a flag that is missing, and what an unknown command may
// stand for.
func suggest(err error) error {
	if m := missingFlag.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("--%s is missing", m[1])
	}
	text, names, found := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if !found {
		return err
	}
	return fmt.Errorf("%s; did you mean %s", text, strings.Join(strings.Fields(names), " or "))
}

// helpCommand is the help command of a program. An unknown topic is a mistake.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command or a topic",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return Usagef("there is no command or topic %q; %s --help lists them", strings.Join(args, " "),
					c.Root().Name())
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
