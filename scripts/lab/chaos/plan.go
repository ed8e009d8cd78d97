package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// workers is the number of workers of a campaign.
const workers = 3

// kind is what a trouble does.
type kind int

const (
	kill  kind = iota // SIGKILL; the process is started again after the time
	stop              // SIGSTOP; SIGCONT after the time
	cut               // a worker's connections are closed, and none come about for the time
	hold              // what is sent on a worker's connections stands still for the time
	lose              // the same, and then they are closed, so that it never arrives
	full              // the disk of store and certificate fills up; there is room again after the time
	kinds             // how many there are
)

var kindNames = [kinds]string{"kill", "stop", "cut", "hold", "lose", "full disk"}

func (k kind) String() string { return kindNames[k] }

// trouble is one of them.
type trouble struct {
	After  int           // messages of workers since the trouble before
	Kind   kind          // what happens
	Target int           // whom: 0 the master, else a worker, with its number
	For    time.Duration // until it is over
	Up     bool          // hold and lose: what the worker sends
	Down   bool          // and what is sent to it
	Linger time.Duration // cut and lose: the master sees the old connection for so much longer
	Left   int64         // full: bytes that are left free at first
}

func (t trouble) String() string {
	whom := "master"
	if t.Target > 0 {
		whom = fmt.Sprintf("worker %d", t.Target)
	}
	switch t.Kind {
	case cut:
		return fmt.Sprintf("after %d: cut %s for %v, seen %v later", t.After, whom, t.For, t.Linger)
	case hold, lose:
		way := map[[2]bool]string{{true, false}: "up", {false, true}: "down",
			{true, true}: "both ways"}[[2]bool{t.Up, t.Down}]
		return fmt.Sprintf("after %d: %v %s %s for %v, seen %v later", t.After, t.Kind, whom, way, t.For, t.Linger)
	case full:
		return fmt.Sprintf("after %d: full disk but for %d bytes for %v", t.After, t.Left, t.For)
	}
	return fmt.Sprintf("after %d: %v %s for %v", t.After, t.Kind, whom, t.For)
}

// noise is what happens to single messages on their way, in both directions; of a thousand each.
type noise struct {
	Twice int           // sent twice, one right after the other
	Again int           // sent once more later, after others
	Old   int           // before it comes one of the worker's latest messages again, perhaps of a connection before
	Late  int           // held up, with all that follow
	Most  time.Duration // for so long at most
}

func (n noise) String() string {
	return fmt.Sprintf("of 1000 messages %d twice, %d again later, %d after an old one, %d late by up to %v", n.Twice,
		n.Again, n.Old, n.Late, n.Most)
}

// plan is all that a seed decides.
type plan struct {
	Seed    uint64
	Board   string
	Second  string // board of another campaign in the same store; empty: there is none
	Above   int    // its priority; that of the first is 0
	Budget  uint64 // nodes of the first lease of a position
	MinFree int64  // what the master leaves free on its disk
	Noise   noise
	List    []trouble
	Encores []encore
}

// encore starts the master of a solved campaign once more, to see it conclude again.
type encore struct {
	Remove bool // the certificate is gone
	Full   bool // the disk is full, for the time; else the master is killed after it
	For    time.Duration
}

func (e encore) String() string {
	text := "again"
	if e.Remove {
		text += " without the certificate"
	}
	if e.Full {
		return text + fmt.Sprintf(" on a full disk for %v", e.For)
	}
	return text + fmt.Sprintf(", killed after %v", e.For)
}

// boards are those with a known winner that are small enough, and how small leases have to be for
// the campaign to take hundreds of them.
var boards = map[string]struct {
	winner string
	budget uint64
}{
	"4x5": {"second", 200},
	"5x5": {"first", 40},
}

// known are the names of boards, in order, two of them.
var known = []string{"4x5", "5x5"}

// often are the kinds as often as they come.
var often = []kind{kill, kill, kill, stop, stop, cut, hold, lose, full}

