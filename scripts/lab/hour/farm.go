package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"amazonsfarm/master/document"
	"amazonsfarm/scripts/lab/farm"
)

// setup is what a run is made with.
type setup struct {
	Board      string        `json:"board"`
	FirstMoves []string      `json:"first_moves,omitempty"`
	Minutes    float64       `json:"minutes"`
	Period     time.Duration `json:"period"` // from one worker's going and the next one's coming to those after
	Rest       time.Duration `json:"rest"`   // without workers, before the last samples
	Passing    int           `json:"passing"`
	Table      string        `json:"table"`
	TableBytes int64         `json:"table_bytes"`
	Seed       uint64        `json:"seed"`
	Began      time.Time     `json:"began"`
	Build      string        `json:"build"`
	Cores      int           `json:"cores"`
}

// What the master gets: small leases, so that there are many results; splits after a few of them, so that
// the tree grows; and the easiest replies first, so that there are many facts.
const (
	firstBudget = 4000  // nodes of a position's first lease
	splitAfter  = 32000 // nodes spent on a position until it is split
)

// every is the time from sample to sample.
func (s *setup) every() time.Duration { return s.Period / 6 }

// await reports whether a process has ended within a time.
func (c *campaign) await(p *farm.Process, d time.Duration) bool {
	now, _ := c.time.read()
	return !c.time.until(context.Background(), now+d, p.Ended)
}

// campaign is a running farm under observation.
type campaign struct {
	setup
	bin, folder string
	master      *farm.Process
	time        clock

	began time.Duration // when the first workers came

	mu     sync.Mutex
	roll   []*farm.Process // workers that are about, the one that stays first
	gone   []string        // names that are free again
	spent  float64         // processor seconds of workers that have ended
	serial int
	out    *json.Encoder
}

// seconds since the first workers came; negative before.
func (c *campaign) seconds() float64 {
	now, _ := c.time.read()
	return (now - c.began).Seconds()
}

// write keeps a record. Records come whole and in the order of their times.
func (c *campaign) write(r record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(r)
}

