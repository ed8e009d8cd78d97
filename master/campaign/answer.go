package campaign

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// noteWinning notes the moves of the root that a proof shows to win, if the root is won.
func (c *campaign) noteWinning(shown proof.Certificate) {
	if c.settled.Verdict != eval.Won || shown.Set == nil {
		return
	}
	if f := shown.Look(c.root.State()); f.Reason == proof.ByEntry {
		c.winning = append(c.winning, f.Move.String())
	}
	c.winning = append(c.winning, shown.WinningMoves(c.root.State())...)
}

// readWinning notes the winning moves of the proof that is published. Of a proof in parts, they are in the part that
// proves the root.
func (c *campaign) readWinning(ctx context.Context) {
	shown, err := proof.ReadFile(c.proofFile)
	if m, inParts := proof.ReadManifest(c.proofFile); inParts == nil {
		shown, _, err = m.ReadAround(ctx, c.proofFile, []amazons.Position{c.root}, proof.OneFilePositions)
	}
	if err != nil {
		c.farm.options.Log.Warn("winning moves could not be read from the proof", "error", err)
	}
	c.noteWinning(shown)
}

// winningMoves returns the moves of the root of a settled campaign that are known to win: those that the certificate or
// the tree names, and those that lead to the same position but for a symmetry.
func (c *campaign) winningMoves() []string {
	root := c.root
	lost := map[amazons.Key]bool{}
	for _, m := range c.evidence.FirstMoves {
		// The verdict is for the side to move after the move: its loss is the win of the first player.
		if m.Verdict == eval.Lost {
			lost[m.Key] = true
		}
	}
	for _, text := range c.winning {
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
	if len(list) == 0 && c.settled.Verdict == eval.Won { // a leaf rule decides the root
		rules := proof.Certificate{Board: root.Board, Leaves: eval.LeavesOf(c.about.RulesOnly), Set: new(proof.Set)}
		list = rules.WinningMoves(state)
	}
	slices.Sort(list)
	return list
}

// winner names the winner of a settled campaign, "" where no given first move wins.
func (c *campaign) winner() string { return cli.WinnerName(c.root, c.settled.Verdict) }

// conclusion is what the loop tells people of the answer, with the facts that state it.
func (c *campaign) conclusion(answer []proof.Fact) loop.Conclusion {
	return loop.Conclusion{Winner: c.winner(), Verified: c.verified, VerifiedBy: c.verifiedBy, File: c.file,
		Answer: answer, WinningMoves: c.winningMoves()}
}

// result is the answer as it is stored.
func (c *campaign) result() store.Result {
	r := store.Result{
		Verdict: c.settled.Verdict.String(), Winner: c.settled.Verdict.Winner(c.root.ToMove),
		NoGivenMoveWins: c.settled.NoGivenMoveWins, Verified: c.verified, VerifiedBy: c.verifiedBy, Certificate: c.file,
		Nodes:   c.evidence.Nodes,
		Seconds: c.searched.Seconds(), Finished: time.Now().UTC(), Build: c.farm.options.Services.Build,
	}
	// An answer whose file had to be made again keeps the time of the first search.
	if c.known != nil {
		r.Seconds = c.known.Seconds
	}
	if r.WinningMoves = c.winningMoves(); len(r.WinningMoves) > 0 {
		r.WinningMove = r.WinningMoves[0]
	}
	return r
}

// Result returns the answer of the first campaign for people and programs, given how Loop.Run
// ended. Seconds are those since Open, or since the campaign was added.
func (f *Farm) Result(ended error) cli.SolveResult { return f.Results(ended)[0] }

// GivenUp reports whether an operator has ended the first campaign before anybody knew its answer.
func (f *Farm) GivenUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.campaigns[0].givenUp()
}

func (c *campaign) givenUp() bool { return c.settled == nil && c.ended }

// Results returns the answers of all campaigns, by number.
func (f *Farm) Results(ended error) []cli.SolveResult {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []cli.SolveResult
	for _, c := range f.campaigns {
		list = append(list, c.answer(ended))
	}
	return list
}

// answer is what Results says of the campaign.
func (c *campaign) answer(ended error) cli.SolveResult {
	r := cli.NewSolveResult(c.root)
	r.Seconds, r.Store = cmp.Or(c.took, time.Since(c.began)).Seconds(), c.farm.options.StoreFile
	r.SearchSeconds, r.VerifySeconds = r.Seconds, c.checked.Seconds()
	if len(c.farm.campaigns) > 1 { // their boards may be the same
		r.Label = c.about.Name + ": "
	}
	if stats, err := c.farm.store.Stats(); err == nil {
		// Numbers begin at 1 and have no gaps, since no campaign leaves a store.
		r.Nodes = stats.Campaigns[c.about.Number-1].Nodes
	}
	for _, m := range c.firstMoves {
		r.FirstMoves = append(r.FirstMoves, cli.FirstMove{Move: m.String(), Verdict: c.firstMove(m)})
	}
	switch {
	// A verified answer stands, however the run ended.
	case c.verified || c.verifiedBy != "":
	case c.givenUp():
		r.Stopped = "an operator gave it up"
	case errors.Is(ended, loop.ErrLimit):
		r.Stopped = "the limit of nodes is reached; the same command with a larger one goes on"
	case errors.Is(ended, loop.ErrDrained), errors.Is(ended, context.Canceled):
		r.Stopped = "interrupted; the same command goes on"
		if err := c.farm.store.Room(0); errors.Is(err, store.ErrMissing) {
			r.Stopped = "interrupted; " + err.Error() + ", and the same command goes on"
		}
	case ended != nil:
		r.MessageType, r.Error = "error", ended.Error()
	}
	if c.settled == nil {
		return r
	}
	r.SearchSeconds, r.Winner, r.WinningMoves = c.searched.Seconds(), c.winner(), c.winningMoves()
	if c.settled.NoGivenMoveWins && r.Stopped == "" {
		r.Stopped = "no given first move wins; nothing was asked about the other moves"
	}
	if c.file.SHA256 != "" {
		r.Verified, r.VerifiedBy = c.verified, c.verifiedBy
		r.Certificate = &cli.Certificate{Positions: c.file.Positions, Bytes: c.file.Bytes, SHA256: c.file.SHA256,
			File: c.file.Path}
	}
	return r
}

// firstMove says what is known of a given first move.
func (c *campaign) firstMove(m amazons.Move) string {
	for _, known := range c.evidence.FirstMoves {
		if known.Move == m {
			return eval.MoveWord(known.Verdict)
		}
	}
	return eval.MoveWord(eval.Open)
}
