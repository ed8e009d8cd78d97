package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestCompose holds what Compose itself does not look at: that files mounted into containers are
// here, that ports are published on loopback only, that our programs can do no more than they must
// and tell whether they are well, and that Prometheus and Grafana start with the profile monitoring
// alone. scripts/compose runs it.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Services map[string]struct {
			Image                             string
			Profiles, Volumes, Ports, Command []string
			ReadOnly                          bool     `yaml:"read_only"`
			CapDrop                           []string `yaml:"cap_drop"`
			SecurityOpt                       []string `yaml:"security_opt"`
			Healthcheck                       struct{ Test []string }
		}
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for name, monitoring := range map[string]bool{"certs": false, "master": false, "worker": false, "prometheus": true,
		"grafana": true} {
		s, ok := c.Services[name]
		if !ok || slices.Equal(s.Profiles, []string{"monitoring"}) != monitoring {
			t.Errorf("service %s: there is %t, profiles %q", name, ok, s.Profiles)
		}
		if ours := !monitoring; ours {
			if s.Image != "amazonsfarm:local" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
				!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
				t.Errorf("service %s: image %s, read-only %t, dropped %q, security %q", name, s.Image, s.ReadOnly,
					s.CapDrop, s.SecurityOpt)
			}
			if want := []string{"CMD", "/bin/" + name, "health"}; name != "certs" &&
				!slices.Equal(s.Healthcheck.Test, want) {
				t.Errorf("service %s: health check %q, want %q", name, s.Healthcheck.Test, want)
			}
			if slices.Contains(s.Command, "--insecure") {
				t.Errorf("service %s is not encrypted", name)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("service %s publishes %s beyond this machine", name, p)
			}
		}
		for _, v := range s.Volumes {
			if setting := regexp.MustCompile(`^\$\{[A-Z_]+:-(.*)\}:`).FindStringSubmatch(v); setting != nil {
				v = setting[1] + ":"
			}
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

// TestComposeSettings wants each variable that docker-compose.yml reads explained in the comment
// that it begins with, and no other.
func TestComposeSettings(t *testing.T) {
	data, err := os.ReadFile("../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	comment, body, ok := strings.Cut(string(data), "\nx-program:")
	if !ok {
		t.Fatal("no line after the comment")
	}
	names := func(text, pattern string) []string {
		var all []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	explained, read := names(comment, `(?m)^#   (AMAZONS_[A-Z_]+) +\S`), names(body, `(AMAZONS_[A-Z_]+)(?:[^=A-Z_]|$)`)
	if len(read) < 5 || !slices.Equal(explained, read) {
		t.Errorf("explained %q, read %q", explained, read)
	}
}

// TestImage holds scripts/image against Dockerfile: the same flags for the programs, and the same
// folders for volumes, which the user of the image owns; the authorities that sign for buckets; and no anonymous
// volume, of which each container would leave one.
func TestImage(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	docker, script := read("../Dockerfile"), read("../scripts/image")
	for _, c := range []struct{ docker, script string }{
		{`CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/bin/ ./master ./worker`,
			`CGO_ENABLED=0 GOFLAGS="-trimpath '-ldflags=-s -w'"`},
		{`mkdir -p /out/folders/data /out/folders/authority /out/folders/certs`,
			`mkdir -p "$work/image/out/folders"/{data,authority,certs}`},
		{"\nFROM scratch\n", "/^FROM scratch/,$"},
		{"\nCOPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/\n",
			`-t "$work/image/etc/ssl/certs" /etc/ssl/certs/ca-certificates.crt`},
		{"\nCOPY --from=build --chown=65532:65532 /out/folders /\nUSER 65532:65532\n", "s/--from=build //"},
	} {
		if !strings.Contains(docker, c.docker) || !strings.Contains(script, c.script) {
			t.Errorf("Dockerfile has %q: %t, scripts/image has %q: %t", c.docker, strings.Contains(docker, c.docker),
				c.script, strings.Contains(script, c.script))
		}
	}
	if strings.Contains(docker, "VOLUME") {
		t.Error("Dockerfile declares a volume")
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
	if len(sources.Datasources) != 1 || sources.Datasources[0].URL != "http://prometheus:9090" ||
		!sources.Datasources[0].IsDefault {
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
	if len(boards.Providers) != 1 || !strings.Contains(string(compose), "./deploy/grafana/dashboards:"+
		boards.Providers[0].Options.Path+":ro") {
		t.Errorf("providers %+v: Compose mounts the dashboards elsewhere", boards.Providers)
	}
	// A master whose container is gone has no address; only a target that stays can be down.
	if data, err := os.ReadFile("prometheus/compose.yml"); err != nil || !strings.Contains(string(data),
		`- targets: ["master:9171"]`) {
		t.Errorf("the master is not a fixed target: %v, %s", err, data)
	}
}
