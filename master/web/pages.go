package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"amazonsfarm/master/book"
	"amazonsfarm/master/document"
	"amazonsfarm/master/explore"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

//go:embed static
var static embed.FS

// files are the addresses of what never changes while the process runs.
var files = map[string]struct{ name, kind string }{
	"/{$}":          {"index.html", "text/html; charset=utf-8"},
	"/explore":      {"explore.html", "text/html; charset=utf-8"},
	"/explore.html": {"explore.html", "text/html; charset=utf-8"}, // as an exported site names it
	"/page.css":     {"page.css", "text/css; charset=utf-8"},
	"/icon.svg":     {"icon.svg", "image/svg+xml"},
	"/common.js":    {"common.js", "text/javascript; charset=utf-8"},
	"/board.js":     {"board.js", "text/javascript; charset=utf-8"},
	"/index.js":     {"index.js", "text/javascript; charset=utf-8"},
	"/explore.js":   {"explore.js", "text/javascript; charset=utf-8"},
}

// maxText bounds the characters of moves and of a position in an address: enough for a game that
// burns all of an 8x8 board.
const maxText = 1024

func (s *Server) addPages(mux *http.ServeMux) {
	for path, f := range files {
		data, err := static.ReadFile("static/" + f.name)
		if err != nil {
			panic(err) // it is part of the program
		}
		sum := sha256.Sum256(data)
		tag := `"` + hex.EncodeToString(sum[:8]) + `"`
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Content-Type", f.kind)
			// The browser asks each time, and the answer is empty while the tag is the same. So a new
			// build shows its own pages at once.
			h.Set("Cache-Control", "no-cache")
			h.Set("ETag", tag)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		})
	}
	mux.HandleFunc("GET /api/status", s.known(func(l seen) any { return l.status }))
	mux.HandleFunc("GET /api/workers", s.known(func(l seen) any { return l.workers }))
	mux.HandleFunc("GET /api/contributors", s.known(func(l seen) any { return l.helped }))
	mux.HandleFunc("GET /api/facts", s.known(func(l seen) any { return l.facts }))
	mux.HandleFunc("GET /api/campaigns", s.known(func(l seen) any { return l.campaigns }))
	mux.HandleFunc("GET /api/history", s.about(func(w http.ResponseWriter, _ *http.Request, watch *watch) {
		s.writeJSON(w, watch.past())
	}))
	mux.HandleFunc("GET /api/events", s.about(s.events))
	mux.HandleFunc("GET /api/work", s.known(func(l seen) any { return l.work }))
	mux.HandleFunc("GET /api/explore", judged(s, s.find, s.explore))
	mux.HandleFunc("GET /api/play", judged(s, s.find, s.play))
	mux.HandleFunc("GET /api/judge", judged(s, anyPosition, s.judge))
	mux.HandleFunc("GET /api/certificate", s.about(s.certificate))
	mux.HandleFunc("GET /board.svg", s.board)
}

// known answers with a part of what was seen last. The header Age says how many seconds ago that was.
func (s *Server) known(part func(seen) any) http.HandlerFunc {
	return s.about(func(w http.ResponseWriter, _ *http.Request, watch *watch) {
		last := watch.last()
		if !last.known {
			refuse(w, http.StatusServiceUnavailable, "the campaign has not answered yet")
			return
		}
		w.Header().Set("Age", strconv.Itoa(max(0, int(watch.now().Sub(last.at).Seconds()))))
		s.writeJSON(w, part(last))
	})
}

// about returns a handler, which answers about the campaign that an address names.
func (s *Server) about(answer func(http.ResponseWriter, *http.Request, *watch)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		watch, err := s.watches.of(r.Context(), r.URL.Query().Get("campaign"))
		if err != nil {
			fail(w, err)
			return
		}
		answer(w, r, watch)
	}
}

// campaign returns the campaign of a name. The error is the reader's.
func (c *Config) campaign(name string) (Campaign, error) {
	campaign, err := c.Campaign(name)
	if err != nil {
		return nil, errInput{fmt.Errorf("there is no campaign %.80q", name)}
	}
	return campaign, nil
}

