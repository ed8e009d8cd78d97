package deploy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSystemdEnvironment wants every variable in the environment files to be one that the program
// reads.
func TestSystemdEnvironment(t *testing.T) {
	variable := regexp.MustCompile(`(?m)^#?(AMAZONS_[A-Z_]+)=`)
	for _, program := range []string{"master", "worker"} {
		settings, err := os.ReadFile("systemd/" + program + ".env")
		if err != nil {
			t.Fatal(err)
		}
		unit, err := os.ReadFile("systemd/amazons-" + program + ".service")
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile("../" + program + "/main.go")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(unit), "EnvironmentFile=/etc/amazonsfarm/"+program+".env\n") {
			t.Errorf("the unit of %s does not read its settings", program)
		}
		names := variable.FindAllStringSubmatch(string(settings), -1)
		if len(names) == 0 {
			t.Errorf("%s.env sets nothing", program)
		}
		for _, n := range names {
			if !strings.Contains(string(source), `"`+n[1]+`"`) {
				t.Errorf("%s.env sets %s, which %s does not read", program, n[1], program)
			}
		}
	}
}
