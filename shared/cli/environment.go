package cli

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variables maps the flags of both programs to the environment variable of each. One table serves
// both, so that a variable of one program is no unknown word for the other.
var variables = map[string]string{
	"board": "AMAZONS_BOARD", "config": "AMAZONS_CONFIG", "cores": "AMAZONS_CORES",
	"credentials": "AMAZONS_CREDENTIALS", "http": "AMAZONS_HTTP", "listen": "AMAZONS_LISTEN",
	"log-level": "AMAZONS_LOG_LEVEL", "master": "AMAZONS_MASTER", "min-free": "AMAZONS_MIN_FREE",
	"name": "AMAZONS_NAME", "proof": "AMAZONS_PROOF",
	"store": "AMAZONS_STORE", "table": "AMAZONS_TABLE", "workers": "AMAZONS_WORKERS",
}

// deployment are the variables that docker-compose.yml and the scripts read; the programs know them
// so that they are not reported.
var deployment = []string{"AMAZONS_DATA", "AMAZONS_MASTER_MEMORY", "AMAZONS_WORKER_CPUS", "AMAZONS_WORKER_MEMORY"}

// Every variable of ours begins with ourPrefix; those of tests with testPrefix.
const ourPrefix, testPrefix = "AMAZONS_", "AMAZONS_TEST_"

// ReadEnvironment makes all commands of a program read the environment before they begin: a
// variable stands in for a flag that is not given. An unknown AMAZONS_ variable is a usage error
// that names the known ones.
func ReadEnvironment(root *cobra.Command) {
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := checkVariables(os.Environ()); err != nil {
			return err
		}
		return environment(c.Flags(), os.Getenv, variablesOf(root))
	}
}

// variablesOf returns the variables that a program reads, by flag. The name in AMAZONS_NAME is a worker's: the master's
// flag --name names a campaign. The file in AMAZONS_PROOF is a master's: the answer of a worker would replace it.
func variablesOf(root *cobra.Command) map[string]string {
	names, other := maps.Clone(variables), "proof"
	if strings.HasSuffix(root.Name(), "master") {
		other = "name"
	}
	delete(names, other)
	return names
}

// CheckSecurity returns an error where credentials are given, by the flag or by its variable, and --insecure as well.
func CheckSecurity(credentials string, insecure bool) error {
	if credentials != "" && insecure {
		return Usagef("--credentials (or %s) and --insecure exclude each other", variables["credentials"])
	}
	return nil
}

// checkVariables refuses a variable that looks like ours and is not.
func checkVariables(environ []string) error {
	known := slices.Concat(slices.Sorted(maps.Values(variables)), deployment)
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, ourPrefix) && !strings.HasPrefix(name, testPrefix) && !slices.Contains(known, name) {
			return Usagef("the environment variable %s is unknown; known are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// environmentHelp lists the variables of a command's flags, empty if it has none.
func environmentHelp(c *cobra.Command) string {
	var s strings.Builder
	names := variablesOf(c.Root())
	for _, flag := range slices.Sorted(maps.Keys(names)) {
		if c.LocalFlags().Lookup(flag) != nil {
			s.WriteString("  " + names[flag] + " stands in for --" + flag + "\n")
		}
	}
	return s.String()
}

// environment gives flags that are not on the command line the value of an environment variable,
// where it is set and not empty. names maps a flag's name to the variable. Errors are usage errors
// that name the variable.
func environment(flags *pflag.FlagSet, getenv func(string) string, names map[string]string) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		name, ok := names[f.Name]
		if !ok || f.Changed || err != nil || getenv(name) == "" {
			return
		}
		if e := flags.Set(f.Name, getenv(name)); e != nil {
			if wrong, ok := errors.AsType[*pflag.InvalidValueError](e); ok {
				e = explainValue(f, wrong.Unwrap())
			}
			err = Usagef("%s %s: %w", name, getenv(name), e)
		}
	})
	return err
}
