package simulate

import (
	"cmp"
	"slices"
	"time"
)

// queue is virtual time and what happens in it.
type queue struct {
	now  time.Duration
	plan []happening // the next one last; of those at one time, the one that was planned first
}

type happening struct {
	at time.Duration
	do func() error
}

// at plans do for a moment that is not in the past.
func (q *queue) at(when time.Duration, do func() error) {
	h := happening{max(when, q.now), do}
	i, _ := slices.BinarySearchFunc(q.plan, h.at, func(o happening, at time.Duration) int {
		return cmp.Compare(at, o.at)
	})
	q.plan = slices.Insert(q.plan, i, h)
}

// after plans do for a time from now.
func (q *queue) after(d time.Duration, do func() error) { q.at(q.now+d, do) }

// next lets the next thing happen. There is one: each tick plans another.
func (q *queue) next() error {
	last := len(q.plan) - 1
	h := q.plan[last]
	q.plan = slices.Delete(q.plan, last, last+1)
	q.now = h.at
	return h.do()
}
