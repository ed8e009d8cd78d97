package simulate

import (
	"container/heap"
	"time"
)

// queue holds what will happen, by virtual time; what happens at the same moment, in the order in
// which it was planned.
type queue struct {
	now    time.Duration
	serial uint64
	heap   planned
}

type happening struct {
	at     time.Duration
	serial uint64
	do     func() error
}

// at plans do for a moment that is not in the past.
func (q *queue) at(when time.Duration, do func() error) {
	q.serial++
	heap.Push(&q.heap, happening{max(when, q.now), q.serial, do})
}

// after plans do for a time from now.
func (q *queue) after(d time.Duration, do func() error) { q.at(q.now+d, do) }

// next lets the next thing happen; false if there is none.
func (q *queue) next() (bool, error) {
	if len(q.heap) == 0 {
		return false, nil
	}
	h := heap.Pop(&q.heap).(happening)
	q.now = h.at
	return true, h.do()
}

// planned is a heap with the earliest first.
type planned []happening

func (h planned) Len() int { return len(h) }
func (h planned) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}
func (h planned) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *planned) Push(x any)   { *h = append(*h, x.(happening)) }

// Pop clears the place that it leaves, so that what has happened can be collected.
func (h *planned) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = happening{}
	*h = old[:len(old)-1]
	return x
}
