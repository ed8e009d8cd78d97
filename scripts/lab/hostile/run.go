package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"

	"github.com/prometheus/procfs"
)

// outcome is what came of one campaign.
type outcome struct {
	name        string
	answer      answer
	seconds     float64 // until the master ended
	honestCPU   float64 // seconds of all honest workers
	honestNodes float64 // that they have searched
	takenBack   float64 // facts
	masterCPU   float64
	peak        int64 // bytes of the master's memory, with its programs' pages
	offences    []string
	quarantined []string      // names
	slowest     time.Duration // look at /healthz
	deafened    int           // looks that failed
	killed      int
	code        int
}

// answer is what the master prints.
type answer struct {
	Winner   string
	Nodes    float64
	Verified bool
}

const heading = "| kind | winner | verified | seconds | worker CPU s | master CPU s | master MiB | nodes | " +
	"honest nodes | healthz s | taken back | offences | quarantined |\n" +
	"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"

func (o *outcome) row() string {
	health := fmt.Sprintf("%.2f", o.slowest.Seconds())
	if o.deafened > 0 {
		health = fmt.Sprintf("%d failed", o.deafened)
	}
	return fmt.Sprintf("| %s | %s | %v | %.1f | %.1f | %.1f | %d | %.0f | %.0f | %s | %.0f | %s | %s |", o.name,
		o.answer.Winner, o.answer.Verified, o.seconds, o.honestCPU, o.masterCPU, o.peak>>20, o.answer.Nodes,
		o.honestNodes, health, o.takenBack, strings.Join(o.offences, " "), strings.Join(o.quarantined, " "))
}

// rows prints campaigns as rows of a table, and gathers what must not be. The first one is what the others
// are compared with.
type rows struct {
	first *outcome
	failures
}

// failures are what must not be, a sentence each.
type failures []string

// err says what is wrong, if anything is.
func (f failures) err() error {
	if len(f) > 0 {
		return errors.New(strings.Join(f, "; "))
	}
	return nil
}

func (t *rows) add(o *outcome) {
	if t.first == nil {
		fmt.Println(heading)
		t.first = o
	}
	fmt.Println(o.row())
	if w := o.wrong(t.first); w != "" {
		t.failures = append(t.failures, o.name+": "+w)
	}
}

// mostMemory bounds the memory of a master that judges a small board, whatever clients do.
const mostMemory = 1 << 30

// wrong says what must not be; "" where all is well.
func (o *outcome) wrong(alone *outcome) string {
	switch {
	case o.answer.Winner != alone.answer.Winner || !o.answer.Verified:
		return fmt.Sprintf("the answer is %q, exit code %d", o.answer.Winner, o.code)
	case o.peak > mostMemory:
		return fmt.Sprintf("the master took %d MiB", o.peak>>20)
	case slices.ContainsFunc(o.quarantined, func(n string) bool { return strings.HasPrefix(n, "honest") }):
		return "an honest worker is in quarantine"
	case o.deafened > 0:
		return "the pages did not answer"
	}
	return ""
}

// play runs one campaign beside clients that choose among kinds. The master has more on its command line.
func (s *settings) play(ctx context.Context, name string, choice []kind, more ...string) (*outcome, error) {
	board, err := amazons.ParseBoard(s.board)
	if err != nil {
		return nil, err
	}
	// Small leases make many parts, which others have to check.
	m, err := s.serve(ctx, name, append([]string{"--initial-budget", "500", "--max-budget", "1000"}, more...))
	if err != nil {
		return nil, err
	}
	defer m.log.Close()
	o := &outcome{name: name}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	var hostile sync.WaitGroup
	attack, peace := context.WithCancel(ctx)
	random := rand.New(rand.NewPCG(s.seed, 7))
	for i := range s.clients * min(1, len(choice)) {
		c := client{target: m.target(board, i), name: fmt.Sprintf("hostile-%d", i),
			random: rand.New(rand.NewPCG(random.Uint64(), uint64(i)))}
		if c.parts, err = newParts(board); err != nil {
			peace()
			return nil, err
		}
		hostile.Go(func() { s.attack(attack, &c, choice) })
	}
	if len(choice) > 0 {
		_ = farm.Wait(ctx, time.Second) // it comes first
	}
	began := time.Now()
	workers, err := m.honestWorkers()
	if err != nil {
		peace()
		return nil, err
	}
	m.watch(ctx, o)
	o.seconds = time.Since(began).Seconds()
	peace()
	hostile.Wait()
	for _, w := range workers {
		o.honestCPU += leave(w)
	}
	o.honestNodes = m.honestNodes()
	o.quarantined, err = m.quarantines()
	return o, err
}

