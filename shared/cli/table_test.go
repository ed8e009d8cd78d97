package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTableSize(t *testing.T) {
	for text, want := range map[string]string{"64MiB": "64MiB", "1g": "1g", "auto": "auto", " AUTO ": "auto",
		"1000": "1000", " 100TB": "100TB"} {
		var size TableSize
		if err := size.Set(text); err != nil || size.String() != want {
			t.Errorf("%q is %q, %v; want %q", text, size.String(), err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "automatic", "auto 1G", "50%"} {
		size := TableSize{Bytes: 77}
		if err := size.Set(text); !errors.Is(err, ErrSize) || size.Bytes != 77 {
			t.Errorf("%q: %v, then %d bytes; want ErrSize and nothing changed", text, err, size.Bytes)
		}
	}
}

func TestResolveTakesHalf(t *testing.T) {
	var says bytes.Buffer
	given := TableSize{Bytes: 5}
	if err := given.Resolve(&says); err != nil || given.Bytes != 5 || says.Len() > 0 {
		t.Errorf("a size that was given: %d, %v, %q", given.Bytes, err, says.String())
	}
	auto := TableSize{Auto: true}
	if err := auto.choose(6<<30+999, &says); err != nil || auto != (TableSize{Bytes: 3 << 30}) {
		t.Errorf("half of 6 GiB and a little: %+v, %v", auto, err)
	}
	if want := "table: 3 GiB, half of the 6.0 GiB of memory that are free\n"; says.String() != want {
		t.Errorf("it says %q, want %q", says.String(), want)
	}
	for _, free := range []int64{-1, 0, 2<<20 - 1} {
		auto := TableSize{Auto: true}
		if err := auto.choose(free, &says); ExitCode(err) != ExitUsage {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
}

// TestFreeMemory reads made-up systems.
func TestFreeMemory(t *testing.T) {
	const (
		info = "MemTotal:       24684084 kB\nMemFree:        23582708 kB\nMemAvailable:   8388608 kB\n" // 8 GiB
		v2   = "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
		v1   = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n35 31 0:32 / /sys/fs/cgroup/memory rw - " +
			"cgroup cgroup rw,memory\n"
	)
	const gib = 1 << 30
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no control groups", nil, 8 * gib},
		{"no limit", map[string]string{
			"proc/self/cgroup": "0::/user/me\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/user/me/memory.max": "max\n", "sys/fs/cgroup/user/me/memory.current": "5\n",
		}, 8 * gib},
		{"a limit, of which some is used", map[string]string{
			"proc/self/cgroup": "0::/user/me\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/user/me/memory.max": "4294967296\n", "sys/fs/cgroup/user/me/memory.current": "2147483648\n",
			"sys/fs/cgroup/user/me/memory.stat": "anon 1\ninactive_file 1073741824\nactive_file 3\n",
		}, 3 * gib},
		{"a lower limit from which it is slowed down", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": "4294967296\n", "sys/fs/cgroup/memory.high": "3221225472",
			"sys/fs/cgroup/memory.current": "0\n",
		}, 3 * gib},
		{"a limit further up", map[string]string{
			"proc/self/cgroup": "0::/pod/box\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/pod/memory.max": "2147483648\n", "sys/fs/cgroup/pod/memory.current": "0\n",
			"sys/fs/cgroup/pod/box/memory.max": "max\n", "sys/fs/cgroup/pod/box/memory.current": "0\n",
		}, 2 * gib},
		{"used beyond the limit", map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2,
			"sys/fs/cgroup/memory.max": "100\n", "sys/fs/cgroup/memory.current": "200\n",
		}, 0},
		{"version 1", map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/box\n0::/\n", "proc/self/mountinfo": v1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     "1\n",
			"sys/fs/cgroup/memory/box/memory.limit_in_bytes": "2147483648\n",
			"sys/fs/cgroup/memory/box/memory.usage_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/box/memory.stat":           "inactive_file 1\ntotal_inactive_file 536870912\n",
		}, 3 * gib / 2},
		{"a container whose mount begins at its own group", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/f00\n",
			"proc/self/mountinfo": "35 31 0:32 /docker/f00 /sys/fs/cgroup/memory ro " +
				"- cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "0\n",
		}, gib},
		{"a path that leads out of the mount", map[string]string{
			"proc/self/cgroup":         "0::/../outside\n",
			"proc/self/mountinfo":      "35 25 0:30 /inside /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.current": "0\n",
		}, gib},
		{"nonsense", map[string]string{"proc/self/cgroup": "x\n0:\n\n", "proc/self/mountinfo": "y - cgroup2\n"},
			8 * gib},
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(info)}}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, err := freeMemory(root); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, FormatSize(got), err, FormatSize(c.want))
		}
	}
	for _, text := range []string{"", "MemAvailable:\n", "MemAvailable: many kB\n", "MemFree: 7 kB\n"} {
		if _, err := freeMemory(fstest.MapFS{"proc/meminfo": {Data: []byte(text)}}); !errors.Is(err, errMemory) {
			t.Errorf("%q: %v, want errMemory", text, err)
		}
	}
	if _, err := freeMemory(fstest.MapFS{}); !errors.Is(err, errMemory) || !strings.Contains(err.Error(), "meminfo") {
		t.Errorf("no meminfo: %v", err)
	}
}
