package deploy

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"amazonsfarm/master/access"
	"amazonsfarm/master/campaign"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// series holds the names of the series that Prometheus can see, each with the labels it has and the
// values these have at the start. A nil set of values means any value.
type series map[string]map[string]map[string]bool

// registered returns the series of a master with certificates and of a worker, as both register
// them, with those that Prometheus adds.
func registered(t *testing.T) series {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "certs")
	authority, err := credentials.Init(folder, credentials.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := authority.Issue(credentials.Request{Identity: identity.Identity{Role: identity.Master, Name: "master"},
		Hosts: []string{"localhost"}}); err != nil {
		t.Fatal(err)
	}
	if err := authority.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := identity.Open(folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	loop.NewMetrics(registry).Campaign("5x6")
	campaign.RegisterDisk(registry, folder, "")
	campaign.RegisterEvidence(registry, nil)
	guard := access.NewGuard(access.GuardOptions{Files: files, Registerer: registry})
	rpc.NewServer(nil, rpc.Config{}, rpc.ServerOptions{Registerer: registry, Guard: guard})
	new(agent.Stats).Register(registry)
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := series{
		"up":     {"job": {"amazons-master": true, "amazons-worker": true}, "instance": nil},
		"ALERTS": {"alertname": nil, "alertstate": {"firing": true, "pending": true}, "severity": nil},
	}
	for _, f := range families {
		labels := map[string]map[string]bool{"job": {"amazons-master": true, "amazons-worker": true}, "instance": nil}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "campaign" {
					labels["campaign"] = nil // whatever operators call it
					continue
				}
				if labels[l.GetName()] == nil {
					labels[l.GetName()] = map[string]bool{}
				}
				labels[l.GetName()][l.GetValue()] = true
			}
		}
		if f.GetType().String() != "HISTOGRAM" {
			all[f.GetName()] = labels
			continue
		}
		all[f.GetName()+"_sum"], all[f.GetName()+"_count"] = labels, labels
		withLe := maps.Clone(labels)
		withLe["le"] = nil
		all[f.GetName()+"_bucket"] = withLe
	}
	return all
}

var (
	selector = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?`)
	matcher  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!=|!~|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	interval = regexp.MustCompile(`\[[^\]]*\]`)
)

// words of PromQL that an expression of ours may use beside names of series.
var words = strings.Fields("and or unless bool sum count increase rate histogram_quantile max_over_time " +
	"predict_linear time vector")

// unknown returns what an expression of PromQL names that is not there: series, labels that none of
// its series has, and label values asked for by = that no series has at the start. Recording rules
// stand among the series with nil labels.
func unknown(expr string, known series) []string {
	var wrong []string
	var names []string
	for _, m := range selector.FindAllStringSubmatch(interval.ReplaceAllString(grouping.ReplaceAllString(expr, ""), ""),
		-1) {
		if slices.Contains(words, m[1]) {
			continue
		}
		labels, ok := known[m[1]]
		if !ok {
			wrong = append(wrong, m[1])
			continue
		}
		names = append(names, m[1])
		if labels == nil {
			continue
		}
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			values, ok := labels[l[1]]
			if !ok {
				wrong = append(wrong, m[1]+"{"+l[1]+"}")
			} else if l[2] == "=" && values != nil && !values[l[3]] {
				wrong = append(wrong, m[1]+"{"+l[1]+"="+l[3]+"}")
			}
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, label := range strings.FieldsFunc(g[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			if !slices.ContainsFunc(names, func(name string) bool {
				_, ok := known[name][label]
				return ok ||
					known[name] == nil
			}) {
				wrong = append(wrong, g[1]+"("+label+")")
			}
		}
	}
	return wrong
}

// TestUnknown holds the test's own reading of expressions.
func TestUnknown(t *testing.T) {
	known := series{
		"a_total":    {"job": nil, "reason": {"role": true}},
		"b_bucket":   {"le": nil},
		"level:a:op": nil,
	}
	for _, c := range []struct{ expr, want string }{
		{`rate(a_total{reason="role"}[5m]) > 0`, ""},
		{`sum by (job, reason) (increase(a_total[15m]))`, ""},
		{`histogram_quantile(0.99, sum by (le) (rate(b_bucket[5m])))`, ""},
		{`level:a:op > 1 and on (job) a_total`, ""},
		{`rate(c_total[5m])`, "c_total"},
		{`a_total{reason="rôle"}`, "a_total{reason=rôle}"},
		{`a_total{code!="OK"}`, "a_total{code}"},
		{`sum by (code) (a_total)`, "by(code)"},
		{`level:b:op`, "level:b:op"},
	} {
		if got := strings.Join(unknown(c.expr, known), " "); got != c.want {
			t.Errorf("unknown in %s: %q, want %q", c.expr, got, c.want)
		}
	}
}