// draw makes the plan of a seed. The same seed and board give the same plan.
func draw(seed uint64, board string) plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := plan{Seed: seed, Board: known[r.IntN(len(known))]}
	if board != "" {
		p.Board = board
	}
	p.Budget = boards[p.Board].budget * uint64(1+r.IntN(3))
	p.MinFree = [...]int64{1, 4 << 20}[r.IntN(2)]
	p.Noise = noise{
		Twice: [...]int{0, 20, 100}[r.IntN(3)],
		Again: [...]int{0, 20, 100}[r.IntN(3)],
		Old:   [...]int{0, 10, 50}[r.IntN(3)],
		Late:  [...]int{20, 100, 300}[r.IntN(3)],
		Most:  [...]time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 1500 * time.Millisecond}[r.IntN(3)],
	}
	if p.Noise.Most > time.Second { // else nothing else happens
		p.Noise.Late /= 10
	}
	milliseconds := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Millisecond }
	for range 6 + r.IntN(9) {
		t := trouble{After: 1 + r.IntN(60), Kind: often[r.IntN(len(often))], Target: 1 +
			r.IntN(workers), For: milliseconds(2500)}
		if r.IntN(4) == 0 { // at once after the one before
			t.After = 0
		}
		long, whom := r.IntN(4) == 0, r.IntN(2)
		linger, left, ways := milliseconds(1500), int64(r.IntN(2_000_000)), 1+r.IntN(3)
		if long { // leases expire
			t.For += 2 * time.Second
		}
		switch t.Kind {
		case kill, stop:
			if whom == 0 {
				t.Target = 0
			}
		case cut:
			t.Linger = linger
		case hold, lose:
			t.Up, t.Down = ways&1 != 0, ways&2 != 0
			if t.Kind == lose {
				t.Linger = linger
			}
		case full:
			t.Target, t.Left = 0, left
		}
		p.List = append(p.List, t)
	}
	// In each run the master dies at least once.
	if !slices.ContainsFunc(p.List, func(t trouble) bool { return t.Kind == kill && t.Target == 0 }) {
		at := &p.List[r.IntN(len(p.List))]
		*at = trouble{After: at.After, Kind: kill, For: milliseconds(2500)}
	}
	for range r.IntN(4) {
		p.Encores = append(p.Encores, encore{Remove: r.IntN(4) > 0, Full: r.IntN(4) == 0, For: milliseconds(1500)})
	}
	if seed%3 == 0 {
		p.Second, p.Above = known[1-slices.Index(known, p.Board)], r.IntN(3)-1
	}
	return p
}

// campaigns are the boards of the campaigns in the store, by number.
func (p plan) campaigns() []string {
	if p.Second == "" {
		return []string{p.Board}
	}
	return []string{p.Board, p.Second}
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s, leases of %d nodes at first, %d bytes of the disk stay free; %v", p.Seed,
		strings.Join(p.campaigns(), " and "), p.Budget, p.MinFree, p.Noise)
	if p.Second != "" {
		fmt.Fprintf(&b, "\n  %s has the priority %d", p.Second, p.Above)
	}
	for _, t := range p.List {
		fmt.Fprintf(&b, "\n  %v", t)
	}
	for _, e := range p.Encores {
		fmt.Fprintf(&b, "\n  %v", e)
	}
	return b.String()
}

// dice decides on the messages of one worker in one direction; the same for the same seed.
type dice struct {
	random *rand.Rand
	noise  noise
}

func newDice(seed uint64, worker, direction int, n noise) *dice {
	return &dice{rand.New(rand.NewPCG(seed, uint64(1+2*worker+direction))), n}
}

// fate is what happens to one message.
type fate struct {
	late         time.Duration // 0: it is not held up
	twice, again bool
	later        time.Duration // of again
	old          int           // 0: no; else which of the latest ones comes again, from 1
}

// throw decides on the next message. It takes the same number of draws each time.
func (d *dice) throw() fate {
	of := func(part int) bool { return d.random.IntN(1000) < part }
	late, twice, again, old := of(d.noise.Late), of(d.noise.Twice), of(d.noise.Again), of(d.noise.Old)
	f := fate{twice: twice, again: again, late: time.Duration(d.random.Int64N(int64(d.noise.Most))), old: 1 +
		d.random.IntN(remembered)}
	f.later = time.Duration(d.random.Int64N(int64(2 * time.Second)))
	if !late {
		f.late = 0
	}
	if !old {
		f.old = 0
	}
	return f
}
