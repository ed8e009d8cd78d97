package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// errBudget says that the nodes of the budget were used up before the winner was known.
var errBudget = cli.As(cli.ErrLimit, errors.New("the limit of nodes is reached"))

// question is a position to solve, and how to solve it.
type question struct {
	position   amazons.Position
	firstMoves []amazons.Move // when given, only these are tried
	nodes      uint64         // budget; 0: none
	prove      bool           // make a certificate
	verify     bool           // have it checked
	rulesOnly  bool           // by the rules of the game alone
	proofFile  string         // where the certificate goes; empty: nowhere
}

// solver answers questions one after the other, over one table.
// One goroutine uses it. Every question begins with an empty table, so no answer depends on the one
// before.
type solver struct {
	table     *dfpn.Table
	cores     int
	judge     func() *eval.Judge             // for each thread; nil: the search's own, without a database
	searchers map[amazons.Board]*dfpn.Prover // over the one table
	phase     atomic.Pointer[func() string]  // describes the progress; nil: nothing has begun
}

func newSolver(tableBytes int64, cores int, judge func() *eval.Judge) (*solver, error) {
	table, err := dfpn.NewTable(tableBytes)
	if err != nil {
		return nil, err
	}
	return &solver{table: table, cores: cores, judge: judge, searchers: make(map[amazons.Board]*dfpn.Prover)}, nil
}

// close frees the table, and those that witnesses have of their own.
func (s *solver) close() error {
	var errs []error
	for _, search := range s.searchers {
		errs = append(errs, search.Close())
	}
	return errors.Join(append(errs, s.table.Close())...)
}

// searcher empties the table and returns the search of a board, with one witness a core: the builder of a proof asks
// witnesses which moves win. A search of another board must not meet its entries.
func (s *solver) searcher(b amazons.Board) (found *dfpn.Prover, err error) {
	if found = s.searchers[b]; found == nil {
		found, err = dfpn.NewProver(dfpn.Options{Board: b, Table: s.table, Threads: s.cores, Judge: s.judge})
		if err != nil {
			return nil, err
		}
		s.searchers[b] = found // there are 64 boards
	}
	found.Forget()
	return found, nil
}

// answer is one question being answered.
type answer struct {
	question
	search *dfpn.Prover
	phase  *atomic.Pointer[func() string] // of the solver
	result cli.SolveResult
	left   dfpn.Result  // of the last search: its numbers say what is left to prove
	claims []proof.Root // what the answer rests on
	builds []proof.Root // positions after first moves whose win the certificate shall show, if possible
}

// solve answers a question. With errBudget, cli.ErrVerification and after an interruption the result
// holds what is known so far.
func (s *solver) solve(ctx context.Context, q question) (cli.SolveResult, error) {
	begun := time.Now()
	search, err := s.searcher(q.position.Board)
	if err != nil {
		return cli.SolveResult{}, err
	}
	a := &answer{question: q, search: search, phase: &s.phase, result: cli.NewSolveResult(q.position)}
	if err = a.run(ctx); errors.Is(err, context.Canceled) {
		err = cli.ErrInterrupted
		a.result.Stopped = err.Error()
		if a.result.Winner != "" {
			a.result.Stopped += " before the certificate was checked"
		}
	}
	a.result.Seconds = time.Since(begun).Seconds()
	a.result.Cores, a.result.TableBytes = s.cores, s.table.Bytes()
	return a.result, err
}

// tell sets what describes the progress from now on.
func (a *answer) tell(phase func() string) { a.phase.Store(&phase) }

func (a *answer) run(ctx context.Context) error {
	// A claim of the search may be false: two positions may share a hash. The proof shows it, and the
	// search begins again.
	for try := 1; ; try++ {
		begun := time.Now()
		err := a.find(ctx)
		a.result.SearchSeconds += time.Since(begun).Seconds()
		if err != nil {
			a.result.Stopped = err.Error()
			return err
		}
		if !a.prove {
			if a.result.Winner == "" {
				return nil
			}
			// A thread may have overwritten the table's entry of a position that wins; the best move
			// is known all the same.
			best, known := a.search.Best(a.position.State())
			for _, c := range a.search.Children(a.position.State()) {
				if c.Verdict == eval.Lost || known && c.Move == best {
					a.result.WinningMoves = append(a.result.WinningMoves, c.Move.String())
				}
			}
			return nil
		}
		err = a.certify(ctx)
		if errors.Is(err, proof.ErrNotProved) && try < 3 {
			// The claims and the winner are void. The nodes were spent: they count on, also against the
			// budget.
			fresh := cli.NewSolveResult(a.position)
			fresh.Nodes, fresh.Evaluations, fresh.SearchSeconds = a.result.Nodes, a.result.Evaluations,
				a.result.SearchSeconds
			a.result, a.claims, a.builds = fresh, nil, nil
			a.search.Forget() // the false claim is in a table
			continue
		}
		return err
	}
}

