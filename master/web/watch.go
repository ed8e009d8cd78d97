package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"amazonsfarm/master/book"
	"amazonsfarm/master/document"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/recent"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// Campaign is what the pages show; a *rpc.Campaign is one. All methods answer in a time that does not
// grow with the tree.
type Campaign interface {
	Root() amazons.Position
	Status(context.Context) (*farmv1.StatusResponse, error)
	Workers(context.Context) ([]*farmv1.Worker, error)
	Contributors(context.Context) ([]loop.Contributor, error)
	Recent(context.Context) ([]recent.Entry, error)
	Explore(ctx context.Context, way []amazons.Position) (*farmv1.ExploreResponse, error)
}

// shownWorkers is how many workers an event holds at most; /api/workers has all.
const shownWorkers = 500

// movesEvery is the shortest time between two events with the moves of the root: there may be a
// thousand, and their numbers change all the time.
const movesEvery = 5 * time.Second

// learnedJSON is a fact of the log as programs read it.
type learnedJSON struct {
	Serial   uint64    `json:"serial"` // 1 for the first since the master began
	At       time.Time `json:"at"`
	Position string    `json:"position"`
	Value    string    `json:"value"` // won or lost, for the side to move
	Nodes    uint64    `json:"nodes"`
}

// The parts of what is known of a campaign, each an event of its own, sent when it has changed.
const (
	partLink = iota
	partStatus
	partMoves
	partWorkers
	partContributors
	partFacts
	partWork
	partCampaigns
	parts
)

var partNames = [parts]string{"link", "status", "moves", "workers", "contributors", "facts", "work", "campaigns"}

// linkJSON says whether the campaign answers.
type linkJSON struct {
	Answers bool   `json:"answers"`
	Why     string `json:"why,omitempty"`
}

// seen is what the campaign said last. It is not changed once it is shown.
type seen struct {
	known     bool // it has answered at least once
	at        time.Time
	moved     time.Time // when the part of the moves was made
	status    document.Status
	workers   []document.Worker
	helped    []loop.Contributor
	facts     []learnedJSON
	work      book.Work
	file      string  // of the certificate
	book      *opened // nil: there is none in memory
	campaigns document.Campaigns
	part      [parts][]byte // JSON
	version   [parts]uint64 // grows when the part changes; 0: there is none
}

// watch asks a campaign again and again, so that any number of readers cost it no more than one,
// and a page answers while the campaign waits for its disk.
type watch struct {
	campaign Campaign
	period   time.Duration
	now      func() time.Time
	log      *slog.Logger
	books    *books
	listed   string // SHA-256 of the certificate whose parts were counted
	parts    int
	work     worked     // of the goroutine that asks
	asking   sync.Mutex // a reader's first look may meet the goroutine that asks all the time

	mu      sync.Mutex
	seen    seen
	changed chan struct{} // closed when seen has changed
	history history
}

func newWatch(c Campaign, period time.Duration, points int, log *slog.Logger, b *books) *watch {
	return &watch{campaign: c, period: period, now: time.Now, log: log, books: b, changed: make(chan struct{}),
		work: worked{replies: map[string][]book.Cell{}}, history: history{most: points, step: period}}
}

