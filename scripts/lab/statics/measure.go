package main

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/testkit/selfplay"

	"golang.org/x/sync/errgroup"
)

// settings are what a measurement depends on, and the threads that share it.
type settings struct {
	games  int
	seed   uint64 // of the first game; each has its own
	lowest int    // positions after fewer moves are left out
	play   selfplay.Settings
	// empty squares up to which the static evaluation plays out areas, one or all that are left
	local      int
	databases  []*endgame.DB // one at least; the search uses the last
	nodes      uint64        // of each search; 0: no search
	tableBytes int64         // of each thread's search
	cores      int
	record     *record // of searches; nil: none
	enough     bool    // a row that has the paper's share is searched no further
}

// judge returns what searches judge positions with.
func (s settings) judge() *eval.Judge {
	return eval.NewJudge(s.databases[len(s.databases)-1], eval.DefaultSettings())
}

// judged is what became of one position of a game.
type judged struct {
	position  amazons.Position
	game      int
	moves     int            // that led to the position
	static    []eval.Verdict // without a database, then with each of them
	judging   time.Duration  // by the last of them
	search    eval.Verdict   // Open: not within the nodes
	nodes     uint64         // of the search; 0 where the position is decided without
	searching time.Duration
	// The search was not done: it was ended, or its row has the paper's share.
	unsearched bool
}

// progress tells another thread how far a measurement is.
type progress struct{ played, judged, all, searched, open atomic.Int64 }

// measure plays the games on a board and judges their positions. The answer does not depend on the
// number of cores, but for the times; with settings.enough it also depends on which search ends
// first. When ctx ends during the searches, what was found until then is returned with the error.
func measure(ctx context.Context, b amazons.Board, s settings, p *progress) ([]judged, error) {
	all, err := play(ctx, b, s, p)
	if err != nil {
		return nil, err
	}
	if err := evaluate(ctx, b, s, p, all); err != nil {
		return nil, err
	}
	if s.nodes == 0 {
		return all, nil
	}
	return all, search(ctx, b, s, p, all)
}

// play plays the games and returns the positions that count.
func play(ctx context.Context, b amazons.Board, s settings, p *progress) ([]judged, error) {
	start, err := amazons.Start(b)
	if err != nil {
		return nil, err
	}
	games := make([]selfplay.Game, s.games)
	players, playing := errgroup.WithContext(ctx)
	players.SetLimit(s.cores)
	for i := range games {
		players.Go(func() (err error) {
			if err := playing.Err(); err != nil {
				return err
			}
			games[i], err = selfplay.Play(start, s.seed+uint64(i), s.play)
			p.played.Add(1)
			return err
		})
	}
	if err := players.Wait(); err != nil {
		return nil, err
	}
	var out []judged
	for i, g := range games {
		for moves, position := range g.Positions() {
			if moves >= s.lowest {
				out = append(out, judged{position: position, game: i, moves: moves})
			}
		}
	}
	p.all.Store(int64(len(out)))
	return out, nil
}

// evaluate fills in what the static rules say of each position, without a database and with each.
func evaluate(ctx context.Context, b amazons.Board, s settings, p *progress, all []judged) error {
	static := eval.FullSettings()
	static.LocalSearch, static.AreaSearch = s.local, s.local
	judges := []*eval.Judge{eval.NewJudge(nil, static)}
	for _, db := range s.databases {
		judges = append(judges, eval.NewJudge(db, static))
	}
	var next atomic.Int64
	threads, judging := errgroup.WithContext(ctx)
	for range s.cores {
		threads.Go(func() error {
			var mine []*eval.Judge
			for _, j := range judges {
				mine = append(mine, j.Clone())
			}
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				if err := judging.Err(); err != nil {
					return err
				}
				r := &all[i]
				for _, j := range mine {
					begun := time.Now()
					v, _ := j.Evaluate(r.position.State())
					r.static, r.judging = append(r.static, v), time.Since(begun)
				}
				r.search = r.static[len(r.static)-1]
				p.judged.Add(1)
			}
			return nil
		})
	}
	return threads.Wait()
}

