// Package engine runs one search job at a time with all cores of a machine over one table, and
// proves what the search found as parts of a proof.
//
// [Engine.Run] searches. It reports positions that it solved on the way; they are claims until
// [Engine.Prove] has proved them. A part cites what others have proved and what earlier parts did:
// the engine remembers these facts, until [Engine.Forget]. [Engine.Hints] tells what the
// table knows of a position that stays open, so that another worker can go on with it.
//
// # The way of a job
//
//	Run      facts and hints into the table, then search until solved, budget or ctx
//	note     each solved position of some size goes to the collector, from any thread
//	Prove    claims of the search become parts; what cannot be proved is left out
//	Hints    for a position that stays open
//
// Search and proof are kept apart on purpose. A search may be wrong: its table is shared by racing
// threads, and two positions may have one hash. A [Part] is built from the leaf rules upwards by
// package proof, so it cannot repeat such a mistake. If a claim cannot be proved, or its proof takes far more
// nodes than its search can have taken, the table is wrong and is cleared. False hints may be the cause, so
// from then on positions that hints call solved are searched.
//
// # What is cited
//
// A part may cite positions with more arrows than all of its roots (shared/proof/FORMAT.md). So
// Prove sorts the claims by arrows, most first, and makes one part for each number of arrows. The
// parts made first are then facts that the later ones may cite, and no evidence is sent twice.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// ErrConfig is wrapped by errors about settings.
var ErrConfig = errors.New("bad engine setting")

// ProgressPeriod is the time between two progress reports of a running engine.
const ProgressPeriod = 250 * time.Millisecond

// Defaults and limits of settings.
const (
	DefaultTableBytes   = 256 << 20
	DefaultMinFactNodes = 1000
	DefaultMaxFacts     = 256
	// maxKnown bounds the facts that are remembered, about 60 bytes each. Beyond it, parts repeat evidence
	// that others have.
	maxKnown = 1 << 20
	// maxEntries is the largest number of positions that are proved for one part, about 40 bytes each
	// while it is made. A fact that needs more is not proved.
	maxEntries = 32 << 20
)

// Config holds the settings of an engine. Board is required, zero stands for the default elsewhere.
type Config struct {
	// Board is the size of the board of all jobs.
	Board amazons.Board
	// TableBytes is the size of the transposition table. Default 256 MiB. Too small: the search
	// forgets and repeats itself. Larger than the machine's memory: an error.
	TableBytes int64
	// Cores is the number of threads of the search. Default: all. With one, node counts are
	// reproducible.
	Cores int
	// RulesOnly makes certificates that rely on leaf rule 1 alone. They are much larger.
	RulesOnly bool
	// MinFactNodes are the nodes from which a position solved on the way is kept as a fact. Default
	// 1000. Too small: time goes into evidence that nobody needs.
	MinFactNodes uint64
	// MaxFacts is the number of such positions kept of one run, those with most nodes, at least 1. Default 256.
	MaxFacts int
	// MaxHints is the number of table entries in the hints for an unsolved position, about 12 bytes
	// each. Default 0: no hints. Too small: a worker that goes on with the position repeats work.
	MaxHints int
	// Log receives messages. Default: nobody does.
	Log *slog.Logger

	maxEntries int // of tests; 0: the constant
}

// withDefaults returns c with defaults in place of zeros. Errors wrap ErrConfig.
func (c Config) withDefaults() (Config, error) {
	c.TableBytes = cmp.Or(c.TableBytes, DefaultTableBytes)
	c.Cores = cmp.Or(c.Cores, runtime.GOMAXPROCS(0))
	c.MinFactNodes = cmp.Or(c.MinFactNodes, DefaultMinFactNodes)
	c.MaxFacts = cmp.Or(c.MaxFacts, DefaultMaxFacts)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	switch {
	case !c.Board.Valid():
		return c, fmt.Errorf("%w: no board", ErrConfig)
	case c.Cores < 1 || c.Cores > dfpn.MaxThreads:
		return c, fmt.Errorf("%w: %d cores; 1 to %d are possible", ErrConfig, c.Cores, dfpn.MaxThreads)
	}
	return c, nil
}

