// Package farm is what the scripts share that run masters and workers as processes and watch them:
// addresses to listen on, processes, and the figures that they publish.
package farm

import (
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// FreeAddress returns an address of this machine, with its port, where nobody listens now.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// Metrics are figures by name, or by name and labels, as in `a{b="c"}`. A histogram has two: its
// name with _sum and with _count.
type Metrics map[string]float64

// ParseMetrics reads Prometheus' text form.
func ParseMetrics(in io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(in)
	if err != nil {
		return nil, err
	}
	m := Metrics{}
	for name, family := range families {
		for _, f := range family.GetMetric() {
			var labels []string
			for _, l := range f.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			text := ""
			if len(labels) > 0 {
				text = "{" + strings.Join(labels, ",") + "}"
			}
			if h := f.GetHistogram(); h != nil {
				m[name+"_sum"+text], m[name+"_count"+text] = h.GetSampleSum(), float64(h.GetSampleCount())
				continue
			}
			// One of the three is there; the others are nil and count as 0.
			m[name+text] = f.GetCounter().GetValue() + f.GetGauge().GetValue() + f.GetUntyped().GetValue()
		}
	}
	return m, nil
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
