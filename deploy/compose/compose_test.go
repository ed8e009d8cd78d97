package compose

import (
	"context"
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

// TestSecondGeneration loads the file as Compose 2 does, without and with the profile monitoring.
func TestSecondGeneration(t *testing.T) {
	for _, c := range []struct{ profiles, services []string }{
		{nil, []string{"master", "worker"}},
		{[]string{"monitoring"}, []string{"grafana", "master", "prometheus", "worker"}},
	} {
		o, err := cli.NewProjectOptions([]string{"../../docker-compose.yml"}, cli.WithName("amazons"),
			cli.WithProfiles(c.profiles), cli.WithEnv([]string{"AMAZONS_BOARD=5x6"}))
		if err != nil {
			t.Fatal(err)
		}
		p, err := o.LoadProject(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.services {
			if !slices.Contains(p.ServiceNames(), s) {
				t.Errorf("profiles %q: no service %s among %q", c.profiles, s, p.ServiceNames())
			}
		}
		worker, err := p.GetService("worker")
		if err != nil {
			t.Fatal(err)
		}
		if worker.ContainerName != "" || len(worker.Ports) != 0 {
			t.Errorf("more than one worker cannot run: container name %q, ports %v", worker.ContainerName, worker.Ports)
		}
		if master, err := p.GetService("master"); err != nil || master.HealthCheck == nil ||
			master.StopGracePeriod == nil {
			t.Errorf("the master has no health check or no time to end: %v", err)
		}
	}
}