// nodesPerEntry is the number of nodes that must have been searched for each entry of the hints. An
// entry costs the time of two thirds of a node (benchmark of hints in package dfpn), so hints cost
// a twentieth of the time at most.
const nodesPerEntry = 16

// leastHints is the number of entries below which no hints are made, unless Config.MaxHints is
// smaller: small hints might replace larger ones at the master.
const leastHints = 512

// Hints returns what the table knows of the position of the last job, in Config.MaxHints entries at
// most. It returns nil when MaxHints is 0, and when too little was searched since the last hints to
// pay for new ones.
func (e *Engine) Hints() []byte {
	entries := min(uint64(e.c.MaxHints), e.search.Nodes()/nodesPerEntry-e.hinted)
	if entries < min(uint64(e.c.MaxHints), leastHints) || entries == 0 {
		return nil
	}
	e.hinted += entries
	return e.search.Hints(e.last, int(entries))
}

// Job is a position to search.
type Job struct {
	State  amazons.State
	Parent *amazons.State // State follows it after one move; what is known of its siblings helps. Nil: unknown
	Budget uint64         // nodes; 0: no limit
	Facts  []proof.Fact   // proved by others, who keep the evidence
	// Hints are what other tables know about the position. Damaged hints are logged and passed over.
	Hints [][]byte
}

// Progress counts what a run has done so far.
type Progress struct {
	Nodes, Evaluations uint64   // of this run
	TableFill          float64  // 0..1
	Outlook            *Outlook // about once a second; otherwise nil
}

// Result is the outcome of a run.
type Result struct {
	Verdict            eval.Verdict // Open when the budget is used up or the context ended
	Phi, Delta         uint32
	Nodes, Evaluations uint64
	Children           []numbers.Child // of the job's position while it is open, one for each move
	// positions solved on the way, those with most nodes first: claims of the search, not yet proved
	Solved []proof.Fact
}

// Part is a certificate file that proves facts, given what it cites.
type Part struct {
	Facts   []proof.Fact // its roots, all with the same number of arrows; each names the part
	Data    []byte
	ID      proof.ID // of Data
	Entries int
}

// Engine holds a table and the facts that parts may cite. One goroutine at a time may call its methods; Learn
// may be called by any goroutine at any time.
type Engine struct {
	c      Config
	search *dfpn.Prover
	known  map[amazons.Key]eval.Verdict // facts that the other side has a part for

	last   amazons.State // position of the last job
	hinted uint64        // entries of all hints, as many as each might have had
	ran    uint64        // nodes of all jobs
	effort uint64        // nodes that the proofs after the last job may take
	doubts bool          // a claim could not be proved, so positions that hints call solved may be open

	builder atomic.Pointer[proof.Builder] // of the part that is being proved
	writing atomic.Bool                   // it is proved, and being written

	mu     sync.Mutex
	solved collector    // filled by search threads
	news   []proof.Fact // learned, and not yet among known
}

// New returns an engine with an empty table. Errors wrap ErrConfig or dfpn's ErrTableSize.
func New(c Config) (*Engine, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	table, err := dfpn.NewTable(c.TableBytes)
	if err != nil {
		return nil, fmt.Errorf("reserve table: %w", err)
	}
	e := &Engine{c: c, solved: collector{limit: c.MaxFacts}, effort: math.MaxUint64}
	e.search, err = dfpn.NewProver(dfpn.Options{Board: c.Board, Table: table, Threads: c.Cores, OnSolved: e.note,
		MinSolvedNodes: c.MinFactNodes})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start search: %w", err), table.Close())
	}
	e.Forget(false)
	return e, nil
}

// Close releases the table's memory.
func (e *Engine) Close() error { return e.search.Close() }

// Forget drops the known facts, of others and its own. Later parts cite none of them. The table stays,
// unless told says that facts of others may be false: the proof of a position that rests on a false fact
// may take as long as the whole question.
func (e *Engine) Forget(told bool) {
	if told {
		e.search.Table.Clear()
	}
	e.mu.Lock()
	e.news = nil
	e.mu.Unlock()
	e.known = make(map[amazons.Key]eval.Verdict)
}

