package web

import "time"

// point is what the history keeps of one moment.
type point struct {
	at         time.Time
	phi, delta uint32
	nodes      uint64
}

// history keeps how the proof numbers of the root went. When it is full it drops every second point
// and takes new ones half as often, so that it always reaches back to its beginning and never
// grows.
// The points are in order of time, never more than most, which is at least 2. The step begins as the
// period of the watch and doubles each time that they are full.
type history struct {
	most   int           // points
	step   time.Duration // between two points
	points []point
}

func (h *history) add(p point) {
	if n := len(h.points); n > 0 && p.at.Sub(h.points[n-1].at) < h.step {
		return
	}
	if len(h.points) == h.most {
		// The first point has an even place, so the beginning is always kept.
		kept := h.points[:0]
		for i := 0; i < h.most; i += 2 {
			kept = append(kept, h.points[i])
		}
		h.points, h.step = kept, 2*h.step
		if p.at.Sub(kept[len(kept)-1].at) < h.step {
			return
		}
	}
	h.points = append(h.points, p)
}

// historyJSON is a history as programs read it: columns of equal length.
type historyJSON struct {
	MessageType string    `json:"message_type"` // "history"
	Seconds     []float64 `json:"seconds_ago"`
	Phi         []uint32  `json:"proof_number"`
	Delta       []uint32  `json:"disproof_number"`
	Nodes       []uint64  `json:"nodes"`
}

func (h *history) document(now time.Time) historyJSON {
	out := historyJSON{MessageType: "history", Seconds: []float64{}, Phi: []uint32{}, Delta: []uint32{},
		Nodes: []uint64{}}
	for _, p := range h.points {
		out.Seconds = append(out.Seconds, now.Sub(p.at).Seconds())
		out.Phi, out.Delta, out.Nodes = append(out.Phi, p.phi), append(out.Delta, p.delta), append(out.Nodes, p.nodes)
	}
	return out
}
