package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	campaigns "amazonsfarm/master/campaign"
	"amazonsfarm/master/store"
	"amazonsfarm/scripts/lab/farm"
)

const (
	// patience is how long the next trouble waits for messages that do not come.
	patience = 2 * time.Second
	// again is the time after which a process that ended by itself is started again, as a service is.
	again = 500 * time.Millisecond
	// restarts is how often a master may end by itself and be started again, until the run counts
	// as stopped.
	restarts = 20
	// limit is the time without an acknowledgement or an end after which a campaign counts as hanging.
	limit = 2 * time.Minute
	// farewell is how long workers have to end once the master has.
	farewell = 15 * time.Second
)

// programs are the files of what runs.
type programs struct{ master, worker, checker string }

// result is how a run ended.
type result struct {
	plan
	wrong   error    // nil: nothing is
	stopped string   // the last words of a master that ends whenever it is started; empty: the campaign was solved
	answers []string // of the campaigns
	seconds float64
	done    map[kind]int // troubles
	masters int          // kills of the master
	skipped int          // because the campaign was over, or there is no small disk
	pauses  int          // of a master for want of room
	facts   []int        // acknowledged, of each campaign
	certs   []int
	counts  counts
	ends    []string // of processes that ended by themselves, with their last words
}

func (r *result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: ", r.Seed, strings.Join(r.campaigns(), " and "))
	switch {
	case r.wrong != nil:
		fmt.Fprintf(&b, "WRONG: %v", r.wrong)
	case r.stopped != "":
		fmt.Fprintf(&b, "stopped: %s", r.stopped)
	default:
		fmt.Fprintf(&b, "the %s player wins, verified", strings.Join(r.answers, " and the "))
	}
	fmt.Fprintf(&b, "; %.1f s;", r.seconds)
	for k := range kinds {
		if n := r.done[k]; n > 0 {
			fmt.Fprintf(&b, " %d %v,", n, k)
		}
	}
	fmt.Fprintf(&b, " %d left out, %d pauses for want of room; of %d messages %d twice, %d again, %d old, %d late;",
		r.skipped, r.pauses, r.counts.sent.Load(), r.counts.twice.Load(), r.counts.again.Load(), r.counts.old.Load(),
		r.counts.late.Load())
	for i, board := range r.campaigns() {
		if i > 0 {
			b.WriteString(",")
		}
		if len(r.campaigns()) > 1 {
			fmt.Fprintf(&b, " %s:", board)
		}
		fmt.Fprintf(&b, " %d facts and %d certificates acknowledged", r.facts[i], r.certs[i])
	}
	for _, e := range r.ends {
		fmt.Fprintf(&b, "\n  %s", e)
	}
	return b.String()
}

// campaign is a run. It belongs to one goroutine.
type campaign struct {
	*result
	programs programs
	folder   string // for logs
	disk     string // for store and certificate
	small    bool   // the disk may be filled
	log      io.Writer

	began   time.Time
	exits   chan exit
	due     chan func()
	heard   chan struct{}
	ledger  *ledger
	filler  *filler
	master  *process
	workers [workers]*member
	second  store.Campaign // the one on Plan.Second, if there is one
	over    bool           // the master has ended with its answer
	stops   int            // of the master, by itself
}

// member is a worker and its way to the master.
type member struct {
	*process
	relay *relay
	wire  *wire
}

func (c *campaign) store() string { return filepath.Join(c.disk, "farm.db") }

// proofs are the files of the certificates of all campaigns.
func (c *campaign) proofs() []string {
	list := []string{filepath.Join(c.disk, "farm.proof")}
	if c.Second != "" {
		list = append(list, campaigns.ProofFileOf(c.store(), c.second))
	}
	return list
}

// make makes the store of two campaigns.
func (c *campaign) make() error {
	s, err := store.Create(c.store(), store.Campaign{Board: c.Board, Root: startOf(c.Board)},
		store.Options{MinFreeBytes: -1})
	if err != nil {
		return err
	}
	c.second, err = s.AddCampaign(store.Campaign{Board: c.Second, Root: startOf(c.Second), Priority: c.Above})
	return errors.Join(err, s.Close())
}

