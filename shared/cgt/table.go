package cgt

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ErrFull is wrapped by the error of a Table that would grow beyond its limit.
var ErrFull = errors.New("table of values full")

// ID is the number of a Value in a Table.
type ID uint32

// Table gives each distinct Value a number, from 0 up in the order in which they came. Id 0 is
// always the value of the game 0. A Table is safe for concurrent use; how ids come out then depends on
// who is first, so a file that shall be the same each time is written in the order of
// Sorted.
type Table struct {
	mu     sync.RWMutex
	limit  int
	ids    map[string]ID // by code
	values []Value
}

// DefaultTableLimit is the limit that NewTable takes for 0.
const DefaultTableLimit = 1 << 28

// NewTable returns a table that holds 0 and at most limit Values in all; a limit of 0 means
// DefaultTableLimit, others are taken to the range 1..2^32.
func NewTable(limit int) *Table {
	if limit == 0 {
		limit = DefaultTableLimit
	}
	return &Table{
		limit:  min(max(limit, 1), 1<<32),
		ids:    map[string]ID{"": 0},
		values: []Value{{}},
	}
}

// Len returns the number of Values.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.values)
}

// Value returns the Value with this id. It panics where the table did not give out the id.
func (t *Table) Value(id ID) Value {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.values[id]
}

// Values returns a copy of all Values in the order of their ids.
func (t *Table) Values() []Value {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Clone(t.values)
}

// Sorted returns all ids in the order of their Values' bytes, but 0, the value of the game 0, first.
func (t *Table) Sorted() []ID {
	values := t.Values()
	ids := make([]ID, len(values))
	for i := range ids {
		ids[i] = ID(i)
	}
	slices.SortFunc(ids[1:], func(a, b ID) int { return values[a].Compare(values[b]) })
	return ids
}

// Find returns the id of a Value that the table holds.
func (t *Table) Find(v Value) (ID, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	id, ok := t.ids[v.code]
	return id, ok
}

// Intern returns the id of a Value, which is new if the table did not hold it. The error wraps
// ErrFull.
func (t *Table) Intern(v Value) (ID, error) {
	if id, ok := t.Find(v); ok {
		return id, nil
	}
	return t.add(v)
}

func (t *Table) add(v Value) (ID, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.ids[v.code]; ok {
		return id, nil
	}
	if len(t.values) >= t.limit {
		return 0, fmt.Errorf("%w: limit %d", ErrFull, t.limit)
	}
	id := ID(len(t.values))
	t.values = append(t.values, v)
	t.ids[v.code] = id
	return id, nil
}

// Combine returns the id of the Value of the game whose options have these ids, interned;
// c lends its memory (one Combiner a goroutine). Options need not be distinct, but
// time is saved where they are. Errors wrap ErrOverflow or ErrFull; ids that the table did not
// give out make it panic.
func (t *Table) Combine(c *Combiner, left, right []ID) (ID, error) {
	c.options = c.options[:0]
	t.mu.RLock()
	for _, id := range left {
		c.options = append(c.options, t.values[id].code)
	}
	for _, id := range right {
		c.options = append(c.options, t.values[id].code)
	}
	t.mu.RUnlock()
	code, err := c.combine(c.options[:len(left)], c.options[len(left):])
	if err != nil {
		return 0, err
	}
	if string(code) == zeroCode {
		return 0, nil
	}
	t.mu.RLock()
	id, ok := t.ids[string(code)]
	t.mu.RUnlock()
	if ok {
		return id, nil
	}
	return t.add(valueOf(code))
}
