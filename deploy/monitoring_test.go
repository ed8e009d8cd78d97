package deploy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// rulesFile is a file of recording rules or alerts, as Prometheus reads it.
type rulesFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// strict decodes one YAML document and refuses fields that into does not have.
func strict(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// rules returns the recording rules and the alerts.
func rules(t *testing.T) (recording, alerts []rule) {
	t.Helper()
	for _, name := range []string{"recording.yml", "alerts.yml"} {
		var f rulesFile
		strict(t, filepath.Join("prometheus", name), &f)
		for _, g := range f.Groups {
			for _, r := range g.Rules {
				if r.Record != "" {
					recording = append(recording, r)
				} else {
					alerts = append(alerts, r)
				}
			}
		}
	}
	if len(recording) == 0 || len(alerts) == 0 {
		t.Fatalf("%d recording rules and %d alerts", len(recording), len(alerts))
	}
	return recording, alerts
}

// TestRulesNameWhatIsThere holds every expression of Prometheus' rules against the figures that the
// programs register.
func TestRulesNameWhatIsThere(t *testing.T) {
	known := registered(t)
	recording, alerts := rules(t)
	for _, r := range recording {
		known[r.Record] = nil
	}
	for _, r := range append(recording, alerts...) {
		if wrong := unknown(r.Expr, known); len(wrong) > 0 {
			t.Errorf("%s%s names what is not there: %s", r.Record, r.Alert, strings.Join(wrong, ", "))
		}
	}
}

// TestEveryAlertIsTested wants each alert to fire in alerts_test.yml.
func TestEveryAlertIsTested(t *testing.T) {
	data, err := os.ReadFile("prometheus/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	_, alerts := rules(t)
	for _, a := range alerts {
		if !bytes.Contains(data, []byte("alertname: "+a.Alert+"\n        exp_alerts:\n          - exp_labels:")) {
			t.Errorf("no test in which %s fires", a.Alert)
		}
		if a.Annotations["summary"] == "" || a.Labels["severity"] == "" {
			t.Errorf("%s has no summary or no severity", a.Alert)
		}
	}
}

// TestAlertTestsFitTheirAlerts reads alerts_test.yml as promtool does, as far as that goes without it: a test in which
// an alert fires has its sentence, and figures for all that its expression names.
func TestAlertTestsFitTheirAlerts(t *testing.T) {
	var file struct {
		Tests []struct {
			Name   string
			Input  []struct{ Series string } `yaml:"input_series"`
			Alerts []struct {
				Name     string `yaml:"alertname"`
				Expected []struct {
					Annotations map[string]string `yaml:"exp_annotations"`
				} `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	data, err := os.ReadFile("prometheus/alerts_test.yml")
	if err := errors.Join(err, yaml.Unmarshal(data, &file)); err != nil {
		t.Fatal(err)
	}
	_, alerts := rules(t)
	figure, filled := regexp.MustCompile(`\bamazons_\w+`), regexp.MustCompile(`\\{\\{.*?\\}\\}`)
	for _, test := range file.Tests {
		for _, when := range test.Alerts {
			i := slices.IndexFunc(alerts, func(r rule) bool { return r.Alert == when.Name })
			if i < 0 {
				t.Fatalf("%s: there is no alert %s", test.Name, when.Name)
			}
			summary := filled.ReplaceAllString(regexp.QuoteMeta(alerts[i].Annotations["summary"]), ".+")
			for _, e := range when.Expected {
				said := e.Annotations["summary"]
				if !regexp.MustCompile("^" + summary + "$").MatchString(said) {
					t.Errorf("%s: %s says something else than %q", test.Name, when.Name, said)
				}
				for _, name := range figure.FindAllString(alerts[i].Expr, -1) {
					if !slices.ContainsFunc(test.Input, func(in struct{ Series string }) bool {
						return strings.HasPrefix(in.Series, name)
					}) {
						t.Errorf("%s: %s fires only where there is %s", test.Name, when.Name, name)
					}
				}
			}
		}
	}
}

// TestScalingNamesWhatIsThere holds the expression by which KEDA scales the workers against the
// figures that are there.
func TestScalingNamesWhatIsThere(t *testing.T) {
	data, err := os.ReadFile("kubernetes/keda/scaledobject.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var scaled struct {
		Spec struct {
			Triggers []struct{ Metadata struct{ Query string } }
		}
	}
	if err := yaml.Unmarshal(data, &scaled); err != nil {
		t.Fatal(err)
	}
	if len(scaled.Spec.Triggers) != 1 || !strings.Contains(scaled.Spec.Triggers[0].Metadata.Query,
		"amazons_master_frontier_positions") {
		t.Fatalf("triggers %+v", scaled.Spec.Triggers)
	}
	if wrong := unknown(scaled.Spec.Triggers[0].Metadata.Query, registered(t)); len(wrong) > 0 {
		t.Errorf("names what is not there: %s", strings.Join(wrong, ", "))
	}
}

// dashboard is what the tests read of a dashboard.
type dashboard struct {
	UID, Title string
	Panels     []struct {
		ID         int
		Type       string
		Title      string
		Datasource struct{ UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			Expr         string
			LegendFormat string
			Datasource   struct{ UID string }
		}
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob("grafana/dashboards/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards instead of 3: %v", len(files), err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[file] = d
	}
	return all
}

// TestDashboards holds every expression of the dashboards against the figures that are there, and
// the dashboards against the little that Grafana wants: own identifiers, a datasource that is a
// variable, panels that do not overlap.
func TestDashboards(t *testing.T) {
	known := registered(t)
	recording, _ := rules(t)
	for _, r := range recording {
		known[r.Record] = nil
	}
	uids := map[string]string{}
	shown := 0
	for file, d := range dashboards(t) {
		if d.UID == "" || d.Title == "" || uids[d.UID] != "" {
			t.Errorf("%s: identifier %q and title %q", file, d.UID, d.Title)
		}
		uids[d.UID] = file
		if len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" ||
			d.Templating.List[0].Type != "datasource" {
			t.Errorf("%s: the datasource is not a variable", file)
		}
		campaign := false // a variable that chooses among campaigns
		for _, v := range d.Templating.List[1:] {
			of, label, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"),
				", ")
			_, there := known[of][label]
			if campaign = v.Name == "campaign" && v.Type == "query" && label == "campaign" && there; !campaign {
				t.Errorf("%s: variable %q of %q", file, v.Name, v.Definition)
			}
		}
		ids := map[int]bool{}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.ID == 0 {
				t.Errorf("%s: two panels with identifier %d", file, p.ID)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q lies over %q or beyond the edge", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type != "text" && len(p.Targets) == 0 {
				t.Errorf("%s: %q shows nothing", file, p.Title)
			}
			for _, target := range p.Targets {
				shown++
				if target.Datasource.UID != "${datasource}" || p.Datasource.UID != "${datasource}" {
					t.Errorf("%s: %q has a datasource of its own", file, p.Title)
				}
				if strings.Contains(target.Expr, `campaign=~"$campaign"`) != strings.Contains(target.LegendFormat,
					"{{campaign}}") ||
					strings.Contains(target.Expr, "$campaign") && !campaign {
					t.Errorf("%s: %q has lines that cannot be told apart by campaign", file, p.Title)
				}
				if wrong := unknown(target.Expr, known); len(wrong) > 0 {
					t.Errorf("%s: %q names what is not there: %s", file, p.Title, strings.Join(wrong, ", "))
				}
			}
		}
	}
	if shown == 0 {
		t.Error("no expression at all")
	}
}

// TestDashboardsParse wraps the expressions of the dashboards as rules and lets promtool parse them.
func TestDashboardsParse(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool on this machine: the syntax of the dashboards' expressions is not checked")
	}
	var wrapped struct {
		Groups []map[string]any `yaml:"groups"`
	}
	var list []rule
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				list = append(list, rule{Record: fmt.Sprintf("dashboard:expression:%d", len(list)), Expr: target.Expr})
			}
		}
	}
	wrapped.Groups = append(wrapped.Groups, map[string]any{"name": "dashboards", "rules": list})
	data, err := yaml.Marshal(wrapped)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboards.yml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "check", "rules", file).CombinedOutput()
	if want := fmt.Sprintf("SUCCESS: %d rules found", len(list)); err != nil || !bytes.Contains(out, []byte(want)) {
		t.Errorf("%v\n%s", err, out)
	}
}
