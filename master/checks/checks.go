// Package checks decides who checks which part of a proof, and for how long the others wait for it. It
// is a pure state machine: the loop tells it of parts, answers and ticks, and hands out what it assigns.
// A Queue has the parts, Answers those who wait for them, and Retracted what was taken back.
//
// A part is checked by a worker of another party than the one that made it; by any worker where one
// party owns all. A party that does not answer in time, or cannot check, is not asked again about
// that part, and rests for a while, longer each time. A part that an answer waits for and that no worker
// can check is the master's own.
//
// # Who checks, and what that is worth
//
// A part is checked by the very program that a stranger would use, so a check that says no is sure:
// the master repeats it, and the part is false. A check that says yes is worth as much as the party
// that says so. Three things keep that honest. Where there are several parties, the checker belongs
// to another one than the maker, so a lone liar cannot pass its own part; where nobody knows the maker
// any more, two parties have to say yes. The master repeats some of
// the checks that said yes, and a wrong yes is an offence. And a party that never answers rests, so
// it delays an answer once and not for ever.
package checks

import (
	"cmp"
	"container/list"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"amazonsfarm/master/trust"
	"amazonsfarm/shared/proof"
)

const (
	// atOnce is how many parts a worker has to check at a time: the second waits at the worker, which
	// begins it as soon as the first is done.
	atOnce = 2
	// patience and bytesPerTick say how long a worker may take for a part: half a minute, and a
	// second for each 16 KiB. With most parts the checker is 40 times faster on one core.
	patience, bytesPerTick = 30, 16 << 10
	// haste is how long an answer waits for the check of a part before somebody else is asked as well; for a
	// large part a quarter of the time for its bytes comes on top.
	haste = 5
	// sampleFirst is how many parts of each party are checked at once.
	sampleFirst = 3
	// sampleOneIn is the share of the others that are: some percent of what an answer needs.
	sampleOneIn = 32
	// spotFirst is how many parts the master checks again of those that a doubted party says to hold,
	// and spotOneIn the share of the others: a check costs a third of the search, so this is half a
	// percent of the farm's work.
	spotFirst, spotOneIn = 3, 64
	// maxSamples bounds the parts that wait for a check that no answer needs, and maxPartySamples those
	// of one party; more are not sampled.
	maxSamples, maxPartySamples = 4096, 256
	// maxMakers bounds the parts whose makers are remembered, some 200 bytes each. Of the others a
	// false one is taken back all the same.
	maxMakers = 1 << 20
	// maxOwn is how many parts that no worker can check now the master takes for itself: it checks one at a time, and
	// the others may find a worker before their turn.
	maxOwn = 2
	// maxLooks bounds the parts that the master considers for itself while all workers are busy. Later parts wait.
	maxLooks = 1024
	// firstRest is how long a party rests that failed to check a part; twice as long each time, up
	// to lastRest: an hour.
	firstRest, lastRest = 60, 3600
	// returnRest is how long a party rests that could not fetch a part, the first time: the master may
	// be full, or the bucket away, which passes in seconds.
	returnRest = 5
)

// Maker is who brought a part.
type Maker struct {
	Party           trust.Party
	Worker, Address string
	Part            Part
	At              time.Time // when it came
	Early           bool      // it may be of a time that the store does not know
}

// Worker is somebody who may check parts.
type Worker struct {
	Name  string
	Party trust.Party
	busy  int // parts that it has to check
}

// Part is a part that is to be checked.
type Part struct {
	Campaign uint32
	ID       proof.ID
	Size     int64
}

// alone ends the name of the checker of a part, if no other party was there: it may have made the part itself.
const alone = ", alone in the farm"

// WasAlone reports whether the checker of a part may have made it: no other party was there.
func WasAlone(by string) bool { return strings.HasSuffix(by, alone) }

// Task is a part for a worker; for the master where it is nil.
type Task struct {
	Part
	By *Worker
}

// check is a part that is to be checked, or is.
type check struct {
	Part
	sample bool // no answer waits for it
	by     []turn
	own    bool                 // the master checks it
	tried  map[trust.Party]bool // failed to, or has said that it holds
	said   bool                 // a party has said that it holds, and may have made it
	at     *list.Element        // of the order
}

