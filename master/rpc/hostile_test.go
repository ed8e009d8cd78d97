package rpc

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
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
