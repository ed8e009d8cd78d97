// Package farm puts a campaign together: its store, its tree, the services around it, and what is done when the tree
// is settled: the certificate is assembled, written, checked by the independent checker, and the answer is stored.
package farm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/master/assemble"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// ErrVerification is wrapped by every error about a certificate that the checker refuses, or that cannot be made whole.
var ErrVerification = errors.New("verification failed")

// Options say what campaign it is and where its files are. Zero stands for the default where one is named.
type Options struct {
	Root       amazons.Position
	FirstMoves []amazons.Move // when given, only these are tried; sorted, each once
	RulesOnly  bool           // the certificate may use leaf rule 1 alone
	StoreFile  string         // made if it is not there
	ProofFile  string         // of the certificate. Default: StoreFile with the ending .proof
	Build      string         // of this program; workers of another are refused
	// AllowOtherBuilds takes workers of other builds.
	AllowOtherBuilds bool
	MaxNodes         uint64 // ends the run when they are spent; 0: no limit
	Stay             bool   // go on serving when all is done
	// Embedded says that all workers are of this process. What they upload has the right SHA-256 and is then not verified before it
	// is stored; what others upload is. The checker goes over the final certificate in any case.
	Embedded bool
	// MaxProved is the number of proved positions that are remembered so that uploads can be verified, of 11 to 16 bytes of memory each. Default
	// 268,435,456; negative: none. Beyond it, false claims are found by the final check only; what is damaged is refused in any case.
	MaxProved int
	// MinFreeBytes is how much of the store's disk is left to others; when there is less the campaign pauses. Default 256 MiB; negative: nothing. See store.Options.
	MinFreeBytes int64
	// CheckWorkers is the number of goroutines of the checker. Default: one a core.
	CheckWorkers int
	// InitialBudget, MaxBudget, SplitAfter and EasyReplies are those of tree.Config.
	InitialBudget, MaxBudget, SplitAfter uint64
	EasyReplies                          bool
	// MaxTreeNodes is MaxNodes of tree.Config.
	MaxTreeNodes int

	// Limits are further settings of the services and of the tree.
	Limits Limits

	Heartbeat  time.Duration              // default 1 s
	Now        func() time.Time           // the clock for what people see. Default: time.Now
	freeBytes  func(string) (int64, bool) // for tests
	Registerer prometheus.Registerer      // default: nobody reads the metrics
	Log        *slog.Logger               // default: discards
}

// Farm is an open campaign.
type Farm struct {
	Master *rpc.Master
	// Created says that the store was made now; otherwise the campaign goes on from it.
	Created bool

	options  Options
	campaign store.Campaign
	store    *store.Store
	shelf    *shelf
	metrics  *rpc.Metrics
	known    *store.Result // stored before
	began    time.Time

	// What the conclusion found; read after Master.Run has returned.
	settled  *tree.Settled
	evidence rpc.Evidence
	searched time.Duration
	checked  time.Duration
	winning  []string
	file     store.CertificateFile
	verified bool
}

// ProofFile returns where the certificate of a store goes when nobody says otherwise.
func ProofFile(storeFile string) string {
	return strings.TrimSuffix(storeFile, filepath.Ext(storeFile)) + ".proof"
}