// search searches the positions that are open, those after the most moves first. Of a row the
// positions come first whose successor in the game took the fewest nodes: where a row is searched
// only until it has the paper's share, they are the likeliest to bring it there.
func search(ctx context.Context, b amazons.Board, s settings, p *progress, all []judged) (err error) {
	var open []*judged
	for i := range all {
		r := &all[i]
		if r.search != eval.Open {
			continue
		}
		if v, nodes, ok := s.record.get(r.position, s.nodes); ok {
			r.search, r.nodes = v, nodes
			continue
		}
		r.unsearched = true
		open = append(open, r)
	}
	p.open.Store(int64(len(open)))
	seats := make([]*seat, s.cores)
	for i := range seats {
		seat, err := newSeat(b, s.judge(), s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, seat.table.Close()) }()
		seats[i] = seat
	}
	enough := newEnough(b, s, all)
	slices.SortStableFunc(open, func(a, b *judged) int { return b.moves - a.moves })
	for len(open) > 0 {
		end := slices.IndexFunc(open, func(r *judged) bool { return r.moves != open[0].moves })
		if end < 0 {
			end = len(open)
		}
		sortByExpectedNodes(open[:end], all)
		if err := searchRow(ctx, seats, open[:end], enough, s.record, p); err != nil {
			return err
		}
		open = open[end:]
	}
	return nil
}

// sortByExpectedNodes puts those positions of a row first whose successors in their games took the
// fewest nodes, and last those whose successors were not decided.
func sortByExpectedNodes(row []*judged, all []judged) {
	type place struct{ game, moves int }
	nodes := map[place]uint64{}
	for i := range all {
		if r := &all[i]; r.search != eval.Open {
			nodes[place{r.game, r.moves}] = r.nodes
		}
	}
	expected := func(r *judged) uint64 {
		if n, ok := nodes[place{r.game, r.moves + 1}]; ok {
			return n
		}
		return math.MaxUint64
	}
	slices.SortStableFunc(row, func(a, b *judged) int { return cmp.Compare(expected(a), expected(b)) })
}

// searchRow searches positions of one row, each seat in a thread of its own, until the row has enough.
func searchRow(ctx context.Context, seats []*seat, row []*judged, enough *enough, record *record, p *progress) error {
	var next atomic.Int64
	threads, searching := errgroup.WithContext(ctx)
	for _, seat := range seats {
		threads.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(row)); i = next.Add(1) - 1 {
				r := row[i]
				p.searched.Add(1)
				if enough.reached(r.moves) {
					continue
				}
				if err := seat.searchFor(searching, r); err != nil {
					return err
				}
				if r.search != eval.Open {
					enough.solved(r.moves)
				}
				if err := record.add(r.position, r.search, r.nodes); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return threads.Wait()
}

// seat is what one thread searches positions with.
type seat struct {
	table  *dfpn.Table
	search *dfpn.Searcher
	nodes  uint64
}

func newSeat(b amazons.Board, judge *eval.Judge, s settings) (*seat, error) {
	table, err := dfpn.NewTable(s.tableBytes)
	if err != nil {
		return nil, err
	}
	search, err := dfpn.New(dfpn.Options{Board: b, Table: table, Judge: judge.Clone})
	return &seat{table, search, s.nodes}, err
}

// searchFor fills in what a search of a position finds. It begins with an empty table.
func (t *seat) searchFor(ctx context.Context, r *judged) error {
	begun := time.Now()
	t.table.Clear()
	result := t.search.Search(ctx, r.position.State(), t.nodes)
	if result.Verdict == eval.Open && ctx.Err() != nil {
		return ctx.Err()
	}
	r.search, r.nodes, r.searching, r.unsearched = result.Verdict, result.Nodes, time.Since(begun), false
	return nil
}

// enough counts how many positions of each row are decided, to tell which rows have the paper's share.
type enough struct {
	mu sync.Mutex
	// by moves: decided positions that are the paper's share; none for rows that are searched to
	// their end
	need    map[int]int
	decided map[int]int
}

func newEnough(b amazons.Board, s settings, all []judged) *enough {
	e := &enough{need: map[int]int{}, decided: map[int]int{}}
	if !s.enough {
		return e
	}
	for _, r := range rows(all) {
		if paper, ok := paperAt(b.String(), r.moves); ok {
			e.need[r.moves] = (paper.bySearch*r.games + paper.games - 1) / paper.games
			e.decided[r.moves] = r.search
		}
	}
	return e
}

func (e *enough) reached(moves int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	need, ok := e.need[moves]
	return ok && e.decided[moves] >= need
}

func (e *enough) solved(moves int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.decided[moves]++
}
