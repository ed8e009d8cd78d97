package farm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// Process is a master or worker of ours.
type Process struct {
	Name    string
	Cmd     *exec.Cmd
	Pages   string        // address of its metrics
	Workers string        // of a master: address where workers join
	Ended   chan struct{} // closed once it has been waited for; how it ended is in Cmd.ProcessState
}

// Start runs a program and waits for nothing. Everything that the program prints goes to log.
func Start(name string, log io.Writer, program string, args ...string) (*Process, error) {
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = log, log
	return Run(name, c)
}

// Run starts a command and waits for nothing.
func Run(name string, c *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, Cmd: c, Ended: make(chan struct{})}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start the %s: %w", name, err)
	}
	go func() {
		defer close(p.Ended)
		_ = c.Wait()
	}()
	return p, nil
}

// Do runs a program to its end. The error has what the program has printed.
func Do(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// Serve starts a master on a store, with the text of a settings file and more of its command line,
// and waits until its pages answer. With an error the master, if one was started, has ended.
func Serve(ctx context.Context, log io.Writer, program, store, settings string, args ...string) (*Process, error) {
	workers, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	pages, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	file := store + ".settings.yaml"
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	p, err := Start("master", log, program, append([]string{"serve", "--store", store, "--config", file,
		"--listen", workers, "--http", pages}, args...)...)
	if err != nil {
		return nil, err
	}
	p.Pages, p.Workers = pages, workers
	return p, p.Answers(ctx, func() error {
		_, err := Scrape(pages)
		return err
	})
}

// Answers waits until a look at the process brings no error. It returns an error where the process has
// ended before, and one where ctx has: then it kills the process.
func (p *Process) Answers(ctx context.Context, look func() error) error {
	for p.Alive() {
		if look() == nil {
			return nil
		}
		if err := Wait(ctx, 50*time.Millisecond); err != nil {
			p.Kill()
			return err
		}
	}
	return fmt.Errorf("the %s has ended at once: %v", p.Name, p.Cmd.ProcessState)
}

// EndsWithin reports whether the process ends before so much time has passed.
func (p *Process) EndsWithin(d time.Duration) bool {
	select {
	case <-p.Ended:
		return true
	case <-time.After(d):
		return false
	}
}

// Kill ends the process as a power cut would, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Ended
}

// Alive reports whether the process has not ended.
func (p *Process) Alive() bool {
	select {
	case <-p.Ended:
		return false
	default:
		return true
	}
}

// client keeps one connection to each process, so that looking costs each the same goroutines and
// files from the first look to the last.
var client = &http.Client{Timeout: 20 * time.Second}

// Scrape reads the metrics of a process at an address.
func Scrape(address string) (Metrics, error) {
	r, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics of %s: %s", address, r.Status)
	}
	return ParseMetrics(r.Body)
}

// Receive hands on what a work stream brings, until the stream or ctx ends, and says why that was.
func Receive(ctx context.Context, stream farmv1.Farm_WorkClient, to chan<- *farmv1.WorkResponse) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case to <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait waits, or says why the context has ended before.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
