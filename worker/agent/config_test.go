package agent

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Types of questions to a name server (RFC 1035, section 3.2.2; RFC 3596).
const (
	typeAddress  = 1
	typeText     = 16
	typeAddress6 = 28
)

// TestNameServer holds that a name server is asked for addresses only: one that answers nothing
// else costs no time.
func TestNameServer(t *testing.T) {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan uint16, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		answerNames(server, asked)
	}()
	master, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	_, port, err := net.SplitHostPort(master.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("dns://"+server.LocalAddr().String()+"/farm.example:"+port,
		append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	conn.Connect()
	if err := master.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if c, err := master.Accept(); err != nil {
		t.Errorf("nobody connects: %v", err)
	} else {
		c.Close()
	}
	conn.Close()
	server.Close()
	<-done
	close(asked)
	questions := map[uint16]int{}
	for q := range asked {
		questions[q]++
	}
	if questions[typeAddress] == 0 || questions[typeText] > 0 {
		t.Errorf("questions by type: %v; want addresses (%d), no text (%d)", questions, typeAddress, typeText)
	}
}

// answerNames is a name server that knows 127.0.0.1 for every name, does not answer questions that
// are not about addresses, and tells of each question.
func answerNames(server net.PacketConn, asked chan<- uint16) {
	buffer := make([]byte, 512)
	for {
		n, from, err := server.ReadFrom(buffer)
		if err != nil {
			return
		}
		end := 12 // of the header; then come labels, the type and the class
		for end < n && buffer[end] != 0 {
			end += 1 + int(buffer[end])
		}
		end += 5
		if end > n {
			continue
		}
		kind := binary.BigEndian.Uint16(buffer[end-4:])
		select {
		case asked <- kind:
		default: // enough
		}
		if kind != typeAddress && kind != typeAddress6 {
			continue
		}
		answer := append([]byte(nil), buffer[:end]...)
		binary.BigEndian.PutUint16(answer[2:], 0x8180) // an answer, without error
		binary.BigEndian.PutUint16(answer[6:], 0)      // answers, none yet
		binary.BigEndian.PutUint16(answer[8:], 0)      // authorities
		binary.BigEndian.PutUint16(answer[10:], 0)     // additional records
		if kind == typeAddress {
			answer[7] = 1
			// The name of the question, an address of the internet for a minute: 127.0.0.1.
			answer = append(answer, 0xc0, 12, 0, typeAddress, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
		}
		if _, err := server.WriteTo(answer, from); err != nil {
			return
		}
	}
}
