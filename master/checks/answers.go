package checks

import (
	"slices"

	"amazonsfarm/shared/proof"
)

// lonelyTicks is how long an answer waits for any worker before the master checks by itself.
const lonelyTicks = 30

// Answer waits for the checks of its parts.
type Answer struct {
	Done     chan error // one word: nil once all of them hold, or ErrLonely, or ErrRetracted
	pool     uint32
	left     map[proof.ID]bool
	all      int
	lonely   int // ticks without a worker
	progress func(done, all int)
}

// NewAnswer makes an answer that waits for parts. progress must not wait.
func NewAnswer(parts []Part, progress func(done, all int)) *Answer {
	a := &Answer{Done: make(chan error, 1), left: map[proof.ID]bool{}, all: len(parts), progress: progress}
	for _, p := range parts {
		a.left[p.ID] = true
	}
	return a
}

// Answers are all that wait.
type Answers struct{ list []*Answer }

// Add has an answer of a pool wait.
func (l *Answers) Add(a *Answer, pool uint32) {
	a.pool = pool
	l.list = append(l.list, a)
}

// Waiting says whether an answer waits for workers.
func (l *Answers) Waiting() bool { return len(l.list) > 0 }

// end sends a word to all answers that are over, and forgets them.
func (l *Answers) end(word error, over func(*Answer) bool) {
	l.list = slices.DeleteFunc(l.list, func(a *Answer) bool {
		now := over(a)
		if now {
			a.Done <- word
		}
		return now
	})
}

// Holds says that a part holds.
func (l *Answers) Holds(id proof.ID) {
	l.end(nil, func(a *Answer) bool {
		if !a.left[id] {
			return false
		}
		delete(a.left, id)
		a.progress(a.all-len(a.left), a.all)
		return len(a.left) == 0
	})
}

// Tick lets a heartbeat pass. present says whether there are workers.
func (l *Answers) Tick(present bool) {
	l.end(ErrLonely, func(a *Answer) bool {
		if a.lonely++; present {
			a.lonely = 0
		}
		return a.lonely > lonelyTicks
	})
}

// Gone says that a part was taken back before an answer came to wait for it.
func (l *Answers) Gone(id proof.ID) {
	l.end(ErrRetracted, func(a *Answer) bool { return a.left[id] })
}

// Retracted says that facts of a pool were taken back.
func (l *Answers) Retracted(pool uint32) {
	l.end(ErrRetracted, func(a *Answer) bool { return a.pool == pool })
}