func (c *campaign) say(format string, args ...any) {
	fmt.Fprintf(c.log, "%7.3f "+format+"\n", append([]any{time.Since(c.began).Seconds()}, args...)...)
}

// after has something done by the campaign's goroutine in a while.
func (c *campaign) after(d time.Duration, f func()) { time.AfterFunc(d, func() { c.due <- f }) }

// run plays the plan and judges how it ended.
func (c *campaign) run() *result {
	c.began = time.Now()
	c.done = map[kind]int{}
	c.wrong = c.play()
	c.seconds = time.Since(c.began).Seconds()
	for i := range c.campaigns() {
		facts, certs := c.ledger.size(uint32(i + 1))
		c.facts, c.certs = append(c.facts, facts), append(c.certs, certs)
	}
	c.pauses = strings.Count(c.master.complaints(), "campaigns pause and go on by themselves")
	if c.wrong == nil {
		c.wrong = c.judge()
	}
	return c.result
}

func (c *campaign) play() error {
	fmt.Fprintln(c.log, c.plan)
	c.exits, c.due, c.heard = make(chan exit, 64), make(chan func(), 1024), make(chan struct{}, 1<<16)
	c.ledger = newLedger()
	c.filler = &filler{path: filepath.Join(c.disk, "filler")}
	defer os.Remove(c.filler.path)
	address, err := farm.FreeAddress()
	if err != nil {
		return err
	}
	if c.Second != "" {
		if err := c.make(); err != nil {
			return err
		}
	}
	settings := filepath.Join(c.disk, "settings.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "split-after: %d\n", 2*c.Budget), 0o600); err != nil {
		return err
	}
	c.master = c.process("master", c.programs.master, "serve", "--board", c.Board, "--store", c.store(), "--proof",
		c.proofs()[0], "--listen", address, "--initial-budget", strconv.FormatUint(c.Budget, 10), "--config", settings,
		"--min-free", strconv.FormatInt(c.MinFree, 10), "--log-level", "warn")
	defer c.end()
	if err := c.master.start(); err != nil {
		return err
	}
	for i := range c.workers {
		w := newWire()
		r, err := newRelay(c.plan, i+1, address, w, c.ledger, &c.counts, func() {
			select {
			case c.heard <- struct{}{}:
			default:
			}
		})
		if err != nil {
			return err
		}
		name := fmt.Sprintf("worker %d", i+1)
		c.workers[i] = &member{relay: r, wire: w, process: c.process(name, c.programs.worker, "run", "--master",
			r.address, "--cores", "1", "--table", "16MiB", "--name", fmt.Sprintf("w%d", i+1), "--log-level", "warn")}
		c.workers[i].reborn = func() {
			w.drop()
			r.reborn()
		}
		if err := c.workers[i].start(); err != nil {
			return err
		}
	}
	if err := c.loop(); err != nil || c.stopped != "" {
		return err
	}
	return c.encore()
}

func (c *campaign) process(name, program string, args ...string) *process {
	file := filepath.Join(c.folder, strings.ReplaceAll(name, " ", "-"))
	return &process{name: name, args: append([]string{program}, args...), out: file + ".out", err: file +
		".err", exits: c.exits}
}

// end ends all that still runs.
func (c *campaign) end() {
	running := 0
	for _, p := range c.all() {
		p.ended = true
		if p.cmd != nil {
			running++
			_ = p.cmd.Process.Kill()
		}
	}
	for running > 0 {
		select {
		case e := <-c.exits:
			e.process.cmd = nil
			running--
		case <-c.due:
		}
	}
	for _, m := range c.workers {
		if m != nil {
			m.wire.drop()
			m.relay.close()
		}
	}
}

func (c *campaign) all() (list []*process) {
	list = append(list, c.master)
	for _, m := range c.workers {
		if m != nil {
			list = append(list, m.process)
		}
	}
	return list
}

