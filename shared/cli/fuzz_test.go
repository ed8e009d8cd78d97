package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// FuzzParseSize reads sizes as people and the environment write them: what is read is within its
// limits, and written and read again the same.
func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"64MiB", "1G", "1048576", "0.5k", "1e3", "-1", "auto", " AUTO ", "9999999999T",
		"1 MB", "0x1p3", "nan", "inf", "1_000", "٣"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text)
		if err != nil && !errors.Is(err, ErrSize) || err == nil && (n < 1 || n >= 1<<62) {
			t.Fatalf("%q is read as %d, %v", text, n, err)
		}
		if err == nil {
			size := Size(n)
			if again, err := ParseSize(size.String()); err != nil || again != n || FormatSize(n) == "" {
				t.Fatalf("%q is %d, written %s and read back as %d, %v", text, n, size.String(), again, err)
			}
		}
		var table TableSize
		if err := table.Set(text); err == nil {
			var again TableSize
			if err := again.Set(table.String()); err != nil || again != table {
				t.Fatalf("%q is the table %v, read back as %v, %v", text, table, again, err)
			}
		} else if !errors.Is(err, ErrSize) {
			t.Fatalf("%q: an error of another kind: %v", text, err)
		}
	})
}

// FuzzEnvironment gives flags of all kinds values from the environment: a usage error that names
// the variable, or a value.
func FuzzEnvironment(f *testing.F) {
	f.Add("5", "64MiB", "debug")
	f.Add("-1", "auto", "loud")
	f.Add("99999999999999999999", "1e400", "\x00")
	f.Fuzz(func(t *testing.T, cores, table, level string) {
		flags := pflag.NewFlagSet("tool", pflag.ContinueOnError)
		n := flags.Int("cores", 1, "")
		var size TableSize
		flags.Var(&size, "table", "")
		var log string
		LogLevelFlag(flags, &log, "info")
		values := map[string]string{"A_CORES": cores, "A_TABLE": table, "A_LEVEL": level}
		err := environment(flags, func(name string) string { return values[name] },
			map[string]string{"cores": "A_CORES", "table": "A_TABLE", "log-level": "A_LEVEL", "none": "A_NONE"})
		if err != nil {
			if ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "A_") {
				t.Fatalf("%q %q %q: %v with the exit code %d", cores, table, level, err, ExitCode(err))
			}
			return
		}
		if cores == "" && *n != 1 || size.Bytes < 0 {
			t.Fatalf("%q %q: %d cores and a table of %v", cores, table, *n, size)
		}
	})
}