// turn is a worker's check of a part.
type turn struct {
	by    *Worker
	since int // tick
}

// record is what is known of a party that checks.
type record struct {
	made    int // parts
	samples int // of these, waiting for a check that no answer needs
	held    int // times that it said that a part holds
	failed  int // in a row
	rests   int // until this tick
}

// Queue holds the parts that wait for a check.
type Queue struct {
	seed    maphash.Seed
	now     int
	makers  map[proof.ID]Maker
	parties map[trust.Party]*record
	checks  map[proof.ID]*check
	order   list.List // of checks, oldest first; there may be a million
	samples int       // checks that no answer waits for
	own     int       // checks that the master makes itself
	owed    []debt    // checks that nobody needs any more, whose workers are at them still
	alone   bool      // no second party was there when checks were last handed out
	rests   int       // until this tick the master takes no part by itself
}

// debt is a check that a worker has not answered.
type debt struct {
	Part
	turn
}

// late reports whether a worker has taken too long.
func (d debt) late(now int) bool { return now-d.since > patience+int(d.Size/bytesPerTick) }

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	return &Queue{seed: maphash.MakeSeed(), makers: map[proof.ID]Maker{}, parties: map[trust.Party]*record{},
		checks: map[proof.ID]*check{}}
}

// maxRecords bounds the parties that are remembered here: beyond it all are forgotten.
const maxRecords = 1 << 16

// of returns the record of a party, a new one where there is none. Forgetting all of them where
// there are too many costs some samples: the first parts of each party are checked again.
func (q *Queue) of(p trust.Party) *record {
	r := q.parties[p]
	if r == nil {
		if len(q.parties) >= maxRecords {
			clear(q.parties)
		}
		r = new(record)
		q.parties[p] = r
	}
	return r
}

// Delivered notes who made a part. Some parts are checked although no answer needs them. A part that the
// master has checked already is not checked again.
func (q *Queue) Delivered(m Maker, checked bool) {
	p := m.Part
	if _, known := q.makers[p.ID]; known {
		return
	}
	r := q.of(m.Party)
	r.made++
	if checked {
		return
	}
	if len(q.makers) < maxMakers {
		q.makers[p.ID] = m
	}
	sampled := r.made <= sampleFirst || maphash.Bytes(q.seed, p.ID[:])%sampleOneIn == 0
	if sampled && q.samples < maxSamples && r.samples < maxPartySamples {
		q.want(p, true)
	}
}

// Maker returns who made a part that nobody has checked.
func (q *Queue) Maker(id proof.ID) (Maker, bool) {
	m, ok := q.makers[id]
	return m, ok
}

// Want has a part checked for which an answer waits.
func (q *Queue) Want(p Part) { q.want(p, false) }

// WantAll has all parts of a party checked that nobody has checked.
func (q *Queue) WantAll(of trust.Party) {
	for _, m := range q.makers {
		if m.Party == of {
			q.want(m.Part, false)
		}
	}
}

// Doubt puts a part among those to be checked, and reports whether the master has yet to take it for its own.
func (q *Queue) Doubt(p Part) bool {
	q.want(p, false)
	return !q.checks[p.ID].own
}

// want puts a part among those to be checked. A sample for which an answer comes to wait is a
// sample no more: it goes before the others, and two workers may be asked.
func (q *Queue) want(p Part, sample bool) {
	c := q.checks[p.ID]
	if c == nil {
		c = &check{Part: p, sample: sample, tried: map[trust.Party]bool{}}
		q.checks[p.ID] = c
		c.at = q.order.PushBack(c)
		q.sampled(c, 1)
	} else if c.sample && !sample {
		q.sampled(c, -1)
		c.sample = false
	}
}

// sampled counts a check that no answer needs.
func (q *Queue) sampled(c *check, n int) {
	if m, ok := q.makers[c.ID]; c.sample {
		if q.samples += n; ok {
			q.of(m.Party).samples += n
		}
	}
}

