package farm

import (
	"math"
	"net"
	"strings"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	m, err := ParseMetrics(strings.NewReader("# HELP a b\na 1\nb{x=\"1 2\",y=\"z\"} 2.5e+06\nb{x=\"3\"} 1\n\nc NaN\n"))
	sum, ok := m.Sum("b")
	_, none := m.Sum("none")
	if err != nil || m["a"] != 1 || sum != 2.5e6+1 || !ok || none || m[`b{x="1 2",y="z"}`] != 2.5e6 ||
		!math.IsNaN(m["c"]) {
		t.Errorf("%v, %v", m, err)
	}
	for _, bad := range []string{"a", "a b"} {
		if m, err := ParseMetrics(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken as %v", bad, m)
		}
	}
}

func TestFreeAddress(t *testing.T) {
	address, err := FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("%s is not free: %v", address, err)
	}
	l.Close()
}