// honestWorkers starts all workers, for their first lives.
func (m *served) honestWorkers() (workers []*farm.Process, err error) {
	for i := range m.honest {
		w, err := m.honestWorker(i, 0)
		if err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	return workers, nil
}

// honestWorker starts a worker, for its nth life.
func (m *served) honestWorker(i, life int) (*farm.Process, error) {
	name := fmt.Sprintf("honest-%d", i)
	log, err := os.Create(filepath.Join(m.folder, fmt.Sprintf("%s.%d.log", name, life)))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	args := []string{"run", "--master", m.workers, "--cores", "1", "--table", "64MiB", "--name", name}
	if m.mtls {
		args = append(args, "--credentials", filepath.Join(m.folder, "certs", "workers", name))
	}
	return farm.Start("worker", log, m.worker, args...)
}

// leave ends a worker and returns the processor seconds that it has had.
func leave(w *farm.Process) float64 {
	if w.Alive() {
		_ = w.Cmd.Process.Signal(os.Interrupt)
		if !w.EndsWithin(5 * time.Second) {
			w.Kill()
		}
	}
	return (w.Cmd.ProcessState.UserTime() + w.Cmd.ProcessState.SystemTime()).Seconds()
}

// honestNodes adds up what honest workers said of their nodes at their ends.
func (m *served) honestNodes() (sum float64) {
	logs, _ := filepath.Glob(filepath.Join(m.folder, "honest-*.log"))
	for _, name := range logs {
		data, _ := os.ReadFile(name)
		if _, after, ok := strings.Cut(string(data), "msg=worked "); ok {
			if _, after, ok = strings.Cut(after, " nodes="); ok {
				var n float64
				_, _ = fmt.Sscan(after, &n)
				sum += n
			}
		}
	}
	return sum
}

// attack plays kinds until ctx ends: each for some seconds, or until the master has had enough.
func (s *settings) attack(ctx context.Context, c *client, choice []kind) {
	for ctx.Err() == nil {
		k := choice[c.random.IntN(len(choice))]
		some, cancel := ctx, context.CancelFunc(func() {})
		if len(choice) > 1 {
			some, cancel = context.WithTimeout(ctx, time.Duration(5+c.random.IntN(15))*time.Second)
		}
		if c.dial(some); c.ok() {
			k.do(c)
		}
		c.close()
		cancel()
		if s.verbose {
			fmt.Fprintf(os.Stderr, "%s %s: %v\n", c.name, k.name, c.err)
		}
		_ = farm.Wait(ctx, 200*time.Millisecond)
	}
}

// served is the master of a campaign.
type served struct {
	*settings
	folder  string
	log     *os.File
	process *farm.Process
	workers string // addresses, the same in all its lives
	pages   string
	out     *os.File
	more    []string // of its command line
}

func (m *served) target(board amazons.Board, i int) target {
	t := target{address: m.workers, pages: m.pages, board: board, build: "hostile"}
	if m.mtls {
		t.folder = filepath.Join(m.folder, "certs", "workers", fmt.Sprintf("hostile-%d", i))
	}
	return t
}

// serve starts the master of a campaign, with more on its command line, in an empty folder of this name.
// The caller closes its log.
func (s *settings) serve(ctx context.Context, name string, more []string) (*served, error) {
	folder := filepath.Join(s.folder, name)
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return nil, err
	}
	m := &served{settings: s, folder: folder, log: log, more: more}
	if err = m.prepare(); err == nil {
		err = m.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return m, nil
}

// prepare finds addresses and makes credentials.
func (m *served) prepare() (err error) {
	if m.workers, err = farm.FreeAddress(); err != nil {
		return err
	}
	if m.pages, err = farm.FreeAddress(); err != nil {
		return err
	}
	if m.out, err = os.Create(filepath.Join(m.folder, "answer")); err != nil || !m.mtls {
		return err
	}
	lists := [][]string{{"init", "--host", "127.0.0.1"}}
	for i := range m.honest {
		lists = append(lists, []string{"worker", fmt.Sprintf("honest-%d", i)})
	}
	for i := range m.clients {
		lists = append(lists, []string{"worker", fmt.Sprintf("hostile-%d", i)})
	}
	for _, args := range lists {
		c := exec.Command(m.master, append([]string{"certs"}, args...)...)
		c.Dir = m.folder
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("master certs %v: %w: %s", args, err, out)
		}
	}
	return nil
}