// note hears from the search of each position that it solved, and keeps the large ones. It is
// called by all threads of the search, so it looks at the smallest one kept before it does any
// work.
func (e *Engine) note(s amazons.State, v eval.Verdict, nodes uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.solved.wants(nodes) {
		e.solved.add(proof.Fact{Key: s.CanonicalKey(e.c.Board), Verdict: v, Nodes: nodes})
	}
}

// Run searches a job until its position is solved, the budget is used up or ctx ends. The table
// stays warm, so the same job goes on where it stopped. progress, if given, is called every
// ProgressPeriod from another goroutine, and never after Run has returned. Errors are about the job.
func (e *Engine) Run(ctx context.Context, job Job, progress func(Progress)) (Result, error) {
	for _, f := range job.Facts {
		s, err := f.Key.State(e.c.Board)
		if err != nil || f.Verdict == eval.Open {
			return Result{}, fmt.Errorf("read fact: %w: verdict %v, %v", ErrConfig, f.Verdict, err)
		}
		e.search.Insert(s, f.Verdict, f.Nodes)
		e.remember(f)
	}
	for _, m := range job.Hints {
		if n, err := e.search.Table.AddHints(e.c.Board, m, e.doubts); err != nil {
			e.c.Log.Warn("the hints of another search are passed over", "error", err)
		} else {
			e.c.Log.Debug("added the hints of another search", "entries", n)
		}
	}
	// The table has all it can know now. What it learns from here on it learns by searching.
	e.last, e.effort = job.State, math.MaxUint64
	stop, beats := func() {}, 0
	if progress != nil {
		stop = every(ProgressPeriod, func() {
			p := e.search.Progress()
			var outlook *Outlook
			if beats++; beats%watchEvery == 1 {
				outlook = e.outlook(job.State)
			}
			progress(Progress{p.Nodes, p.Evaluations, e.search.Table.Fill(), outlook})
		})
	}
	r := e.search.SearchBelow(ctx, job.Parent, job.State, job.Budget)
	stop()
	e.ran += r.Nodes
	if job.Budget > 0 {
		e.effort = leastEffort + 4*e.ran + 16*min(job.Budget, 1<<56)
	}
	out := Result{Verdict: r.Verdict, Phi: r.Phi, Delta: r.Delta, Nodes: r.Nodes, Evaluations: r.Evaluations}
	if r.Verdict == eval.Open {
		out.Children = e.children(e.search.Children(job.State))
	}
	e.mu.Lock()
	out.Solved = e.solved.empty()
	e.mu.Unlock()
	return out, nil
}

// leastEffort is the number of nodes that proofs may always take: about a second. They may take more for positions
// that the engine has searched and its table has forgotten, and for positions that the makers of its hints have
// searched. A claim that needs even more rests on false hints.
const leastEffort = 100_000

var errVain = errors.New("a proof takes far more nodes than the search of its claim")

// doubt drops what the table knows, since a claim that it made could not be proved.
func (e *Engine) doubt(why error) {
	e.c.Log.Warn("the table is cleared; from now on, positions that hints call solved are searched", "error", why)
	e.search.Table.Clear()
	e.doubts = true
}

// Learn adds facts that others have proved and keep the evidence for. Facts of another board are passed
// over. Any goroutine may call Learn at any time: a search under way meets the facts in the table.
func (e *Engine) Learn(facts []proof.Fact) {
	for _, f := range facts {
		s, err := f.Key.State(e.c.Board)
		if err != nil || f.Verdict == eval.Open {
			continue
		}
		e.search.Insert(s, f.Verdict, f.Nodes)
		e.mu.Lock()
		if len(e.news) < maxKnown {
			e.news = append(e.news, f)
		}
		e.mu.Unlock()
	}
}

// catchUp moves learned facts to the known ones. Learn cannot do so: known belongs to the goroutine
// that searches or proves.
func (e *Engine) catchUp() {
	e.mu.Lock()
	news := e.news
	e.news = nil
	e.mu.Unlock()
	for _, f := range news {
		e.remember(f)
	}
}

// remember keeps a fact whose evidence need not be delivered.
func (e *Engine) remember(f proof.Fact) {
	if _, ok := e.known[f.Key]; ok || len(e.known) < maxKnown {
		e.known[f.Key] = f.Verdict
	}
}

