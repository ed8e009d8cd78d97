package access

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/peer"

	"amazonsfarm/shared/disk"
)

// Door is a listener that has at most so many connections open at a time. Those of strangers, which have not
// shown yet what they are here for, never keep others out: where no place is left, the oldest one of the
// address that has most of them makes room for the next. A stranger becomes known with its greeting in plain
// text, with a credential that is accepted, or with a whole request for a page.
type Door struct {
	net.Listener
	greets bool // the first bytes of a connection are a greeting in plain text
	most   int
	place  chan struct{} // a token for each open connection

	mu     sync.Mutex
	silent []*visitor // oldest first
}

// NewDoor returns a Door before a listener, with at least two places. Where it greets, a connection is known
// from its first bytes on.
func NewDoor(l net.Listener, most int, greets bool) *Door {
	return &Door{Listener: l, greets: greets, most: max(2, most), place: make(chan struct{}, max(2, most))}
}

// crowdedPause is how long a Door waits when the process has as many files open as it may have.
const crowdedPause = 50 * time.Millisecond

// Accept returns the next connection. It waits while there is no place, and no stranger who could make room.
func (d *Door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if disk.Crowded(err) && !errors.Is(err, net.ErrClosed) {
			// Not one file more can be opened. All strangers go, and known connections stay.
			d.evict(d.most)
			time.Sleep(crowdedPause)
			continue
		} else if err != nil {
			return nil, err
		}
		select {
		case d.place <- struct{}{}:
		default:
			// Closing a stranger frees its place at once. Where there is none, this waits until a known
			// connection ends.
			d.evict(1)
			d.place <- struct{}{}
		}
		v := &visitor{Conn: conn, door: d, wasted: rate.NewLimiter(wastedPerSecond, wastedAtOnce)}
		v.host, _, _ = net.SplitHostPort(conn.RemoteAddr().String())
		v.estrange()
		return v, nil
	}
}

// evict closes the oldest connections of strangers, so many at most.
func (d *Door) evict(most int) {
	d.mu.Lock()
	gone := slices.Clone(d.silent[:min(len(d.silent), most)])
	if most == 1 && len(gone) == 1 {
		gone[0] = d.crowding()
	}
	d.mu.Unlock()
	// Close takes the lock itself.
	for _, v := range gone {
		v.Close()
	}
}

// crowding returns the oldest stranger of the address that has most of them: a flood from one address leaves
// those of others alone. The lock is held.
func (d *Door) crowding() (worst *visitor) {
	count := map[string]int{}
	for _, v := range d.silent {
		if count[v.host]++; worst == nil || count[v.host] > count[worst.host] {
			worst = v
		}
	}
	return d.silent[slices.IndexFunc(d.silent, func(v *visitor) bool { return v.host == worst.host })]
}

// visitor is an accepted connection.
type visitor struct {
	net.Conn
	host    string // its address without the port
	door    *Door
	greeted bool // of the reading goroutine
	wasted  *rate.Limiter
	gone    bool // under door.mu: it is closed, and no stranger again
	closed  sync.Once
	err     error
}

// greeting is the length of what a client of HTTP/2 sends first, in bytes.
const greeting = 24

// Read reads a greeting, or what follows it.
func (v *visitor) Read(p []byte) (int, error) {
	n, err := v.Conn.Read(p)
	if v.door.greets && !v.greeted && n >= greeting {
		v.greeted = true
		v.meet()
	}
	return n, err
}

// meet says that the other side is no stranger any more.
func (v *visitor) meet() {
	v.door.mu.Lock()
	defer v.door.mu.Unlock()
	v.forget()
}

// forget takes the visitor off the strangers. The lock is held.
func (v *visitor) forget() {
	v.door.silent = slices.DeleteFunc(v.door.silent, func(o *visitor) bool { return o == v })
}

// estrange says that the other side has to show again what it is here for. A request may be answered while
// its connection is closed to make room: then nothing would ever take the visitor off the strangers again.
func (v *visitor) estrange() {
	v.door.mu.Lock()
	defer v.door.mu.Unlock()
	if v.forget(); !v.gone {
		v.door.silent = append(v.door.silent, v)
	}
}

// Calls of one connection that come to nothing. gRPC queues an answer for each, which takes memory without
// a bound where they come faster than it writes. An honest worker has a few when its master is busy.
const (
	wastedPerSecond = 2
	wastedAtOnce    = 200
)

// Wasted counts a call that was refused unread, or was reset before its first message. It closes the call's
// connection after too many, and reports whether it did.
func Wasted(call context.Context) bool {
	v, ok := Connection(call).(*visitor)
	if !ok || v.wasted.Allow() {
		return false
	}
	_ = v.Close() // it is of no more use
	return true
}

// Connection returns what stands for the connection of a call, nil if it came by no Door.
func Connection(call context.Context) any {
	if p, ok := peer.FromContext(call); ok {
		if at, ok := p.Addr.(address); ok {
			return at.visitor
		}
	}
	return nil
}

// address is where a visitor comes from. Of a connection gRPC hands on nothing but its address.
type address struct {
	net.Addr
	visitor *visitor
}

// RemoteAddr returns where the visitor comes from.
func (v *visitor) RemoteAddr() net.Addr { return address{v.Conn.RemoteAddr(), v} }

// Close closes the connection, and makes room for the next.
func (v *visitor) Close() error {
	v.closed.Do(func() {
		v.err = v.Conn.Close()
		v.door.mu.Lock()
		v.gone = true
		v.forget()
		v.door.mu.Unlock()
		<-v.door.place
	})
	return v.err
}

// visitorOf returns the visitor below a connection, nil if it came by no Door.
func visitorOf(c net.Conn) *visitor {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	v, _ := c.(*visitor)
	return v
}

// connection is the key of a request's connection.
type connection struct{}

// Pages has a server of pages tell the Door before it which connections are known: those whose request is
// being answered.
// Browsers keep connections open between requests. Those are strangers again, and may make room for others.
func Pages(s *http.Server) {
	answer := s.Handler
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, c)
	}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connection{}).(net.Conn)
		if v := visitorOf(c); v != nil {
			v.meet()
		}
		answer.ServeHTTP(w, r)
	})
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if v := visitorOf(c); v != nil && state == http.StateIdle {
			v.estrange()
		}
	}
}
