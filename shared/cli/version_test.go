package cli

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionText(t *testing.T) {
	built := "built with     " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	parts := []Part{{Name: "rules", Format: 1}, {Name: "store", Format: 3}}
	name := "program        master, Amazons proof farm\n"
	tail := built + "rules          1\nstore          3\n"
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing known": {nil,
			name + "version        unknown\nrevision       " + noRevision + "\n" + tail},
		"no repository": {&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			name + "version        devel\nrevision       " + noRevision + "\n" + tail},
		"a release": {&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}},
			name + "version        v1.2.3\nrevision       abc\n" + tail},
		"with changes": {&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"},
			{Key: "vcs.revision", Value: "abc"}}},
			name + "version        unknown\nrevision       abc with changes\n" + tail},
	} {
		if got := versionText("master", c.info, parts); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, strings.TrimSpace(c.want))
		}
	}
}
