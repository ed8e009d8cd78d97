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

// Sum adds up all figures of a name, with whatever labels. It reports whether there is one.
func (m Metrics) Sum(name string) (total float64, ok bool) {
	for k, v := range m {
		if base, _, _ := strings.Cut(k, "{"); base == name {
			total, ok = total+v, true
		}
	}
	return total, ok
}
