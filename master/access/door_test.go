package access

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// TestDoor: connections that say nothing never keep out one that does, and those that speak stay.
func TestDoor(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := NewDoor(inner, 8, true)
	defer d.Close()
	heard := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := d.Accept()
			if err != nil {
				return
			}
			go func() {
				if _, err := c.Read(make([]byte, 64)); err == nil {
					heard <- c
				} else {
					c.Close()
				}
			}()
		}
	}()
	for range 100 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for range 4 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(make([]byte, greeting)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-heard:
		case <-time.After(5 * time.Second):
			t.Fatal("one that speaks is kept out")
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.silent) > 8 || len(d.place) > 8 {
		t.Errorf("%d silent connections, %d in all", len(d.silent), len(d.place))
	}
}

// TestClosedStranger: a connection whose request is answered while it is closed does not come back as a stranger.
func TestClosedStranger(t *testing.T) {
	d := NewDoor(nil, 2, false)
	for range 1000 {
		here, there := net.Pipe()
		defer there.Close()
		d.place <- struct{}{}
		v := &visitor{Conn: here, door: d}
		v.estrange()
		var both sync.WaitGroup
		both.Go(func() { d.evict(1) })
		both.Go(v.estrange)
		both.Wait()
		if len(d.silent) > 0 || len(d.place) > 0 {
			t.Fatalf("%d strangers, %d places taken", len(d.silent), len(d.place))
		}
	}
}

// TestSlowRequests: hundreds of requests that do not come to an end leave room for one that does, and a
// stranger of another address stays.
func TestSlowRequests(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		ReadHeaderTimeout: time.Minute}
	Pages(server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(NewDoor(inner, 16, false))
	}()
	defer func() {
		server.Close()
		<-done
	}()
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	flood := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for range 3 {
		early, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer early.Close()
		defer func() { // all that came after it is here by now
			if _, err := early.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
				t.Fatal(err)
			}
			if _, err := early.Read(make([]byte, 1)); err != nil {
				t.Errorf("a stranger of another address: %v", err)
			}
		}()
		for range 100 {
			c, err := flood.Dial("tcp", inner.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "))
		}
		r, err := client.Get("http://" + inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
	}
}