// look searches one position within the rest of the budget, and for at most so many nodes; 0: no
// other limit. It returns Open when the nodes are used up.
func (a *answer) look(ctx context.Context, st amazons.State, nodes uint64) (eval.Verdict, error) {
	for {
		limit := nodes
		if a.nodes > 0 {
			if a.result.Nodes >= a.nodes {
				return eval.Open, fmt.Errorf("%w: %d nodes", errBudget, a.result.Nodes)
			}
			left := a.nodes - a.result.Nodes
			if limit == 0 || left < limit {
				limit = left
			}
		}
		r := a.search.Search(ctx, st, limit)
		a.left = r
		a.result.Nodes += r.Nodes
		a.result.Evaluations += r.Evaluations
		switch {
		case r.Verdict != eval.Open:
			return r.Verdict, nil
		case ctx.Err() != nil:
			return eval.Open, ctx.Err()
		case nodes > 0 && r.Nodes >= nodes:
			return eval.Open, nil
		}
	}
}

// find searches until the winner is known, and notes the claims to prove.
func (a *answer) find(ctx context.Context) error {
	begun := time.Now()
	a.tell(func() string {
		p := a.search.Progress()
		return fmt.Sprintf("searching, %.0f nodes/s, %d nodes", float64(p.Nodes)/time.Since(begun).Seconds(), p.Nodes)
	})
	if len(a.firstMoves) > 0 {
		return a.findAmong(ctx)
	}
	v, err := a.look(ctx, a.position.State(), 0)
	if err != nil {
		a.result.ProofNumber, a.result.DisproofNumber = a.left.Phi, a.left.Delta
		return err
	}
	a.result.Winner = cli.WinnerName(a.position, v)
	a.claims = []proof.Root{proof.RootOf(a.position, v)}
	return nil
}

// findAmong searches the positions after the given first moves in turns, each time with twice the
// nodes. It ends when one of them is lost for the opponent, or all are won.
func (a *answer) findAmong(ctx context.Context) (err error) {
	verdicts := make([]eval.Verdict, len(a.firstMoves))
	open := len(a.firstMoves)
	// The table keeps what earlier turns found, so a turn goes on and does not begin again. Nobody knows
	// beforehand which move wins, and no move waits long behind a hard one.
	winning := -1
	for nodes := uint64(10_000); open > 0 && winning < 0 && err == nil; nodes *= 2 {
		for i, m := range a.firstMoves {
			if verdicts[i] != eval.Open {
				continue
			}
			if open == 1 {
				nodes = 0 // no other move is open
			}
			if verdicts[i], err = a.look(ctx, a.position.State().After(m), nodes); err != nil {
				break
			}
			if verdicts[i] != eval.Open {
				open--
			}
			if verdicts[i] == eval.Lost {
				winning = i
				break
			}
		}
	}
	for i, m := range a.firstMoves {
		a.result.FirstMoves = append(a.result.FirstMoves, cli.FirstMove{Move: m.String(),
			Verdict: eval.MoveWord(verdicts[i])})
	}
	switch {
	case err != nil:
		return err
	case winning >= 0:
		a.result.Winner = cli.WinnerName(a.position, eval.Won)
		a.claims = []proof.Root{proof.RootOf(a.position, eval.Won)}
		a.builds = []proof.Root{proof.RootOf(a.position.After(a.firstMoves[winning]), eval.Lost)}
	case a.complete():
		a.result.Winner = cli.WinnerName(a.position, eval.Lost)
		a.claims = []proof.Root{proof.RootOf(a.position, eval.Lost)}
	default:
		// The root stays open, since its other moves were not asked. What is proved is one loss for each
		// given move: the opponent wins after it.
		a.result.Stopped = "no given first move wins; nothing was asked about the other moves"
		for _, m := range a.firstMoves {
			a.claims = append(a.claims, proof.RootOf(a.position.After(m), eval.Won))
		}
	}
	return nil
}

