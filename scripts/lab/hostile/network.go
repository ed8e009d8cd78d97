package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// elsewhere dials from another address than honest ones do: the master tells strangers apart by it.
var elsewhere = net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}

// calls begins calls of a method on one connection, each with a message of a size that does not come.
func calls(c *client, method string, n, size int) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", c.address, 2*time.Second)
	if err != nil {
		return nil, err
	}
	framer := http2.NewFramer(conn, conn)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		return conn, err
	}
	if err := framer.WriteSettings(); err != nil {
		return conn, err
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range uint32(n) {
		block.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "x"},
			{"content-type", "application/grpc"}, {"te", "trailers"}} {
			if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				return conn, err
			}
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block.Bytes(),
			EndHeaders: true}); err != nil {
			return conn, err
		}
		head := []byte{0, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}
		if err := framer.WriteData(2*i+1, false, append(head, make([]byte, 8<<10)...)); err != nil {
			return conn, err
		}
	}
	return conn, nil
}

func bigJoins(c *client) {
	conn, err := calls(c, farmv1.Farm_Join_FullMethodName, 250, 16<<20-1)
	if conn != nil {
		defer conn.Close()
	}
	c.fail(err)
	c.wait(10 * time.Second)
}

func connections(c *client) {
	defer closeAll(c.raw(420, nil))
	c.wait(20 * time.Second)
}

func garbage(c *client) {
	defer closeAll(c.raw(20, func(i int, conn net.Conn) {
		if i%2 == 0 {
			_, _ = io.WriteString(conn, http2.ClientPreface)
		}
		_, _ = io.CopyN(conn, rand.Reader, 64<<10) // the master hangs up
	}))
	c.wait(100 * time.Millisecond)
}

func truncated(c *client) {
	conn, err := calls(c, farmv1.Farm_Work_FullMethodName, 20, 1<<20)
	if conn != nil {
		_, _ = conn.Write([]byte{0, 64, 0, 0, 0, 0, 0, 0, 1, 'x'}) // a frame of 16 KiB that ends after a byte
		conn.Close()
	}
	c.fail(err)
	c.wait(20 * time.Millisecond)
}

func slowPages(c *client) {
	var list []net.Conn
	defer func() { closeAll(list) }()
	for range 4000 {
		conn, err := elsewhere.Dial("tcp", c.pages)
		if err != nil {
			break
		}
		_, _ = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: ")
		list = append(list, conn)
	}
	c.wait(10 * time.Second)
}

func resets(c *client) {
	for c.ok() {
		call, cancel := context.WithCancel(c.ctx)
		_, err := c.farm.Work(call)
		c.fail(err)
		cancel()
	}
}

// healthy asks whether a master's pages answer, and says how long that takes.
func healthy(pages string) (time.Duration, error) {
	began := time.Now()
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	r, err := client.Get("http://" + pages + "/healthz")
	if err != nil {
		return 0, err
	}
	return time.Since(began), r.Body.Close()
}