// Done takes a part out: it was checked, or is gone.
func (q *Queue) Done(id proof.ID) {
	if c := q.checks[id]; c != nil {
		q.sampled(c, -1)
		q.owns(c, false)
		delete(q.checks, id)
		for _, t := range c.by {
			q.owed = append(q.owed, debt{c.Part, t})
		}
		c.by = nil
		q.order.Remove(c.at)
	}
	delete(q.makers, id)
}

// Wanted reports whether a part is to be checked.
func (q *Queue) Wanted(id proof.ID) bool { return q.checks[id] != nil }

// bench has the workers of a party that can take a part, those with the fewest first.
type bench struct {
	party trust.Party
	free  []*Worker
}

// take returns the first worker, with one more part to check.
func (b *bench) take() *Worker {
	w := b.free[0]
	b.free = b.free[1:]
	if w.busy++; w.busy < atOnce {
		b.free = append(b.free, w)
	}
	return w
}

// benches groups workers by party. Parties with the least busy workers come first.
func benches(present []*Worker) (all []*bench) {
	of := map[trust.Party]*bench{}
	for _, w := range slices.SortedFunc(slices.Values(present), func(a, b *Worker) int {
		return cmp.Or(cmp.Compare(a.busy, b.busy), cmp.Compare(a.Name, b.Name))
	}) {
		b := of[w.Party]
		if b == nil {
			b = &bench{party: w.Party}
			of[w.Party], all = b, append(all, b)
		}
		if w.busy < atOnce {
			b.free = append(b.free, w)
		}
	}
	return all
}

// able returns the parties with a worker that can take a part.
func able(list []*bench) []*bench {
	return slices.DeleteFunc(slices.Clone(list), func(b *bench) bool { return len(b.free) == 0 })
}

// Assign hands out checks: those that an answer waits for first, each to one of another party than its
// maker's, if there is another. present are all workers that are there.
func (q *Queue) Assign(present []*Worker) (tasks []Task) {
	all := benches(present)
	parties, free := len(all), able(all)
	// Two passes: parts for which an answer waits, and then samples. A sample is worth something
	// only if another party looks at it, so it waits where one party owns all workers. A part that
	// an answer waits for does not: then any worker will do, and the master takes it where none
	// can.
	looked := 0
	q.alone = parties < 2
	for _, sample := range []bool{false, true} {
		if sample && (q.alone || q.samples == 0) {
			break
		}
		for at := q.order.Front(); at != nil; at = at.Next() {
			c := at.Value.(*check)
			if c.sample != sample || c.own || !q.open(c) {
				continue
			}
			if b := q.best(c, free, parties); b != nil {
				w := b.take()
				c.by = append(c.by, turn{w, q.now})
				tasks = append(tasks, Task{c.Part, w})
				free = able(free)
				continue
			}
			if looked++; len(free) == 0 && (q.own >= maxOwn || looked > maxLooks) {
				break
			}
			if !sample && parties > 0 && q.own < maxOwn && q.rests <= q.now && !q.hopeful(c, all) {
				q.owns(c, true)
				tasks = append(tasks, Task{c.Part, nil})
			}
		}
	}
	return tasks
}

// Parties returns how many parties workers are of.
func Parties(of []*Worker) int { return len(benches(of)) }

// open reports whether one more worker is to be asked: nobody was, or an answer waits for too long.
func (q *Queue) open(c *check) bool {
	return len(c.by) == 0 || len(c.by) == 1 && !c.sample && q.now-c.by[0].since > haste+int(c.Size/bytesPerTick/4)
}

// may reports whether workers of a party may check a part, where there are so many parties.
func (q *Queue) may(c *check, p trust.Party, parties int) bool {
	m, known := q.makers[c.ID]
	return (!known || parties == 1 || m.Party != p) && !c.tried[p] && q.of(p).rests <= q.now &&
		!slices.ContainsFunc(c.by, func(t turn) bool { return t.by.Party == p })
}

