package cli

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// LogLevelFlag adds the flag --log-level, whose text goes to level. The default is one of the names
// that [Logger] takes.
func LogLevelFlag(flags *pflag.FlagSet, level *string, byDefault string) {
	flags.StringVar(level, "log-level", byDefault, "show messages of `LEVEL` debug, info, warn or error and above")
}

// Logger returns a logger that writes messages of a level (debug, info, warn or error, letter case
// does not matter) and above to w, a line of key=value pairs each. Any other level is a usage error
// that names the flag.
func Logger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, Usagef("--log-level: %q is not debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}