func (c *campaign) log(name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(c.folder, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func (c *campaign) store() string { return filepath.Join(c.folder, "store") }

// serve starts the master and waits until it answers.
func (c *campaign) serve(ctx context.Context) error {
	log, err := c.log("master")
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"--board", c.Board, "--initial-budget", fmt.Sprint(firstBudget), "--tree-positions", "20000000",
		"--easy-replies"}
	for _, m := range c.FirstMoves {
		args = append(args, "--first-move", m)
	}
	c.master, err = farm.Serve(ctx, log, filepath.Join(c.bin, "master"), c.store(),
		fmt.Sprintf("split-after: %v\n", splitAfter), args...)
	return err
}

// join starts a worker under a name.
func (c *campaign) join(name string) error {
	pages, err := farm.FreeAddress()
	if err != nil {
		return err
	}
	log, err := c.log("workers")
	if err != nil {
		return err
	}
	defer log.Close()
	w, err := farm.Start(name, log, filepath.Join(c.bin, "worker"), "run", "--master", c.master.Workers, "--cores",
		"1", "--table", c.Table, "--name", name, "--http", pages, "--log-level", "warn")
	if err != nil {
		return err
	}
	w.Pages = pages
	c.mu.Lock()
	c.roll = append(c.roll, w)
	c.mu.Unlock()
	return c.write(record{Event: &event{Seconds: c.seconds(), What: "join", Name: name}})
}

// Ways for a worker to go, and the first signal of each.
var (
	ways         = []string{"term", "kill", "interrupt"}
	firstSignals = map[string]os.Signal{"term": syscall.SIGTERM, "kill": syscall.SIGKILL, "interrupt": syscall.SIGINT}
)

// patience is how long a worker that was asked to end may take. It shares its processor.
const patience = 2 * time.Minute

// unending is added to the way of a worker that did not go.
const unending = " without end"

// leave ends a worker in one of the ways and waits until it is gone.
func (c *campaign) leave(w *farm.Process, way string) error {
	e := event{Seconds: c.seconds(), What: way, Name: w.Name}
	signal := func(s os.Signal) error {
		if err := w.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil
	}
	err := signal(firstSignals[way])
	if err == nil && way == "interrupt" {
		// Two SIGINT may become one where the process gets no processor in between; any second
		// signal aborts.
		c.await(w, 20*time.Millisecond)
		err = signal(syscall.SIGTERM)
	}
	if err != nil {
		return err
	}
	if !c.await(w, patience) {
		w.Kill()
		e.What += unending
	}
	e.Code, e.Took = w.Cmd.ProcessState.ExitCode(), c.seconds()-e.Seconds
	c.mu.Lock()
	c.roll = slices.DeleteFunc(c.roll, func(o *farm.Process) bool { return o == w })
	c.gone = append(c.gone, w.Name)
	c.spent += (w.Cmd.ProcessState.UserTime() + w.Cmd.ProcessState.SystemTime()).Seconds()
	c.mu.Unlock()
	return c.write(record{Event: &e})
}

// newName returns a name for a worker: a new one, or now and then that of one that has gone.
func (c *campaign) newName(r *rand.Rand) string {
	if len(c.gone) > 0 && r.IntN(4) == 0 {
		i := r.IntN(len(c.gone))
		name := c.gone[i]
		c.gone = append(c.gone[:i], c.gone[i+1:]...)
		return name
	}
	c.serial++
	return "passing-" + strconv.Itoa(c.serial)
}

// churn lets workers come and go by the seed, until ctx ends: in each period one goes and one
// comes, at moments and in ways that are drawn. The first worker stays.
func (c *campaign) churn(ctx context.Context) error {
	r := rand.New(rand.NewPCG(c.Seed, 0))
	share := func() float64 { return 0.4 * r.Float64() }
	for turn := 1; ; turn++ {
		begin := c.began + time.Duration(turn)*c.Period
		first, second := share(), share()
		victim, way := 1+r.IntN(c.Passing), ways[r.IntN(len(ways))]
		name := c.newName(r)
		if !c.time.until(ctx, begin+time.Duration(first*float64(c.Period)), nil) {
			return nil
		}
		c.mu.Lock()
		w := c.roll[victim]
		c.mu.Unlock()
		if err := c.leave(w, way); err != nil {
			return err
		}
		now, _ := c.time.read()
		if !c.time.until(ctx, now+time.Duration(second*float64(c.Period)), nil) {
			return nil
		}
		if err := c.join(name); err != nil {
			return err
		}
	}
}

// observe takes a sample. The figures of workers that cannot be read, since they are just coming or
// going, are left out.
func (c *campaign) observe(phase string) (sample, error) {
	m, err := farm.Scrape(c.master.Pages)
	if err != nil {
		return sample{}, fmt.Errorf("metrics of the master: %w", err)
	}
	s := sample{Seconds: c.seconds(), Phase: phase, program: programFigures(m),
		Nodes: m.Sum("amazons_master_nodes_total"), Results: m.Sum("amazons_master_leases_returned_total"),
		Granted: m.Sum("amazons_master_leases_granted_total"),
		Expired: m.Sum("amazons_master_leases_expired_total"), Refused: m["amazons_master_messages_refused_total"],
		Leases: m.Sum("amazons_master_leases_running"),
		Tree:   m.Sum("amazons_master_tree_positions"), Facts: m.Sum("amazons_master_facts"),
		Proved:       m["amazons_master_parts_verified_total"],
		Certificates: m["amazons_master_certificates"], Connected: m["amazons_master_workers_connected"],
		Streams: m.Sum("grpc_server_started_total", `grpc_method="Work"`) - m.Sum("grpc_server_handled_total",
			`grpc_method="Work"`),
		Offences: m.Sum("amazons_master_worker_offences_total"),
		Doubts:   m.Sum("amazons_master_checks_total", `result="contradicted"`),
		Compared: m.Sum("amazons_master_checks_total")}
	if s.process, err = lookAt(c.master.Cmd.Process.Pid); err != nil {
		return s, err
	}
	body, err := farm.Get("http://" + c.master.Pages + "/api/status")
	if err != nil {
		return s, fmt.Errorf("status of the master: %w", err)
	}
	defer body.Close()
	var st document.Status
	if err := json.NewDecoder(body).Decode(&st); err != nil {
		return s, fmt.Errorf("status of the master: %w", err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return s, err
	}
	s.Running = float64(st.RunningNodes)
	if info, err := os.Stat(c.store()); err == nil {
		s.Store = float64(info.Size())
	}
	c.mu.Lock()
	roll := slices.Clone(c.roll)
	s.WorkersCPU = c.spent
	c.mu.Unlock()
	for _, w := range roll {
		p, err := lookAt(w.Cmd.Process.Pid)
		if err != nil {
			return s, err
		}
		s.WorkersCPU += p.CPU
		if !p.Alive {
			continue
		}
		out := worker{Name: w.Name, process: p}
		if m, err := farm.Scrape(w.Pages); err == nil {
			out.program, out.Seen = programFigures(m), true
			out.Joins, out.Entries = m["amazons_worker_joins_total"], m["amazons_worker_part_entries_total"]
		}
		s.Workers = append(s.Workers, out)
	}
	return s, nil
}

// lookIntoStore has the master make a backup, as an operator does, and writes down what is in it.
func (c *campaign) lookIntoStore(ctx context.Context) error {
	file := filepath.Join(c.folder, "backup")
	defer os.Remove(file)
	err := farm.Do(ctx, filepath.Join(c.bin, "master"), "store", "backup", file, "--master", c.master.Workers)
	if err != nil {
		return err
	}
	return c.storeInfo(ctx, file)
}

// storeInfo writes down what is in a store that no master has open.
func (c *campaign) storeInfo(ctx context.Context, file string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(c.bin, "master"), "store", "info", file, "--json").Output()
	if err != nil {
		return fmt.Errorf("master store info: %w", err)
	}
	l := layout{Seconds: c.seconds()}
	if err := json.Unmarshal(out, &l.Info); err != nil {
		return fmt.Errorf("master store info: %w", err)
	}
	return c.write(record{Layout: &l})
}

// stop ends everything that is still there.
func (c *campaign) stop() {
	c.mu.Lock()
	roll := slices.Clone(c.roll)
	c.mu.Unlock()
	if c.master != nil {
		roll = append(roll, c.master)
	}
	for _, p := range roll {
		p.Kill()
	}
}
