package web

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"amazonsfarm/shared/testkit/fuzzing"
)

// FuzzRequest asks the server of the status page for any address, with any query: an answer of a
// known kind that is whole, or a refusal in one sentence, and the campaign is only looked at.
func FuzzRequest(f *testing.F) {
	for _, q := range []string{"", "moves=B1-B2xB1", "moves=B1-B2xB1,C4-C3xC4",
		"position=.BB./B..B/W..W/xWW.%20w&moves=", "square=16&bare=1", "square=999999999999", "moves=%ff", "a=b&a=c",
		"%", "position=8x8"} {
		for path := range uint8(4) {
			f.Add("GET", path, "", q)
		}
	}
	f.Add("POST", uint8(9), "/api/operator/pause", "")
	f.Add("HEAD", uint8(9), "/../x", "")
	f.Fuzz(func(t *testing.T, method string, which uint8, path, query string) {
		if p := []string{"/api/explore", "/board.svg", "/api/status", "/explore"}; int(which) < len(p) {
			path = p[which]
		}
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Proto: "HTTP/1.1", ProtoMajor: 1,
			ProtoMinor: 1, Header: http.Header{},
			Body: http.NoBody, Host: "master", RemoteAddr: "10.0.0.1:1"}
		if path == "/api/events" {
			return // it goes on for ever
		}
		c := newCampaign(t)
		s := newServer(t, Config{Campaign: only(c)})
		s.explores = rate.NewLimiter(1e6, 1e6)
		first(t, s).ask(t.Context())
		fuzzing.Within(t, 10*time.Second, 64<<20, func() {
			w := httptest.NewRecorder()
			s.handler().ServeHTTP(w, r.WithContext(t.Context()))
			judge(t, w, method)
		})
		if c.phi != 7 {
			t.Fatal("a reader changed the campaign")
		}
	})
}

// judge looks at an answer.
func judge(t *testing.T, w *httptest.ResponseRecorder, method string) {
	body := w.Body.String()
	switch w.Code {
	case http.StatusOK, http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPartialContent,
		http.StatusNotModified, http.StatusForbidden, http.StatusUnauthorized:
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusServiceUnavailable,
		http.StatusRequestedRangeNotSatisfiable:
		if len(body) > 8<<10 || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Fatalf("refused with %d bytes of %s", len(body), w.Header().Get("Content-Type"))
		}
	default:
		t.Fatalf("answered with %d", w.Code)
	}
	if w.Code != http.StatusOK || method == "HEAD" {
		return
	}
	switch kind := w.Header().Get("Content-Type"); {
	case kind == "application/json":
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("not a document: %q", body)
		}
	case strings.HasPrefix(kind, "image/svg"):
		d := xml.NewDecoder(strings.NewReader(body))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("not a picture: %v in %q", err, body)
			}
		}
	}
}