// run asks until ctx ends.
func (w *watch) run(ctx context.Context) {
	ticker := time.NewTicker(w.period)
	defer ticker.Stop()
	for {
		w.ask(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// ask asks once and shows the answer.
func (w *watch) ask(ctx context.Context) {
	w.asking.Lock()
	defer w.asking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	// This is a copy, arrays included: a part that has not changed keeps its text and its version.
	// Nobody else sees it before show.
	next := w.last()
	status, noStatus := w.campaign.Status(ctx)
	workers, noWorkers := w.campaign.Workers(ctx)
	facts, noFacts := w.campaign.Recent(ctx)
	helped, noHelp := w.campaign.Contributors(ctx)
	if err := cmp.Or(noStatus, noWorkers, noFacts, noHelp); err != nil {
		// Only the part about the link changes. The figures stay as they were, and their time says how
		// old they are.
		w.put(&next, partLink, linkJSON{Why: "the campaign does not answer: " + err.Error()})
		w.show(next, nil)
		return
	}
	next.known, next.at = true, w.now()
	next.status = document.OfStatus(status, true)
	next.status.Store = filepath.Base(next.status.Store) // the folders of the machine are nobody's business here
	next.file = status.GetCertificateFile()
	if c := next.status.Certificate; c != nil {
		c.File = filepath.Base(c.File)
		if w.listed != c.SHA256 {
			m, _ := proof.ReadManifest(next.file) // a certificate in one file is none
			if len(m.Parts) > 0 && w.books.holds(next.file, c.SHA256) != nil {
				m.Parts = nil
			}
			w.listed, w.parts = c.SHA256, len(m.Parts)
		}
		next.status.ProofParts = w.parts
	}
	if next.book = w.books.of(ctx, status); next.book != nil {
		next.book.tell(w.campaign.Root(), &next.status)
		next.work = next.book.work
	} else if next.at.Sub(next.moved) >= movesEvery {
		next.work = w.work.ask(ctx, w.campaign, next.status)
	}
	next.campaigns = document.OfCampaigns(status.GetCampaigns())
	next.workers, next.helped = document.OfWorkers(workers), helped
	next.facts = make([]learnedJSON, 0, len(facts))
	for _, f := range facts {
		next.facts = append(next.facts, learnedJSON{f.Serial, f.At.UTC(), f.Position, f.Verdict.String(), f.Nodes})
	}
	// The moves are most of a status. They are a part of their own, which is sent less often.
	short := next.status
	short.FirstMoves = nil
	w.put(&next, partLink, linkJSON{Answers: true})
	w.put(&next, partStatus, short)
	if next.at.Sub(next.moved) >= movesEvery {
		next.moved = next.at
		w.put(&next, partMoves, next.status.FirstMoves)
		w.put(&next, partWork, next.work)
	}
	w.put(&next, partWorkers, next.workers[:min(len(next.workers), shownWorkers)])
	w.put(&next, partContributors, next.helped)
	w.put(&next, partFacts, next.facts)
	w.put(&next, partCampaigns, next.campaigns)
	w.show(next, &point{next.at, short.Phi, short.Delta, short.Nodes + short.RunningNodes})
}

// put sets a part if it is new. A part that cannot be written stays as it was.
func (w *watch) put(s *seen, part int, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		w.log.Error("a part of the pages cannot be written", "part", partNames[part], "error", err)
		return
	}
	if bytes.Equal(text, s.part[part]) {
		return
	}
	s.part[part] = text
	s.version[part]++
}

func (w *watch) show(next seen, p *point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = next
	if p != nil {
		w.history.add(*p)
	}
	// Closing wakes all streams at once. The next change has a channel of its own.
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watch) last() seen {
	s, _ := w.lastAndNext()
	return s
}

// lastAndNext returns what was seen last, and what is closed when there is something new.
func (w *watch) lastAndNext() (seen, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.changed
}

func (w *watch) past() historyJSON {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.history.document(w.now())
}

// watches has one watch for each campaign that a reader has asked for, and for the one that the
// pages show at first. A watch runs until the server ends.
type watches struct {
	c *Config

	mu      sync.Mutex
	byName  map[string]*watch // as many as there are campaigns
	books   books
	running sync.WaitGroup
	ctx     context.Context // of the running watches; nil: the server does not run
}

// begin runs the watch of the first campaign, and from now on those that are added. stop ends them
// all.
func (w *watches) begin(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	w.mu.Lock()
	w.ctx = ctx
	w.mu.Unlock()
	// The context is set before: add runs a watch only where there is one.
	_, err = w.add("")
	return func() {
		cancel()
		w.mu.Lock() // nothing is added from now on that runs
		defer w.mu.Unlock()
		w.running.Wait()
		w.books.reading.Wait()
	}, err
}

// add returns the watch of a campaign, a new one if there is none.
func (w *watches) add(name string) (*watch, error) {
	c, err := w.c.campaign(name)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byName[name]
	if one == nil {
		one = newWatch(c, w.c.Period, w.c.HistoryPoints, w.c.Log, &w.books)
		w.byName[name] = one
		if ctx := w.ctx; ctx != nil && ctx.Err() == nil {
			w.running.Go(func() { one.run(ctx) })
		}
	}
	return one, nil
}

// of returns the watch of a campaign. One that a reader names has asked at least once.
func (w *watches) of(ctx context.Context, name string) (*watch, error) {
	one, err := w.add(name)
	if err == nil && name != "" && !one.last().known {
		one.ask(ctx)
	}
	return one, err
}
