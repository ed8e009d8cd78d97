package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/selfplay"

	"golang.org/x/sync/errgroup"
)

// settings are what a measurement depends on, and the threads that share it.
type settings struct {
	games      int
	seed       uint64 // of the first game; each has its own
	lowest     int    // positions after fewer moves are left out
	play       selfplay.Settings
	local      int           // empty squares up to which the static evaluation plays out areas, one or all that are left
	databases  []*endgame.DB // one at least; the search uses the last
	nodes      uint64        // of each search; 0: no search
	tableBytes int64         // of each thread's search
	cores      int
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
}

// progress tells another thread how far a measurement is.
type progress struct{ played, judged, all atomic.Int64 }

// measure plays the games on a board and judges their positions. The answer does not depend on the number of cores, but for the
// times.
func measure(ctx context.Context, b amazons.Board, s settings, p *progress) ([]judged, error) {
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
	static := eval.FullSettings()
	static.LocalSearch, static.AreaSearch = s.local, s.local
	judges := []*eval.Judge{eval.NewJudge(nil, static)}
	for _, db := range s.databases {
		judges = append(judges, eval.NewJudge(db, static))
	}
	searching := eval.NewJudge(s.databases[len(s.databases)-1], eval.DefaultSettings())
	var next atomic.Int64
	threads, judging := errgroup.WithContext(ctx)
	for range s.cores {
		threads.Go(func() error {
			seat, err := newSeat(b, judges, searching, s)
			if err != nil {
				return err
			}
			for judging.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(out) {
					return seat.table.Close()
				}
				seat.judge(judging, &out[i])
				p.judged.Add(1)
			}
			return errors.Join(judging.Err(), seat.table.Close())
		})
	}
	return out, threads.Wait()
}

// seat is what one thread judges positions with.
type seat struct {
	judges []*eval.Judge
	table  *dfpn.Table
	search *dfpn.Searcher
	nodes  uint64
}

func newSeat(b amazons.Board, static []*eval.Judge, searching *eval.Judge, s settings) (*seat, error) {
	t := &seat{nodes: s.nodes}
	for _, j := range static {
		t.judges = append(t.judges, j.Clone())
	}
	var err error
	if t.table, err = dfpn.NewTable(s.tableBytes); err != nil {
		return nil, err
	}
	t.search, err = dfpn.New(dfpn.Options{Board: b, Table: t.table, Judge: searching.Clone})
	return t, err
}

// judge fills in what becomes of a position. A search begins with an empty table.
func (t *seat) judge(ctx context.Context, r *judged) {
	s := r.position.State()
	for _, j := range t.judges {
		begun := time.Now()
		v, _ := j.Evaluate(s)
		r.static, r.judging = append(r.static, v), time.Since(begun)
	}
	if r.search = r.static[len(r.static)-1]; r.search != eval.Open || t.nodes == 0 {
		return
	}
	begun := time.Now()
	t.table.Clear()
	result := t.search.Search(ctx, s, dfpn.Limit{Nodes: t.nodes})
	r.search, r.nodes, r.searching = result.Verdict, result.Nodes, time.Since(begun)
}
