package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"amazonsfarm/scripts/lab/observe"
)

// process is a running master.
type process struct {
	command *exec.Cmd
	address string // for workers
	page    string // of its metrics
	ended   chan error
}

// start runs a master and waits until it says where it listens. What it says else goes to log.
func start(ctx context.Context, program string, args []string, log io.Writer) (*process, error) {
	p := &process{command: exec.Command(program, args...), ended: make(chan error, 1)}
	out, err := p.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start the master: %w", err)
	}
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			line := lines.Text()
			if _, url, ok := strings.Cut(line, "status page and metrics on "); ok {
				p.page = url + "/metrics"
			} else if _, address, ok := strings.Cut(line, "workers join at "); ok {
				p.address = address
				close(ready)
			} else {
				fmt.Fprintln(log, line)
			}
		}
		p.ended <- p.command.Wait()
	}()
	select {
	case <-ready:
		return p, nil
	case err := <-p.ended:
		return nil, fmt.Errorf("the master has ended at once: %w", errors.Join(err, ctx.Err()))
	case <-ctx.Done():
		p.kill()
		return nil, ctx.Err()
	}
}

// kill ends the master as a power cut would, and waits until it is gone.
func (p *process) kill() {
	_ = p.command.Process.Signal(syscall.SIGKILL)
	<-p.ended
	p.ended <- nil
}

// gauges is what the master says of itself.
type gauges struct {
	at                     time.Time
	cpu                    float64 // seconds
	resident, heap, stacks float64 // bytes
	positions              float64 // in the tree
	commits, commitSeconds float64
	batches, events        float64
	allocated, objects     float64
}

// ask reads the master's metrics.
func (p *process) ask(ctx context.Context) (gauges, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.page, nil)
	if err != nil {
		return gauges{}, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return gauges{}, fmt.Errorf("ask the master: %w", err)
	}
	defer answer.Body.Close()
	return readGauges(answer.Body)
}

// readGauges reads the text format of Prometheus. A figure that is missing is an error.
func readGauges(r io.Reader) (gauges, error) {
	g := gauges{at: time.Now()}
	want := map[string]*float64{
		"process_cpu_seconds_total": &g.cpu, "process_resident_memory_bytes": &g.resident,
		"go_memstats_heap_inuse_bytes": &g.heap, "go_memstats_stack_inuse_bytes": &g.stacks,
		"go_memstats_alloc_bytes_total": &g.allocated, "go_memstats_mallocs_total": &g.objects,
		"amazons_master_tree_positions":                      &g.positions,
		"amazons_master_store_commit_duration_seconds_count": &g.commits,
		"amazons_master_store_commit_duration_seconds_sum":   &g.commitSeconds,
		"amazons_master_batch_events_count":                  &g.batches, "amazons_master_batch_events_sum": &g.events,
	}
	figures, err := observe.ParseMetrics(r)
	if err != nil {
		return gauges{}, err
	}
	for name, field := range want {
		if !figures.Has(name) {
			return gauges{}, fmt.Errorf("the master has no metric %s", name)
		}
		*field = figures.Sum(name) // there is one campaign
	}
	return g, nil
}
