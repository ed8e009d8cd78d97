package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Part is something of a program that has a version of its own: the rules it goes by, a protocol, a
// format of files.
type Part struct {
	Name   string
	Format int // that it writes or speaks
}

// AddVersion gives a program the flag --version, which prints the revision that it was built from,
// and the versions of its parts.
func AddVersion(root *cobra.Command, parts ...Part) {
	info, _ := debug.ReadBuildInfo()
	root.Version = versionText(root.Name(), info, parts)
	root.SetVersionTemplate("{{.Version}}")
}

// noRevision stands for the revision of a program that was built without one.
const noRevision = "unknown; go build in a clone of the repository notes it, go run does not"

// versionText is what --version prints. info may be nil.
func versionText(program string, info *debug.BuildInfo, parts []Part) string {
	version, changed, settings := "", "", map[string]string{}
	if info != nil {
		version = info.Main.Version
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	if settings["vcs.modified"] == "true" {
		changed = " with changes"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%-14s %s, Amazons proof farm\n", "program", program)
	fmt.Fprintf(&s, "%-14s %s\n", "version", cmp.Or(strings.Trim(version, "()"), "unknown"))
	fmt.Fprintf(&s, "%-14s %s%s\n", "revision", cmp.Or(settings["vcs.revision"], noRevision), changed)
	fmt.Fprintf(&s, "%-14s %s %s/%s\n", "built with", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, p := range parts {
		fmt.Fprintf(&s, "%-14s %d\n", p.Name, p.Format)
	}
	return s.String()
}
