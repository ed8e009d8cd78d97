package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

var errMemory = errors.New("cannot tell how much memory is free")

// freeMemory returns the bytes of memory that this process may still use; root is the root of the
// file system. Linux calls them available; a control group of the process or one above it, of
// version 1 or 2, may leave less. File pages that were not used lately do not count against the
// limit of a group. Elsewhere than on Linux the error wraps errMemory.
func freeMemory(root fs.FS) (int64, error) {
	kib, ok := readEntry(root, "proc/meminfo", "MemAvailable:")
	if !ok || kib > 1<<43 {
		return 0, fmt.Errorf("%w: /proc/meminfo does not say what is available", errMemory)
	}
	free := kib << 10
	for _, group := range controlGroups(root) {
		if left, limited := group.left(root); limited {
			free = min(free, max(left, 0))
		}
	}
	return free, nil
}

// controlGroup is a folder that describes a control group, and the names of its files.
type controlGroup struct {
	folder   string
	limits   []string
	usage    string
	inactive string // name of the entry in memory.stat
}

// controlGroups returns the groups that this process is in, all the way up, of every hierarchy that
// limits memory. Hierarchies are looked for where every distribution mounts them, below
// /sys/fs/cgroup. In a container the mount may begin at the container's own group, so that the path
// of the group is not there; then the folder at the top counts.
func controlGroups(root fs.FS) []controlGroup {
	mine, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var all []controlGroup
	for line := range strings.Lines(string(mine)) {
		// Number, controllers and path: "0::/a/b" in version 2, "4:memory:/a/b" in version 1.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		var top string
		var group controlGroup
		switch {
		case f[0] == "0" && f[1] == "":
			top, group = "sys/fs/cgroup", controlGroup{limits: []string{"memory.max", "memory.high"},
				usage: "memory.current", inactive: "inactive_file"}
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			top, group = "sys/fs/cgroup/memory", controlGroup{limits: []string{"memory.limit_in_bytes"},
				usage: "memory.usage_in_bytes", inactive: "total_inactive_file"}
		default:
			continue
		}
		for at := path.Clean("/" + f[2]); ; at = path.Dir(at) {
			group.folder = path.Join(top, at)
			all = append(all, group)
			if at == "/" {
				break
			}
		}
	}
	return all
}

// left returns what the group may still take, false if it has no limit.
func (g controlGroup) left(root fs.FS) (bytes int64, limited bool) {
	limit := int64(1<<63 - 1)
	for _, name := range g.limits {
		if n, ok := readNumber(root, path.Join(g.folder, name)); ok {
			limit, limited = min(limit, n), true
		}
	}
	used, ok := readNumber(root, path.Join(g.folder, g.usage))
	if !limited || !ok {
		return 0, false
	}
	if inactive, ok := readEntry(root, path.Join(g.folder, "memory.stat"), g.inactive); ok {
		used -= min(inactive, used)
	}
	return limit - used, true
}

// readNumber reads a file of one number; "max" is none.
func readNumber(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// readEntry reads the number behind a name from a file of such lines.
func readEntry(root fs.FS, file, name string) (int64, bool) {
	text, _ := fs.ReadFile(root, file)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
