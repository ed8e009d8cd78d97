// Package observe is what the scripts share that run masters and workers as processes and watch
// them: addresses to listen on, and the figures that they publish.
package observe

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// FreeAddress returns an address of this machine, with its port, where nobody listens now.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Metrics are figures by name, and by name and labels as they are written.
type Metrics map[string]float64

// ParseMetrics reads Prometheus' text form. A line that is neither a comment nor a figure is an error.
func ParseMetrics(in io.Reader) (Metrics, error) {
	m := Metrics{}
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := s.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			return nil, fmt.Errorf("no value in %q", line)
		}
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		m[line[:at]] = v
	}
	return m, s.Err()
}

// Has reports whether there is a figure of a name, with whatever labels.
func (m Metrics) Has(name string) bool {
	for k := range m {
		if base, _, _ := strings.Cut(k, "{"); base == name {
			return true
		}
	}
	return false
}

// Sum adds up all figures of a name that have all the given labels, such as `grpc_method="Work"`.
func (m Metrics) Sum(name string, labels ...string) (total float64) {
next:
	for k, v := range m {
		base, rest, _ := strings.Cut(k, "{")
		if base != name {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(rest, l) {
				continue next
			}
		}
		total += v
	}
	return total
}
