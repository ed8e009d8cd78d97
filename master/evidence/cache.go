package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"amazonsfarm/shared/proof"
)

const (
	// maxOpen is the number of parts that a cache keeps open: each is a file of the process.
	maxOpen = 64
	// maxWhole is the number of parts that a cache remembers as whole, at 50 bytes each. Beyond
	// that it reads them again.
	maxWhole = 1 << 18
)

// Cache reads parts of a store. It reads a part whole before it answers from it, once in its life,
// and keeps some parts open. Any number of goroutines may call its methods at once.
type Cache struct {
	store  Store
	mu     sync.Mutex
	open   map[proof.ID]*opened
	whole  map[proof.ID]bool
	closed bool
}

// opened is an open part. The last of its users closes it, once it is out of the cache.
type opened struct {
	Object
	users int
	out   bool
}

// NewCache returns a cache for a store.
func NewCache(s Store) *Cache {
	return &Cache{store: s, open: map[proof.ID]*opened{}, whole: map[proof.ID]bool{}}
}

// Verify reads a part, unless that was done before. Errors: ErrMissing, ErrDamaged, ErrClosed, those
// of the store.
func (c *Cache) Verify(id proof.ID, size int64) error {
	c.mu.Lock()
	known, closed := c.whole[id], c.closed
	c.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if known {
		if found, ok, err := c.store.Has(id); err != nil || ok && found == size {
			return err
		}
		c.Forget(id)
	}
	_, err := c.ReadAt(id, size, nil, 0) // it opens the part, which reads it
	return err
}

// Known notes that a part is whole: it was just put.
func (c *Cache) Known(id proof.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.whole) >= maxWhole {
		clear(c.whole)
	}
	c.whole[id] = true
}

// Forget notes that a part has changed or is gone.
func (c *Cache) Forget(id proof.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.whole, id)
	if o := c.open[id]; o != nil {
		c.evict(id, o)
	}
}

// evict takes a part out of the cache. Its readers go on with the open file, and the last one
// closes it.
func (c *Cache) evict(id proof.ID, o *opened) {
	delete(c.open, id)
	if o.out = true; o.users == 0 {
		_ = o.Close() // it was only read
	}
}

// ReadAt reads from a part of the given size. Errors: ErrMissing, ErrDamaged, ErrClosed, io.EOF, those
// of the store.
func (c *Cache) ReadAt(id proof.ID, size int64, p []byte, at int64) (int, error) {
	o, err := c.use(id, size)
	if err != nil {
		return 0, err
	}
	n, err := o.ReadAt(p, at)
	c.mu.Lock()
	if o.users--; o.out && o.users == 0 {
		_ = o.Close()
	}
	c.mu.Unlock()
	if wanted := min(int64(len(p)), size-at); errors.Is(err, io.EOF) && int64(n) < wanted {
		return n, fmt.Errorf("%w: %s ends within its %d bytes", ErrDamaged, id.Name(), size)
	}
	return n, err
}

// use returns an open part, for one read.
func (c *Cache) use(id proof.ID, size int64) (*opened, error) {
	c.mu.Lock()
	o, err := c.held(id)
	c.mu.Unlock()
	if o != nil || err != nil {
		return o, err
	}
	file, err := c.store.Open(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	known := c.whole[id]
	c.mu.Unlock()
	if !known {
		if err := verify(context.Background(), file, id, size, nil); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		c.Known(id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o, err := c.held(id); o != nil || err != nil { // another reader was faster
		return o, errors.Join(err, file.Close())
	}
	for old, o := range c.open {
		if len(c.open) < maxOpen {
			break
		}
		c.evict(old, o)
	}
	o = &opened{Object: file, users: 1}
	c.open[id] = o
	return o, nil
}

// held returns a part that is open already, nil if it is not. The caller has the lock.
func (c *Cache) held(id proof.ID) (*opened, error) {
	if c.closed {
		return nil, ErrClosed
	}
	o := c.open[id]
	if o != nil {
		o.users++
	}
	return o, nil
}

// Close closes all parts; reads then fail with ErrClosed.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, o := range c.open {
		c.evict(id, o)
	}
}
