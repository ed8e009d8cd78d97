package web

import (
	"cmp"
	"fmt"
	"net/http"
	"time"
)

// quiet is after how long without news a comment is sent, so that a reader that has gone is noticed.
const quiet = 15 * time.Second

// events sends what is known of the campaign as server-sent events, all of it first, then what has
// changed. A reader that does not read for a while misses what lies between, never the last state.
func (s *Server) events(w http.ResponseWriter, r *http.Request, watch *watch) {
	if !s.live.TryAcquire(1) {
		refuse(w, http.StatusServiceUnavailable, "too many pages are open; this one asks now and then")
		return
	}
	defer s.live.Release(1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for proxies
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	// The server's limits are for short answers. A recorder of a test knows no deadlines.
	_ = control.SetReadDeadline(time.Time{})
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	// No part has version 0, so the first round sends all that there is.
	var sent [parts]uint64
	for {
		// Both are taken under one lock. A change while the text is sent closes news, so it is not
		// missed.
		last, news := watch.lastAndNext()
		_ = control.SetWriteDeadline(time.Now().Add(eventPatience))
		text := ""
		for i, version := range last.version {
			if version != sent[i] {
				text += fmt.Sprintf("event: %s\ndata: %s\n\n", partNames[i], last.part[i])
			}
		}
		sent = last.version
		text = cmp.Or(text, ": nothing new\n\n")
		if _, err := fmt.Fprint(w, text); err != nil {
			return
		}
		if control.Flush() != nil {
			return
		}
		timer.Reset(quiet)
		select {
		case <-news:
		case <-timer.C:
		case <-s.closing:
			return
		case <-r.Context().Done():
			return
		}
	}
}