// Prove proves facts until ctx ends, those with the most arrows first, and otherwise in their order.
// Facts with the same number of arrows make one part, which cites what is known, the facts of earlier
// parts among it. A fact that cannot be proved in time, or that is known, is left out. alive, if
// given, is called from another goroutine once every ProgressPeriod with progress, and never after
// Prove has returned. Prove gives up when it has searched far more nodes than the claims can have needed. The
// only errors are those of writing.
func (e *Engine) Prove(ctx context.Context, facts []proof.Fact, alive func(proved int)) (parts []Part, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	seen, begun := e.activity(), e.search.Nodes()
	defer every(ProgressPeriod, func() {
		// The search under way is counted apart, until it ends: at first it is that of the last job.
		if max(e.search.Nodes()-begun, e.search.Progress().Nodes) > e.effort {
			cancel(errVain)
		}
		if now := e.activity(); alive != nil && (now != seen || e.writing.Load()) {
			seen = now
			proved := 0
			if b := e.builder.Load(); b != nil {
				proved = b.Proved()
			}
			alive(proved)
		}
	})()
	e.catchUp()
	byArrows := slices.Clone(facts)
	slices.SortStableFunc(byArrows, func(a, b proof.Fact) int {
		return cmp.Compare(proof.Arrows(b.Key), proof.Arrows(a.Key))
	})
	for len(byArrows) > 0 && ctx.Err() == nil {
		arrows, n := proof.Arrows(byArrows[0].Key), 1
		for n < len(byArrows) && proof.Arrows(byArrows[n].Key) == arrows {
			n++
		}
		part, err := e.part(ctx, byArrows[:n], arrows)
		if err != nil {
			return nil, err
		}
		if len(part.Facts) > 0 {
			parts = append(parts, part)
		}
		byArrows = byArrows[n:]
	}
	if err := context.Cause(ctx); errors.Is(err, errVain) {
		e.doubt(err)
	}
	return parts, nil
}

// part proves facts with the same number of arrows. A part without facts is none.
func (e *Engine) part(ctx context.Context, facts []proof.Fact, arrows int) (p Part, err error) {
	c := proof.Certificate{Board: e.c.Board, Leaves: eval.LeavesOf(e.c.RulesOnly)}
	builder := proof.NewBuilder(e.c.Board, proof.BuilderOptions{
		Leaves:     c.Leaves,
		Known:      func(k amazons.Key) eval.Verdict { return e.known[k] },
		CiteAbove:  arrows,
		MaxEntries: cmp.Or(e.c.maxEntries, maxEntries),
	}, e.search.Witnesses...)
	e.builder.Store(builder)
	defer e.builder.Store(nil)
	for _, fact := range facts {
		if ctx.Err() != nil {
			break
		}
		if _, ok := e.known[fact.Key]; ok {
			continue
		}
		s, err := fact.Key.State(e.c.Board)
		if err != nil {
			continue
		}
		err = builder.Prove(ctx, s, fact.Verdict)
		switch {
		case err == nil:
			p.Facts = append(p.Facts, fact)
			c.Roots = append(c.Roots, proof.Root{State: s, Claim: fact.Verdict})
		case errors.Is(err, proof.ErrNotProved):
			e.doubt(err) // hints may be false, or two positions have one hash
		case ctx.Err() != nil:
		case errors.Is(err, proof.ErrFull):
			e.c.Log.Warn("a position's proof is larger than a part may be", "error", err)
		default:
			e.c.Log.Warn("a claim of the search was not proved", "error", err)
		}
	}
	if len(p.Facts) == 0 {
		return Part{}, nil
	}
	e.writing.Store(true)
	defer e.writing.Store(false)
	c.Cited, c.Set = builder.Cited(), builder.Take()
	p.Entries = c.Set.Len()
	if p.Data, err = proof.Encode(c); err != nil {
		return Part{}, err
	}
	// From now on these facts have a part, so later parts cite them in place of proving them again.
	p.ID = proof.IDOf(p.Data)
	for i := range p.Facts {
		p.Facts[i].Certificate = p.ID
		e.remember(p.Facts[i])
	}
	return p, nil
}