func (m *served) start(ctx context.Context) error {
	args := []string{"serve", "--store", filepath.Join(m.folder, "farm.db"), "--board", m.board, "--listen", m.workers,
		"--http", m.pages, "--allow-other-builds", "--log-level", "info"}
	args = append(args, m.more...)
	if m.mtls {
		args = append(args, "--credentials", filepath.Join(m.folder, "certs"))
	}
	program := append([]string{m.master}, args...)
	if m.files > 0 {
		program = append([]string{"sh", "-c", fmt.Sprintf("ulimit -n %d && exec \"$@\"", m.files), "sh"}, program...)
	}
	c := exec.Command(program[0], program[1:]...)
	c.Stdout, c.Stderr = m.out, m.log
	p, err := farm.Run("master", c)
	if err != nil {
		return err
	}
	m.process = p
	err = p.Answers(ctx, func() error {
		_, err := healthy(m.pages)
		return err
	})
	if !p.Alive() && p.Cmd.ProcessState.Success() {
		return nil // all that was left to do is done
	}
	return err
}

// checkStore has "master store check" go over the store.
func (m *served) checkStore() error {
	return farm.Do(context.Background(), m.master, "store", "check", filepath.Join(m.folder, "farm.db"))
}

// watch looks at the master until it ends, and kills it when that is due.
func (m *served) watch(ctx context.Context, o *outcome) {
	offences := map[string]float64{}
	before := map[string]float64{} // of lives before
	for m.process.Alive() {
		select {
		case <-m.process.Ended:
			continue
		case <-ctx.Done():
			m.process.Kill()
			continue
		case <-time.After(300 * time.Millisecond):
		}
		if d, err := healthy(m.pages); err == nil {
			o.slowest = max(o.slowest, d)
		} else if !errors.Is(err, syscall.ECONNREFUSED) { // else it ends, and waits for a bucket maybe
			o.deafened++
			fmt.Fprintf(os.Stderr, "%s: %v: %v\n", o.name, time.Now().UTC().Format(time.TimeOnly), err)
		}
		o.peak = max(o.peak, peakOf(m.process.Cmd.Process.Pid))
		if figures, err := farm.Scrape(m.pages); err == nil {
			for name, n := range figures {
				if kind, ok := strings.CutPrefix(name, `amazons_master_worker_offences_total{kind="`); ok {
					kind = strings.TrimSuffix(kind, `"}`)
					offences[kind] = max(offences[kind], before[kind]+n)
				}
			}
			o.takenBack = max(o.takenBack, figures["amazons_master_retracted_facts_total"])
			o.masterCPU = max(o.masterCPU, figures["process_cpu_seconds_total"])
		}
		if m.due != nil && m.due() && m.process.Alive() {
			m.process.Kill()
			o.killed++
			maps.Copy(before, offences)
			if err := m.start(ctx); err != nil {
				fmt.Fprintf(m.log, "start again: %v\n", err)
				break
			}
		}
	}
	<-m.process.Ended
	o.code = m.process.Cmd.ProcessState.ExitCode()
	for kind, n := range offences {
		if n > 0 {
			o.offences = append(o.offences, fmt.Sprintf("%s:%.0f", kind, n))
		}
	}
	slices.Sort(o.offences)
	o.answer = m.answer()
}

// answer reads what the master has printed.
func (m *served) answer() (a answer) {
	data, _ := os.ReadFile(m.out.Name())
	text := string(data)
	for _, who := range []string{"first", "second"} {
		if strings.Contains(text, "the "+who+" player wins") {
			a.Winner = who
		}
	}
	a.Verified = strings.Contains(text, "verified       yes")
	if strings.Contains(text, "verified       by workers") { // this machine's own checker has the last word
		a.Verified = exec.Command(m.master, "verify", filepath.Join(m.folder, "farm.proof")).Run() == nil
	}
	if _, after, ok := strings.Cut(text, "\nnodes"); ok {
		_, _ = fmt.Sscan(after, &a.Nodes)
	}
	return a
}

// quarantines reads in the log who was sent away.
func (m *served) quarantines() (names []string, err error) {
	data, err := os.ReadFile(m.log.Name())
	for line := range strings.Lines(string(data)) {
		if _, after, ok := strings.Cut(line, "level=ERROR msg=quarantined party="); ok {
			_, after, _ = strings.Cut(after, " worker=")
			if name := strings.TrimSpace(after); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// peakOf returns the most memory that a process has had, in bytes.
func peakOf(pid int) int64 {
	var status procfs.ProcStatus
	if p, err := procfs.NewProc(pid); err == nil {
		status, _ = p.NewStatus()
	}
	return int64(status.VmHWM)
}
