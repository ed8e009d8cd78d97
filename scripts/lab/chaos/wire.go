package main

import (
	"net"
	"sync"
)

// wire is the network between one worker and its master: it can be cut, and what is sent on it can
// be held.
type wire struct {
	mu       sync.Mutex
	changed  *sync.Cond
	isCut    bool
	up, down bool // held: from the worker, to the worker
	open     map[*wired]bool
}

func newWire() *wire {
	w := &wire{open: map[*wired]bool{}}
	w.changed = sync.NewCond(&w.mu)
	return w
}

// cut closes all connections; new ones are closed at once until heal.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isCut = true
	w.closeAll()
}

// closeAll is called with the lock held.
func (w *wire) closeAll() {
	for c := range w.open {
		c.gone = true
		c.Conn.Close()
	}
	clear(w.open)
	w.changed.Broadcast()
}

// hold lets what is sent stand still, one way or both, until heal.
func (w *wire) hold(up, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up, w.down = w.up || up, w.down || down
}

// heal ends a cut and what is held. With drop, what is held is lost with its connections.
func (w *wire) heal(drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if drop {
		w.closeAll()
	}
	w.isCut, w.up, w.down = false, false, false
	w.changed.Broadcast()
}

// drop closes the connections that are open now.
func (w *wire) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closeAll()
}

// wiredListener is a listener whose connections go over a wire.
type wiredListener struct {
	net.Listener
	wire *wire
}

func (l wiredListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		w := l.wire
		w.mu.Lock()
		if w.isCut {
			w.mu.Unlock()
			c.Close()
			continue
		}
		end := &wired{Conn: c, wire: w}
		w.open[end] = true
		w.mu.Unlock()
		return end, nil
	}
}

// wired is one connection of a worker.
type wired struct {
	net.Conn
	wire *wire
	gone bool // guarded by wire.mu
}

// pass waits while what goes one way is held, and returns false if the connection is gone.
func (c *wired) pass(held *bool) bool {
	w := c.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	for *held && !c.gone {
		w.changed.Wait()
	}
	return !c.gone
}

func (c *wired) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.pass(&c.wire.up) {
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *wired) Write(p []byte) (int, error) {
	if !c.pass(&c.wire.down) {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

func (c *wired) Close() error {
	w := c.wire
	w.mu.Lock()
	c.gone = true
	delete(w.open, c)
	w.changed.Broadcast()
	w.mu.Unlock()
	return c.Conn.Close()
}