// loop brings one trouble after the other until the campaign is over.
func (c *campaign) loop() error {
	// Counted by a clock that stands still while we do: the machine may do something else.
	clock := time.NewTicker(time.Second)
	defer clock.Stop()
	idle, before := time.Duration(0), int64(0)
	wait := time.NewTimer(patience)
	defer wait.Stop()
	left, messages := c.List, 0
	var leave <-chan time.Time
	runs := func(m *member) bool { return m.cmd != nil } // and still may hear that all is over
	for {
		for len(left) > 0 && !c.over && messages >= left[0].After {
			if err := c.bring(left[0]); err != nil {
				return err
			}
			left, messages = left[1:], 0
			wait.Reset(patience)
		}
		if c.over && leave == nil {
			c.skipped += len(left)
			leave = time.After(farewell)
		}
		if c.over && !slices.ContainsFunc(c.workers[:], runs) {
			return nil
		}
		select {
		case <-c.heard:
			messages++
		case <-wait.C:
			if len(left) > 0 {
				messages = left[0].After
			}
		case f := <-c.due:
			f()
		case e := <-c.exits:
			if err := c.exited(e); err != nil {
				return err
			}
			if c.stopped != "" {
				return nil
			}
		case <-leave:
			for _, m := range c.workers {
				if m.cmd != nil {
					c.say("%s still looks for the master", m.name)
				}
			}
			return nil
		case <-clock.C:
			now := c.ledger.acks.Load()
			if idle += time.Second; now > before {
				idle, before = 0, now
			}
			if idle < limit {
				continue
			}
			c.hang()
			return fmt.Errorf("nothing was acknowledged for %v; store %v", limit, c.status())
		}
	}
}

// hang has all processes say what their goroutines do.
func (c *campaign) hang() {
	for _, p := range c.all() {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGQUIT)
	}
	time.Sleep(time.Second)
}

func (c *campaign) status() string {
	data, err := exec.Command(c.programs.master, "store", "info", c.store(), "--json").CombinedOutput()
	return strings.TrimSpace(fmt.Sprint(string(data), " ", err))
}

// bring brings a trouble and sees to its end.
func (c *campaign) bring(t trouble) error {
	if t.Kind == full && !c.small {
		c.skipped++
		return nil
	}
	c.say("%v", t)
	c.done[t.Kind]++
	p := c.master
	var m *member
	if t.Target > 0 {
		m = c.workers[t.Target-1]
		p = m.process
	}
	switch t.Kind {
	case kill:
		if p.signal(syscall.SIGKILL) {
			p.killed = true
			if t.Target == 0 {
				c.masters++
			}
			c.reviveAfter(t.For, p)
		}
	case stop:
		life := p.lives
		if p.signal(syscall.SIGSTOP) {
			c.after(t.For, func() {
				if p.lives == life {
					p.signal(syscall.SIGCONT)
				}
			})
		}
	case cut:
		m.relay.linger.Store(int64(t.Linger))
		m.wire.cut()
		c.after(t.For, func() { m.wire.heal(false) })
	case hold, lose:
		m.relay.linger.Store(int64(t.Linger))
		m.wire.hold(t.Up, t.Down)
		c.after(t.For, func() { m.wire.heal(t.Kind == lose) })
	case full:
		if err := c.filler.fill(t.Left); err != nil {
			return fmt.Errorf("fill the disk: %w", err)
		}
		c.after(t.For, func() {
			if err := c.filler.empty(); err != nil {
				c.say("make room: %v", err)
			}
		})
	}
	return nil
}

// reviveAfter starts a process again in a while, unless it was started meanwhile.
func (c *campaign) reviveAfter(d time.Duration, p *process) {
	life := p.lives
	c.after(d, func() { c.revive(p, life) })
}

// revive starts a process again that has had so many lives. Its end may not have been heard of yet.
func (c *campaign) revive(p *process, life int) {
	if p.lives != life || c.over {
		return
	}
	if p.cmd != nil {
		c.after(10*time.Millisecond, func() { c.revive(p, life) })
		return
	}
	c.say("%s starts again", p.name)
	if p.reborn != nil {
		p.reborn()
	}
	if err := p.start(); err != nil {
		c.say("%v", err)
	}
}
