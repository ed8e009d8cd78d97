package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sources returns the text of all files that match a pattern.
func sources(t *testing.T, patterns ...string) string {
	t.Helper()
	var s strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s.Write(data)
		}
	}
	return s.String()
}

// TestSystemdEnvironment wants every variable in the environment files to be one that the program
// reads.
func TestSystemdEnvironment(t *testing.T) {
	variable := regexp.MustCompile(`(?m)^#?(AMAZONS_[A-Z_]+)=`)
	stands := regexp.MustCompile(`"([a-z-]+)": +"(AMAZONS_[A-Z_]+)"`) // flag and variable
	table := sources(t, "../shared/cli/environment.go")
	for _, program := range []string{"master", "worker"} {
		settings, err := os.ReadFile("systemd/" + program + ".env")
		if err != nil {
			t.Fatal(err)
		}
		unit, err := os.ReadFile("systemd/amazons-" + program + ".service")
		if err != nil {
			t.Fatal(err)
		}
		source := sources(t, "../"+program+"/*.go", "../"+program+"/command/*.go", "../shared/cli/log.go")
		if !strings.Contains(string(unit), "EnvironmentFile=/etc/amazonsfarm/"+program+".env\n") {
			t.Errorf("the unit of %s does not read its settings", program)
		}
		names := variable.FindAllStringSubmatch(string(settings), -1)
		if len(names) == 0 {
			t.Errorf("%s.env sets nothing", program)
		}
		for _, n := range names {
			reads := slices.ContainsFunc(stands.FindAllStringSubmatch(table, -1), func(m []string) bool {
				return m[2] == n[1] && strings.Contains(source, `"`+m[1]+`",`)
			})
			if !reads {
				t.Errorf("%s.env sets %s, which %s does not read", program, n[1], program)
			}
		}
	}
}