func (s *Server) writeJSON(w http.ResponseWriter, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		s.cfg.Log.Error("a document of the pages cannot be written", "error", err)
		refuse(w, http.StatusInternalServerError, "this document cannot be written: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(text, '\n')) // a reader that does not read it to the end has gone
}

// refuse answers with one sentence.
func refuse(w http.ResponseWriter, code int, why string) {
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	http.Error(w, why, code)
}

// errInput is what a reader has done wrong, in one sentence.
type errInput struct{ error }

// errBusy says that too much is asked at a time.
var errBusy = errors.New("try again")

// arguments reads the query of an address and refuses names that are not among the given ones.
func arguments(r *http.Request, names ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errInput{fmt.Errorf("the query of the address cannot be read: %w", err)}
	}
	for name, values := range q {
		switch {
		case !slices.Contains(names, name):
			return nil, errInput{fmt.Errorf("%.40q is none of %s", name, strings.Join(names, ", "))}
		case len(values) > 1:
			return nil, errInput{fmt.Errorf("%s is given more than once", name)}
		case len(values[0]) > maxText:
			return nil, errInput{fmt.Errorf("%s is longer than %d characters", name, maxText)}
		}
	}
	return q, nil
}

// place is what an address names: a position of a campaign and the way to it.
type place struct {
	query    url.Values
	campaign Campaign
	way      []amazons.Position // each after a move from the one before; the last is the one that is meant
	last     *amazons.Move      // that led to it; nil: none
}

// position returns the position that is meant.
func (p *place) position() amazons.Position { return p.way[len(p.way)-1] }

// find returns the place that an address names: moves (separated by commas) from position, or from
// the root of the campaign.
func (s *Server) find(r *http.Request) (at place, err error) {
	if at.query, err = arguments(r, "moves", "position", "campaign"); err != nil {
		return at, err
	}
	if at.campaign, err = s.cfg.campaign(at.query.Get("campaign")); err != nil {
		return at, err
	}
	root := at.campaign.Root()
	p := root
	if text := at.query.Get("position"); text != "" {
		if p, err = amazons.ParsePosition(text); err != nil {
			return at, errInput{fmt.Errorf("position: %w", err)}
		}
		if p.Board != root.Board {
			return at, errInput{fmt.Errorf("position: its board is %v, the campaign's is %v", p.Board, root.Board)}
		}
		// Moves change neither number, so a position with others cannot belong to this campaign.
		white, black := queens(root)
		if w, b := queens(p); w != white || b != black {
			return at, errInput{fmt.Errorf("position: the campaign has %d white and %d black queens", white, black)}
		}
	}
	var moves []string
	if text := at.query.Get("moves"); text != "" {
		moves = strings.Split(text, ",")
	}
	if at.way, at.last, err = explore.Follow(p, moves); err != nil {
		return at, errInput{err}
	}
	return at, nil
}

func queens(p amazons.Position) (white, black int) {
	return bits.OnesCount64(p.White), bits.OnesCount64(p.Black)
}

// explore answers with what is known of a position and its moves.
func (s *Server) explore(ctx context.Context, at place) (any, error) {
	if cert := s.book(at.query); cert != nil {
		if known := book.Explore(cert, at.position()); known.Verdict != eval.Open.String() {
			return known, nil
		} // the tree may know what the proof does not need
	}
	answer, err := at.campaign.Explore(ctx, at.way)
	if err != nil {
		return nil, err
	}
	return document.OfPosition(at.position(), answer), nil
}

// fail tells bad input from a campaign that does not answer.
func fail(w http.ResponseWriter, err error) {
	if _, wrong := errors.AsType[errInput](err); wrong {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !errors.Is(err, errBusy) {
		err = fmt.Errorf("the campaign does not answer: %w", err)
	}
	refuse(w, http.StatusServiceUnavailable, err.Error())
}

// board draws a position.
func (s *Server) board(w http.ResponseWriter, r *http.Request) {
	at, err := s.find(r)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "max-age=60") // another campaign may be served here some day
	_ = at.position().WriteSVG(w, at.last)        // a reader that does not read it to the end has gone
}
