package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestCompose holds what Compose itself does not look at: that files mounted into containers are here, that ports are published on loopback
// only, and that Prometheus and Grafana start with the profile monitoring alone.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Services map[string]struct {
			Profiles, Volumes, Ports []string
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for name, monitoring := range map[string]bool{"master": false, "worker": false, "prometheus": true, "grafana": true} {
		s, ok := c.Services[name]
		if !ok || slices.Equal(s.Profiles, []string{"monitoring"}) != monitoring {
			t.Errorf("service %s: there is %t, profiles %q", name, ok, s.Profiles)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("service %s publishes %s beyond this machine", name, p)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, err := os.Stat(filepath.Join("..", source)); strings.HasPrefix(source, ".") && err != nil {
				t.Errorf("service %s mounts %s: %v", name, source, err)
			}
			if _, ok := c.Volumes[source]; !strings.HasPrefix(source, ".") && !ok {
				t.Errorf("service %s mounts the volume %s, which is not declared", name, source)
			}
		}
	}
}

// TestProvisioning holds Grafana's own settings against the places where Compose mounts the dashboards.
func TestProvisioning(t *testing.T) {
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool `yaml:"isDefault"`
		}
	}
	strict(t, "grafana/provisioning/datasources/prometheus.yml", &sources)
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" || !sources.Datasources[0].IsDefault {
		t.Errorf("datasources %+v", sources.Datasources)
	}
	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			DisableDeletion    bool `yaml:"disableDeletion"`
			Options            struct{ Path string }
		}
	}
	strict(t, "grafana/provisioning/dashboards/amazons.yml", &boards)
	compose, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	if len(boards.Providers) != 1 || !strings.Contains(string(compose), "./deploy/grafana/dashboards:"+boards.Providers[0].Options.Path+":ro") {
		t.Errorf("providers %+v: Compose mounts the dashboards elsewhere", boards.Providers)
	}
}
