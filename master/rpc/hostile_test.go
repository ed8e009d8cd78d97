package rpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"

	"amazonsfarm/master/document"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/proof"
)

// The hostile clients of this file attack a master over a real network.

// TestNumbersOfNoSense has a worker report numbers that no search has. Each ends its stream and is an
// offence, and the list of workers can always be written as JSON.
func TestNumbersOfNoSense(t *testing.T) {
	progress := func(fill float64) *farmv1.WorkRequest {
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Progress{Progress: &farmv1.Progress{TableFill: fill}}}
	}
	lasting := func(seconds float64) *farmv1.WorkRequest {
		return &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: &farmv1.Result{Seconds: seconds}}}
	}
	for _, c := range []struct {
		name string
		says func(float64) *farmv1.WorkRequest
		bad  float64
	}{
		{"fill", progress, math.NaN()}, {"fill", progress, math.Inf(1)}, {"fill", progress, -0.1},
		{"fill", progress, 1.1}, {"seconds", lasting, math.NaN()}, {"seconds", lasting, math.Inf(-1)},
		{"seconds", lasting, -1}, {"seconds", lasting, math.MaxFloat64},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.bad), func(t *testing.T) {
			b := start(t, newMemory(), func(s *settings) { s.tcp = true })
			w := b.worker("liar")
			m := c.says(c.bad)
			if r := m.GetResult(); r != nil {
				key := b.root.Bytes()
				r.Key = key[:]
			}
			w.send(m)
			_, err := w.stream.Recv()
			wantCode(t, err, codes.InvalidArgument, "")
			list, err := b.control.Workers(t.Context(), &farmv1.WorkersRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := json.Marshal(document.OfWorkers(list.GetWorkers())); err != nil {
				t.Errorf("the workers cannot be shown: %v", err)
			}
			if n := list.GetWorkers()[0].GetOffences(); n != 1 {
				t.Errorf("%d offences are counted", n)
			}
		})
	}
}

// TestJoinsThatDoNotCome opens hundreds of calls of Join whose bodies never come to an end, each the
// longest that a master reads. So many are refused before anything of them is read, the memory of the
// master stays small, and when the calls end a worker joins.
func TestJoinsThatDoNotCome(t *testing.T) {
	b := start(t, newMemory(), func(s *settings) { s.tcp = true })
	conn, err := b.dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	framer := http2.NewFramer(conn, conn)
	fmt.Fprint(conn, http2.ClientPreface)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	refused := make(chan int)
	go func() {
		n := 0
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				refused <- n
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok && h.StreamEnded() {
				n++
			}
		}
	}()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", farmv1.Farm_Join_FullMethodName},
		{":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			t.Fatal(err)
		}
	}
	head := append([]byte(nil), block.Bytes()...)
	for i := range uint32(200) {
		block.Reset()
		h := head
		if i > 0 { // the same again, now from the table of the connection
			for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"},
				{":path", farmv1.Farm_Join_FullMethodName}, {":authority", "x"}, {"content-type", "application/grpc"},
				{"te", "trailers"}} {
				_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
			}
			h = block.Bytes()
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: h,
			EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		if err := framer.WriteData(2*i+1, false, []byte{0, 0, 0x1f, 0xff, 0xff, 'x'}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	_, err = b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "w"})
	wantCode(t, err, codes.ResourceExhausted, "64 calls wait for their first message")
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the master takes %d MiB more", grown>>20)
	}
	conn.Close()
	if n := <-refused; n != 200-64 {
		t.Errorf("%d of 200 calls were refused, want all but 64", n)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: "w",
			ProtocolVersion: farmv1.ProtocolVersion, RulesVersion: farmv1.RulesVersion, Build: "this build"})
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	_, err = b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: strings.Repeat("x", farmv1.MaxRequestBytes)})
	wantCode(t, err, codes.ResourceExhausted, "larger than max")
}

// TestUnaskedEvidence announces more evidence than the leases of a worker account for. It is refused before
// anything of it is received, and is an offence; what did not come does not count.
func TestUnaskedEvidence(t *testing.T) {
	b := start(t, newMemory(), func(s *settings) { s.tcp = true })
	w := b.worker("hoarder")
	for i := range 2 { // they are broken off: 40 MiB twice would be too much
		wantCode(t, w.uploadAs(proof.ID{1, byte(i)}, 40<<20, make([]byte, 100)), codes.DataLoss, "100 bytes came")
	}
	wantCode(t, w.uploadAs(proof.ID{2}, 65<<20, make([]byte, 100)), codes.InvalidArgument,
		"more evidence than was asked for")
	if n := b.shownAs("hoarder").GetOffences(); n != 1 {
		t.Errorf("%d offences are counted", n)
	}
	if _, err := w.upload(certificate()); err != nil {
		t.Errorf("a small part: %v", err)
	}
}

// TestUnaskedAfterARestart has a worker bring more from before the master's start than is free. The master knows the
// worker and no lease of it, so that is refused and no offence.
func TestUnaskedAfterARestart(t *testing.T) {
	s := newMemory()
	if err := s.SetStandings([]trust.Standing{{Party: trust.Party{Name: "w"}, Solved: 1}}); err != nil {
		t.Fatal(err)
	}
	b := start(t, s, func(s *settings) { s.tcp = true })
	w := b.worker("w")
	for range 4 { // so many parts may wait at a worker
		wantCode(t, w.uploadAs(proof.ID{2}, 65<<20, make([]byte, 100)), codes.InvalidArgument,
			"more evidence than was asked for")
	}
	if n := b.shownAs("w").GetOffences(); n != 0 {
		t.Errorf("%d offences are counted", n)
	}
}

// TestComingAndGoing: a worker that joins and leaves without end does not fill the disk of the log.
func TestComingAndGoing(t *testing.T) {
	const most = 8
	log := new(lines)
	b := start(t, newMemory(), func(s *settings) {
		s.services.Limits.Lines, s.log = most, slog.New(slog.NewTextHandler(log, nil))
	})
	begun := time.Now()
	for range 4 * most {
		b.worker("restless").send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Goodbye{Goodbye: &farmv1.Goodbye{}}})
	}
	n := strings.Count(log.String(), "worker=restless")
	if more := int(time.Since(begun).Seconds()) + 1; n < most || n > most+more {
		t.Errorf("%d lines, want %d and at most %d more", n, most, more)
	}
}
