package dfpn

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"amazonsfarm/shared/memory"
)

// pages returns what the system says of the mapping that holds a table: whether huge pages were
// asked for, and how many bytes lie in such pages.
func pages(t testing.TB, table *Table) (asked bool, huge int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(table.memory))))
	here := false
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		var from, to uint64
		if n, _ := fmt.Sscanf(f[0], "%x-%x", &from, &to); n == 2 {
			here = from <= base && base < to
			continue
		}
		switch {
		case here && f[0] == "AnonHugePages:":
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			huge = kib << 10
		case here && f[0] == "VmFlags:":
			asked = strings.Contains(line, " hg")
		}
	}
	return asked, huge
}

// fill spreads the table over all its lines and puts an entry into each.
func fill(table *Table) {
	table.lines = table.most
	for i := range table.lines {
		hash, rest := bits.Div64(i, 0, table.lines)
		if rest > 0 {
			hash++
		}
		table.put(hash|1, pack(1, 2, 3)) // a free entry looks like that of hash 0
	}
}

// TestHugePages holds that a table asks for huge pages, and tells how much of it the system put
// into such.
func TestHugePages(t *testing.T) {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || strings.Contains(string(enabled), "[never]") {
		t.Skipf("this system has no huge pages to give: %s %v", enabled, err)
	}
	table := newTable(t, 64<<20)
	fill(table)
	if used := table.used.Load(); used != int64(table.most) {
		t.Errorf("%d entries, want one in each of %d lines", used, table.most)
	}
	asked, huge := pages(t, table)
	if !asked {
		t.Error("huge pages were not asked for")
	}
	if huge > table.Bytes() {
		t.Errorf("%d bytes in huge pages, of a table of %d", huge, table.Bytes())
	}
	t.Logf("%d of %d MiB in huge pages", huge>>20, table.Bytes()>>20)
}

// BenchmarkPages looks up the children of a node, 64 at a time, in a full table in huge and in
// ordinary pages.
func BenchmarkPages(b *testing.B) {
	for _, size := range []int64{16 << 20, 256 << 20, 2 << 30} {
		for _, kind := range []string{"huge", "ordinary"} {
			b.Run(fmt.Sprintf("%dMiB/%s", size>>20, kind), func(b *testing.B) {
				table := newTable(b, size)
				if kind == "ordinary" {
					if err := unix.Madvise(table.memory, unix.MADV_NOHUGEPAGE); err != nil {
						b.Skip(err)
					}
				}
				fill(table)
				_, huge := pages(b, table)
				r := rand.New(rand.NewPCG(1, 2))
				children := make([]child, 64)
				found := uint64(0)
				for b.Loop() {
					for i := range children {
						children[i].hash = r.Uint64()
						line := unsafe.Pointer(table.slot(table.lineOf(children[i].hash), 0))
						memory.Prefetch(line, line)
					}
					for i := range children {
						found ^= table.get(children[i].hash)
					}
				}
				b.ReportMetric(float64(len(children)*b.N)/b.Elapsed().Seconds()/1e6, "Mlookups/s")
				b.ReportMetric(float64(huge)/float64(table.Bytes()), "huge-share")
				if found == 1 {
					b.Log(found)
				}
			})
		}
	}
}
