package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestLogger writes a message of each level at each level of the logger.
func TestLogger(t *testing.T) {
	names := []string{"debug", "info", "warn", "error"}
	for first, level := range names {
		var out bytes.Buffer
		log, err := Logger(&out, strings.ToUpper(level[:1])+level[1:])
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("message debug")
		log.Info("message info")
		log.Warn("message warn")
		log.Error("message error")
		for i, name := range names {
			if got, want := strings.Contains(out.String(), "message "+name), i >= first; got != want {
				t.Errorf("at level %s a message of level %s is written: %v, want %v", level, name, got, want)
			}
		}
		if lines := strings.Count(out.String(), "\n"); lines != len(names)-first {
			t.Errorf("at level %s: %d lines, want %d", level, lines, len(names)-first)
		}
	}
}

// TestLogLevelFlag reads the flag, its default and levels that are none.
func TestLogLevelFlag(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{{nil, "warn"}, {[]string{"--log-level", "debug"}, "debug"}} {
		flags := pflag.NewFlagSet("tool", pflag.ContinueOnError)
		var level string
		LogLevelFlag(flags, &level, "warn")
		if err := flags.Parse(c.args); err != nil || level != c.want {
			t.Errorf("%v: level %q, %v; want %q", c.args, level, err, c.want)
		}
	}
	for _, bad := range []string{"", "loud", "3"} {
		if _, err := Logger(new(bytes.Buffer), bad); ExitCode(err) != ExitUsage ||
			!strings.Contains(err.Error(), "--log-level") {
			t.Errorf("level %q: %v; want a usage error that names the flag", bad, err)
		}
	}
}