// complete reports whether the given first moves are all moves, up to symmetry. Only then are their
// losses the root's loss.
func (a *answer) complete() bool {
	s, b := a.position.State(), a.position.Board
	given := make(map[amazons.Key]bool)
	for _, m := range a.firstMoves {
		given[s.After(m).CanonicalKey(b)] = true
	}
	return !slices.ContainsFunc(s.Moves(nil), func(m amazons.Move) bool { return !given[s.After(m).CanonicalKey(b)] })
}

// maxEntries bounds the proved positions held in memory, about 40 bytes each: 8 GiB.
const maxEntries = 200 << 20

// certify makes the certificate of the claims, stores it, and has it checked, as far as the question
// asks for it.
func (a *answer) certify(ctx context.Context) error {
	begun := time.Now()
	c, err := a.extract(ctx)
	if err != nil {
		return err
	}
	if a.result.Winner != "" { // else moves that nobody asked about may win all the same
		a.result.WinningMoves = c.WinningMoves(a.position.State())
	}
	file := &cli.Certificate{Positions: uint64(c.Set.Len()), File: a.proofFile}
	var data []byte // of a certificate that goes nowhere
	if a.proofFile != "" {
		err = proof.WriteFile(a.proofFile, c)
	} else if data, err = proof.Encode(c); err == nil {
		file.Bytes, file.SHA256 = int64(len(data)), proof.IDOf(data).Name()
	}
	if err != nil {
		return err
	}
	a.result.ExtractSeconds = time.Since(begun).Seconds()
	a.result.Certificate = file
	if a.verify {
		return a.check(ctx, file, data)
	}
	if a.proofFile != "" {
		file.Bytes, file.SHA256, err = disk.SHA256(a.proofFile) // nobody checks it; else the checker says both
	}
	return err
}

// extract proves the claims from what the search left in the table.
func (a *answer) extract(ctx context.Context) (proof.Certificate, error) {
	builder := proof.NewBuilder(a.position.Board,
		proof.BuilderOptions{Leaves: eval.LeavesOf(a.rulesOnly), MaxEntries: maxEntries}, a.search.Witnesses...)
	a.tell(func() string {
		return fmt.Sprintf("the winner is known, extracting evidence: %d positions proved", builder.Proved())
	})
	// The win of a first move is proved before the root: then the root's entry names this move.
	for _, claim := range slices.Concat(a.builds, a.claims) {
		if err := builder.Prove(ctx, claim.State, claim.Claim); err != nil {
			return proof.Certificate{}, err
		}
	}
	return proof.Certificate{Board: a.position.Board, Leaves: eval.LeavesOf(a.rulesOnly), Roots: a.claims,
		Set: builder.Take()}, nil
}

// check has the independent checker verify the certificate: the file, or data where there is none.
func (a *answer) check(ctx context.Context, file *cli.Certificate, data []byte) error {
	a.tell(func() string {
		return fmt.Sprintf("the winner is known, checking the certificate: %d positions", file.Positions)
	})
	begun := time.Now()
	options := checker.Options{RulesOnly: a.rulesOnly, Workers: len(a.search.Witnesses)} // one a core
	var report *checker.Report
	var err error
	if a.proofFile != "" {
		report, err = checker.CheckFile(ctx, a.proofFile, options)
	} else {
		// With "worker solve -" small certificates come by the thousands: one goroutine for each 64
		// KiB is enough.
		options.Workers = min(options.Workers, 1+len(data)>>16)
		report, err = checker.Check(ctx, bytes.NewReader(data), int64(len(data)), options)
	}
	switch {
	case err == nil:
		file.Bytes, file.SHA256 = report.Bytes, report.SHA256
		a.result.Verified = true
		a.result.VerifySeconds = time.Since(begun).Seconds()
		return nil
	case ctx.Err() != nil:
		return err
	}
	return cli.As(cli.ErrVerification, fmt.Errorf("verification failed: %w", err))
}