// best returns the party with the least busy worker among the parties that may check a part, nil if there is none. It
// stops at the first worker that has nothing to check.
func (q *Queue) best(c *check, free []*bench, parties int) (best *bench) {
	for _, b := range free {
		if (best == nil || b.free[0].busy < best.free[0].busy) && q.may(c, b.party, parties) {
			if best = b; b.free[0].busy == 0 {
				break
			}
		}
	}
	return best
}

// hopeful reports whether a worker will come to a part: one that is busy with others now.
func (q *Queue) hopeful(c *check, all []*bench) bool {
	return slices.ContainsFunc(all, func(b *bench) bool { return q.may(c, b.party, len(all)) })
}

// Answered notes that a worker has answered, and returns the part that it was asked for. counts says whether the
// answer does: the worker was asked, and the master is not at the part itself.
func (q *Queue) Answered(w *Worker, id proof.ID) (p Part, counts bool) {
	c := q.checks[id]
	if c == nil {
		q.owed = slices.DeleteFunc(q.owed, func(d debt) bool {
			if d.ID == id && d.by == w {
				w.busy--
			}
			return d.ID == id && d.by == w
		})
		return p, false
	}
	i := slices.IndexFunc(c.by, func(t turn) bool { return t.by == w })
	if i < 0 {
		return p, false
	}
	c.by = slices.Delete(c.by, i, i+1)
	w.busy--
	return c.Part, !c.own
}

// Holds notes that a party says that a part holds, and reports whether the master is to check it again: some
// by lot, and the first of a party that is doubted.
func (q *Queue) Holds(p trust.Party, id proof.ID, doubted bool) (again bool) {
	r := q.of(p)
	r.failed = 0
	r.held++
	return doubted && r.held <= spotFirst || maphash.Bytes(q.seed, append(id[:], 1))%spotOneIn == 0
}

// Vouched notes that a part holds by the word of a party, and returns the name of the checker for the store. The name
// is empty if one more party has to be asked: the maker of the part is unknown, and may be this party.
func (q *Queue) Vouched(p trust.Party, id proof.ID) (by string) {
	m, known := q.makers[id]
	c := q.checks[id]
	switch {
	case q.alone:
		return p.String() + alone
	case known && m.Party != p, c == nil, !known && c.said:
		return p.String()
	}
	c.said, c.tried[p] = !known, true
	return ""
}

// Own notes that the master itself checks a part now.
func (q *Queue) Own(id proof.ID) {
	if c := q.checks[id]; c != nil {
		q.owns(c, true)
	}
}

// owns notes whether a part is the master's own.
func (q *Queue) owns(c *check, own bool) {
	if c.own != own {
		c.own = own
		if own {
			q.own++
		} else {
			q.own--
		}
	}
}

// Owned notes that the master could not check a part, which goes to workers again. The master rests a little: the
// bucket may be away.
func (q *Queue) Owned(id proof.ID) {
	q.rests = q.now + returnRest
	if c := q.checks[id]; c != nil {
		q.owns(c, false)
		clear(c.tried)
	}
}

// Failed notes that a party could not check a part, and is not asked about it again. Where it has handed the
// part back, since it could not fetch it in time, it only rests a little.
func (q *Queue) Failed(p trust.Party, id proof.ID, returned bool) {
	first := firstRest
	if returned {
		first = returnRest
	} else if c := q.checks[id]; c != nil {
		c.tried[p] = true
	}
	r := q.of(p)
	r.rests = q.now + min(first<<min(r.failed, 10), lastRest)
	r.failed++
}

// Tick lets a heartbeat pass. Workers that are gone, or took too long, have the parts no more.
func (q *Queue) Tick(gone func(*Worker) bool) {
	q.now++
	over := func(d debt) bool {
		late := d.late(q.now)
		if late {
			q.Failed(d.by.Party, d.ID, false)
		}
		if late || gone(d.by) {
			d.by.busy--
			return true
		}
		return false
	}
	for at := q.order.Front(); at != nil; at = at.Next() {
		c := at.Value.(*check)
		c.by = slices.DeleteFunc(c.by, func(t turn) bool { return over(debt{c.Part, t}) })
	}
	q.owed = slices.DeleteFunc(q.owed, over)
}