// Open opens the campaign's store, or makes it, and restores its tree. Nothing is searched before Master.Run. Errors: those of
// the store (ErrCampaign where it holds another campaign), of the tree, of the file system.
func Open(o Options) (_ *Farm, err error) {
	if o.ProofFile == "" {
		o.ProofFile = ProofFile(o.StoreFile)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	if err := folderOf(o.ProofFile); err != nil {
		return nil, err
	}
	f := &Farm{options: o, began: time.Now()}
	f.campaign = store.Campaign{Board: o.Root.Board.String(), Root: o.Root.String(), RulesOnly: o.RulesOnly, Build: o.Build, Created: time.Now().UTC()}
	for _, m := range o.FirstMoves {
		f.campaign.FirstMoves = append(f.campaign.FirstMoves, m.String())
	}
	settings := store.Options{MinFreeBytes: o.MinFreeBytes, FreeBytes: o.freeBytes}
	s, err := store.Open(o.StoreFile, settings)
	if errors.Is(err, store.ErrMissing) {
		s, err = store.Create(o.StoreFile, f.campaign, settings)
		f.Created = err == nil
	}
	if err != nil {
		return nil, err
	}
	f.store = s
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.Campaign().Same(f.campaign); err != nil {
		return nil, err
	}
	if r, ok, err := s.Result(); err != nil {
		return nil, err
	} else if ok {
		f.known = &r
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	growth := tree.Config{
		Board: o.Root.Board, Root: o.Root, FirstMoves: o.FirstMoves,
		InitialBudget: o.InitialBudget, MaxBudget: o.MaxBudget, SplitAfter: o.SplitAfter, EasyReplies: o.EasyReplies, MaxNodes: o.MaxTreeNodes,
	}
	o.Limits.tree(&growth)
	t, err := tree.New(growth, snapshot)
	if err != nil {
		return nil, err
	}
	if f.shelf, err = newShelf(s); err != nil {
		return nil, err
	}
	f.metrics = rpc.NewMetrics(o.Registerer)
	RegisterDisk(o.Registerer, o.StoreFile)
	var admit func(context.Context, []byte) (func(), error)
	if !o.Embedded {
		a := &admission{farm: f, workers: o.CheckWorkers, ledger: proof.NewLedger(o.Root.Board, o.RulesOnly, o.MaxProved), full: o.MaxProved < 0}
		admit = a.admit
		RegisterLedger(o.Registerer, a.ledger)
	}
	services := rpc.Config{
		Root: o.Root, FirstMoves: o.FirstMoves, RulesOnly: o.RulesOnly, StoreFile: o.StoreFile,
		Build: o.Build, AllowOtherBuilds: o.AllowOtherBuilds, MaxNodes: o.MaxNodes, Stay: o.Stay, Heartbeat: o.Heartbeat, Now: o.Now,
		ReadRoots: f.readRoots, Admit: admit, Conclude: f.concludeOrWait, Look: newLibrary(o.Root.Board, o.RulesOnly, s, f.shelf.list).Look, Metrics: f.metrics, Log: o.Log,
	}
	o.Limits.services(&services)
	if f.Master, err = rpc.New(services, t, f.shelf); err != nil {
		return nil, err
	}
	return f, nil
}

// folderOf says early that a file cannot be written.
func folderOf(file string) error {
	folder := filepath.Dir(file)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return cli.Usagef("the folder %s for the certificate does not exist", folder)
	case err != nil:
		return fmt.Errorf("folder for the certificate: %w", err)
	case !info.IsDir():
		return cli.Usagef("%s is not a folder, so the certificate cannot be written there", folder)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return cli.Usagef("%s is not a regular file, so the certificate cannot be written there", file)
	}
	return nil
}

// Close closes the store. Master.Run has returned before, or was never called.
func (f *Farm) Close() error { return f.store.Close() }

// readRoots judges an uploaded certificate and returns its claims.
func (f *Farm) readRoots(data []byte) ([]rpc.Root, error) {
	c, err := proof.ReadInfo(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	board := f.options.Root.Board
	switch {
	case c.Board != board:
		return nil, fmt.Errorf("it is for board %v, the campaign's is %v", c.Board, board)
	case f.options.RulesOnly && !c.RulesOnly:
		return nil, errors.New("it uses the counting rule, which this campaign does not allow")
	}
	roots := make([]rpc.Root, len(c.Roots))
	for i, r := range c.Roots {
		outcome := tree.Lost
		if r.Claim == eval.Won {
			outcome = tree.Won
		}
		roots[i] = rpc.Root{Key: r.State.CanonicalKey(board), Outcome: outcome}
	}
	return roots, nil
}

// concludeOrWait is conclude; an error for want of room, for the certificate or in the store, is one that passes.
func (f *Farm) concludeOrWait(ctx context.Context, e rpc.Evidence, report func(state, why string)) (rpc.Conclusion, error) {
	c, err := f.conclude(ctx, e, report)
	if store.DiskFull(err) && !errors.Is(err, store.ErrFailed) {
		err = rpc.NoRoom(err)
	}
	return c, err
}

// conclude makes the certificate of the settled tree, has it checked, and stores the answer. A certificate that is there already,
// just as it was when it was checked, is not made again.
func (f *Farm) conclude(ctx context.Context, e rpc.Evidence, report func(state, why string)) (rpc.Conclusion, error) {
	f.settled, f.evidence, f.searched = &e.Settled, e, time.Since(f.began)
	if f.known != nil && f.known.Verified && f.unchanged(f.known.Certificate) {
		f.file, f.verified = f.known.Certificate, true
		if f.known.WinningMove != "" {
			f.winning = append(f.winning, f.known.WinningMove)
		}
		return f.conclusion(), nil
	}
	name := f.options.ProofFile
	report(rpc.StateAssembling, "the winner is known; its certificate is being put together")
	roots := assemble.Roots(f.options.Root, f.options.FirstMoves, e.Settled)
	fragments, err := f.fragments()
	if err != nil {
		return rpc.Conclusion{}, err
	}
	// Under its own name a certificate appears only after the checker has accepted it.
	draft := name + ".unverified"
	out, err := assemble.Write(ctx, draft, assemble.Input{
		Board: f.options.Root.Board, RulesOnly: f.options.RulesOnly, Roots: roots, Won: e.Won, Fragments: fragments,
	})
	if errors.Is(err, assemble.ErrMissing) {
		f.metrics.Verified(false)
		return rpc.Conclusion{}, fmt.Errorf("%w: the certificate cannot be made whole: %w", ErrVerification, err)
	} else if err != nil {
		return rpc.Conclusion{}, err
	}
	report(rpc.StateVerifying, "the winner is known; the checker goes over its certificate")
	began := time.Now()
	r, err := checker.CheckFile(ctx, draft, checker.Options{RulesOnly: f.options.RulesOnly, Workers: f.options.CheckWorkers})
	f.checked = time.Since(began)
	if err == nil {
		err = f.claims(r, roots)
	}
	if err != nil {
		if ctx.Err() != nil {
			return rpc.Conclusion{}, ctx.Err()
		}
		f.metrics.Verified(false)
		return rpc.Conclusion{}, fmt.Errorf("%w: %s: %w", ErrVerification, draft, err)
	}
	f.metrics.Verified(true)
	if err := os.Rename(draft, name); err != nil {
		return rpc.Conclusion{}, fmt.Errorf("name the verified certificate: %w", err)
	}
	if path, err := filepath.Abs(name); err == nil {
		name = path
	}
	f.file = store.CertificateFile{Path: name, SHA256: r.SHA256, Bytes: r.Bytes, Positions: uint64(r.Entries)}
	f.verified = true
	if f.settled.Outcome == tree.Won {
		if move, ok := out.Set.WinningMove(f.options.Root.Board, f.options.Root.State()); ok {
			f.winning = append(f.winning, move.String())
		}
	}
	if err := f.store.SetResult(f.result()); err != nil {
		return rpc.Conclusion{}, err
	}
	return f.conclusion(), nil
}

// claims holds what the checker found proved against what the campaign says.
func (f *Farm) claims(r *checker.Report, roots []proof.Root) error {
	if len(r.Roots) != len(roots) {
		return fmt.Errorf("the certificate has %d roots instead of %d", len(r.Roots), len(roots))
	}
	for i, root := range roots {
		claim := "loss"
		if root.Claim == eval.Won {
			claim = "win"
		}
		p := root.Position(f.options.Root.Board)
		if got := r.Roots[i]; got.Position != p.String() || got.Claim != claim {
			return fmt.Errorf("the certificate proves a %s at %s instead of a %s at %s", got.Claim, got.Position, claim, p)
		}
	}
	return nil
}

func (f *Farm) fragments() ([]assemble.Fragment, error) {
	list, err := f.store.Certificates()
	if err != nil {
		return nil, err
	}
	var fragments []assemble.Fragment
	for _, c := range list {
		r, size, err := f.store.Certificate(c.ID)
		if err != nil {
			return nil, err
		}
		fragments = append(fragments, assemble.Fragment{ID: c.ID, Data: r, Size: size})
	}
	return fragments, nil
}

// unchanged reports whether a certificate's file is there with the bytes that were checked.
func (f *Farm) unchanged(c store.CertificateFile) bool {
	asked, err := filepath.Abs(f.options.ProofFile)
	if err != nil || asked != c.Path {
		return false
	}
	file, err := os.Open(c.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, file)
	return err == nil && n == c.Bytes && hex.EncodeToString(h.Sum(nil)) == c.SHA256
}

// winningMoves returns the moves of the root that are known to win: those that the certificate or the tree names, and those that lead
// to the same position but for a symmetry.
func (f *Farm) winningMoves() []string {
	root := f.options.Root
	lost := map[amazons.Key]bool{}
	for _, m := range f.evidence.FirstMoves {
		if m.Outcome == tree.Lost {
			lost[m.Key] = true
		}
	}
	for _, text := range f.winning {
		if m, err := root.ParseMove(text); err == nil {
			lost[root.After(m).State().CanonicalKey(root.Board)] = true
		}
	}
	list := []string{}
	state := root.State()
	for _, m := range state.Moves(nil) {
		if lost[state.After(m).CanonicalKey(root.Board)] {
			list = append(list, m.String())
		}
	}
	slices.Sort(list)
	return list
}

// winner names the winner, "" where no given first move wins.
func (f *Farm) winner() string {
	if f.settled == nil || f.settled.Outcome == tree.Unknown {
		return ""
	}
	return cli.WinnerName(f.options.Root, f.settled.Outcome == tree.Won)
}

func (f *Farm) conclusion() rpc.Conclusion {
	return rpc.Conclusion{
		Winner: f.winner(), Verified: f.verified, File: f.file.Path, Positions: f.file.Positions,
		Bytes: uint64(f.file.Bytes), SHA256: f.file.SHA256, WinningMoves: f.winningMoves(),
	}
}

// result is the answer as it is stored.
func (f *Farm) result() store.Result {
	r := store.Result{
		Outcome: f.settled.Outcome.String(), NoGivenMoveWins: f.settled.NoGivenMoveWins,
		Verified: f.verified, Certificate: f.file, Nodes: f.evidence.Spent, Seconds: f.searched.Seconds(),
		Finished: time.Now().UTC(), Build: f.options.Build,
	}
	if f.known != nil {
		r.Seconds = f.known.Seconds
	}
	switch f.settled.Outcome {
	case tree.Won:
		r.Winner = f.options.Root.ToMove.String()
	case tree.Lost:
		r.Winner = f.options.Root.ToMove.Other().String()
	}
	if moves := f.winningMoves(); len(moves) > 0 {
		r.WinningMove = moves[0]
	}
	return r
}

// Result returns the answer for people and programs, given how Master.Run ended. Seconds are those since Open.
func (f *Farm) Result(ended error) cli.SolveResult {
	r := cli.NewSolveResult(f.options.Root)
	r.Seconds, r.Store = time.Since(f.began).Seconds(), f.options.StoreFile
	r.SearchSeconds, r.VerifySeconds = r.Seconds, f.checked.Seconds()
	if stats, err := f.store.Stats(); err == nil {
		r.Nodes = stats.Spent
	}
	for _, m := range f.options.FirstMoves {
		r.FirstMoves = append(r.FirstMoves, cli.FirstMove{Move: m.String(), Outcome: f.firstMove(m)})
	}
	switch {
	case errors.Is(ended, rpc.ErrLimit):
		r.Stopped = "the limit of nodes is reached; the same command with a larger one goes on"
	case errors.Is(ended, rpc.ErrDrained), errors.Is(ended, context.Canceled):
		r.Stopped = "interrupted; the same command goes on"
	case ended != nil:
		r.MessageType, r.Error = "error", ended.Error()
	}
	if f.settled == nil {
		return r
	}
	r.SearchSeconds, r.Winner, r.WinningMoves = f.searched.Seconds(), f.winner(), f.winningMoves()
	if f.settled.NoGivenMoveWins && r.Stopped == "" {
		r.Stopped = "no given first move wins; the other moves were not asked"
	}
	if f.file.SHA256 != "" {
		r.Verified = f.verified
		r.Certificate = &cli.Certificate{Positions: f.file.Positions, Bytes: f.file.Bytes, SHA256: f.file.SHA256, File: f.file.Path}
	}
	return r
}

// firstMove says what is known of a given first move.
func (f *Farm) firstMove(m amazons.Move) string {
	for _, known := range f.evidence.FirstMoves {
		if known.Move == m {
			switch known.Outcome {
			case tree.Lost:
				return "wins"
			case tree.Won:
				return "loses"
			}
		}
	}
	return "unknown"
}
