package tree

import (
	"fmt"

	"amazonsfarm/shared/amazons"
)

// Config holds the settings of a tree. Zero stands for the default.
type Config struct {
	// Board is the size of the board. Default: that of Root.
	Board amazons.Board
	// Root is the position to solve. Default: the starting position of Board.
	Root amazons.Position
	// FirstMoves, in Root's own orientation, restrict the question: the answer is
	// "won" when one of them wins, and "no given first move wins" when none does.
	// Default: none, that is all moves. An illegal move is an error.
	FirstMoves []amazons.Move

	// EasyReplies settles the replies to first moves one by one, the easiest first, instead of
	// going for the reply that is most likely to refute a first move: for lists of replies. If the
	// first move does not win after all, that is found later.
	EasyReplies bool

	// InitialBudget is the number of nodes of a leaf's first lease (less for some: ProbePercent);
	// it doubles with each return. Default 50,000, about half a second of one core on a small
	// board. Too small: the farm spends its time on messages. Too large: workers sit on bad leaves.
	InitialBudget uint64
	// ProbePercent is the least part of InitialBudget that a first lease has, in percent: one of
	// the most proving leaf has all of it, one of a leaf that is worth half as much to the root has
	// half of it, where there is more than one worker. Default 25, at most 100: all are alike. Too
	// small: more messages, and numbers that say little; too large: with many workers most of the
	// search is for leaves that turn out not to be needed.
	ProbePercent int
	// MaxBudget is the largest number of nodes of one lease, at least
	// InitialBudget. Default 5,000,000, about a minute of one core. Too
	// large: a lost worker loses that much work.
	MaxBudget uint64
	// SplitAfter is the number of nodes spent on a leaf after which it is split; it counts double
	// for each eighth of MaxNodes that is in use. Default 8,000,000. Too small: the tree grows and
	// the workers' tables are not used. Too large: the farm splits only when it starves.
	SplitAfter uint64

	// SplitBelow says when work is scarce, in percent: when the most useful leaf that is free is
	// worth less than that beside the most proving one, and there is more than one worker. A leaf
	// that comes back then is split when it has had InitialBudget, and from half of MaxNodes on
	// sixteen times that with each eighth that is in use. Default 50; negative: never. Too small:
	// workers search what is likely not needed; too large: the tree grows, and the workers' tables
	// are not used.
	SplitBelow int
	// WarmPercent is how much more a position is worth to a worker that has searched it itself, or
	// one above it before it was split, at each step down to it. Unit: percent of what it is worth
	// to others; default 125. 100: nothing is preferred, and workers search again what others'
	// tables know; too large: each stays where it is, whatever is most proving.
	WarmPercent int
	// ResultsPerTick is the number of results between two ticks that the master can take in, of all
	// its trees together. With more of them leases get longer, up to MaxBudget, until they are
	// about as many as that. Default 2,000. Too small: workers sit longer than need be on leaves
	// that turn out not to be needed; too large: they wait for the master.
	ResultsPerTick int
	// SilentTicks is the number of ticks without progress after which a lease is
	// lost. Default 3. Too small: leases of slow or far workers are lost.
	SilentTicks int
	// StarveTicks is the number of ticks for which a worker without any lease has
	// to wait until the largest running leases are called back to be split, one for
	// each four such workers. Default 2.
	StarveTicks int
	// MaxTries is the number of times a leaf may be lost, or come back without
	// anything in it, until it is set aside: shown, and granted only when no other
	// leaf is free, with the initial budget. Default 5.
	MaxTries int
	// ShortPercent is the part of its budget that an open result, of a lease that was not called
	// back, has to have used. Default 50; negative: none. Below it the result is a try that failed,
	// its numbers are not taken and its leaf is not split: a worker that does not search cannot
	// lead the others astray with what it makes up. Too large: what a search that found no way to
	// go on has learned is lost.
	ShortPercent int

	// CheckFirst is the number of results of a party whose numbers have to be confirmed by another
	// party's search before the others are taken unseen (trust.go). Default 0: none are checked,
	// which is right where all workers are one's own. Too large: much is searched twice.
	CheckFirst int
	// CheckEvery says how many of the later results are checked: one in two at first, one in twice
	// as many with each that is confirmed, in the end one in so many; at random. Default 32. Too
	// small: much is searched twice; too large: a worker that breaks, or lies, misleads the others
	// for longer.
	CheckEvery int
	// CheckSpread is how far apart, as a factor, the numbers of two searches may be that confirm
	// each other. Default 16. Two honest searches are mostly within a fifth of each other, one from
	// an empty table and one from a warm one, and up to ten times apart where one side is about to
	// win. Too small: sound workers are suspected; too large: made-up numbers pass.
	CheckSpread int
	// CheckTicks is the number of ticks for which a result waits for somebody to check it; then its
	// numbers are taken as they are. Default 60. Too small: what nobody had time for counts; too
	// large: a position whose checker does not ask for work stands still.
	CheckTicks int
	// CheckSeed decides which results are checked. Workers are not to know it.
	CheckSeed uint64

	// MaxNodes bounds the nodes of the tree, of about 250 bytes each, and as much again until the
	// garbage is collected. Default 2,000,000, at most 4,294,967,295. At the bound nothing is split
	// any more: the leaves there are go out again and again, and workers beyond their number wait.
	MaxNodes int
	// MaxFacts bounds the facts in memory, of about 150 bytes each. Default
	// 4,000,000. At the bound facts about positions outside the tree are
	// dropped and counted.
	MaxFacts int
	// FactsKept is the number of facts, those with most work, that are offered to
	// leases. Default 16,384. Granting a lease looks at each; a worker costs 8 bytes
	// for each.
	FactsKept int
	// FactsPerLease is the largest number of facts that go with one lease, or to a worker between
	// two ticks, at most FactsKept. Default 4,096, about 128 KiB. Too small: workers solve again
	// what others have solved.
	FactsPerLease int
	// MaxWorkers bounds the workers that are there at one time; others are refused.
	// Default 16,384.
	MaxWorkers int
	// MaxSlots bounds the slots of one worker; more are cut down to it. Default 64.
	MaxSlots int
}

// WithDefaults returns c with the defaults in place of zeros.
func (c Config) WithDefaults() Config {
	if c.Board == (amazons.Board{}) {
		c.Board = c.Root.Board
	}
	if c.Root == (amazons.Position{}) && c.Board.Valid() {
		if start, err := amazons.Start(c.Board); err == nil {
			c.Root = start
		}
	}
	defaultTo(&c.InitialBudget, 50_000)
	defaultTo(&c.MaxBudget, max(5_000_000, c.InitialBudget))
	defaultTo(&c.SplitAfter, 8_000_000)
	defaultTo(&c.ProbePercent, 25)
	defaultTo(&c.SplitBelow, 50)
	defaultTo(&c.WarmPercent, 125)
	defaultTo(&c.ResultsPerTick, 2_000)
	defaultTo(&c.SilentTicks, 3)
	defaultTo(&c.StarveTicks, 2)
	defaultTo(&c.MaxTries, 5)
	defaultTo(&c.ShortPercent, 50)
	defaultTo(&c.CheckEvery, 32)
	defaultTo(&c.CheckSpread, 16)
	defaultTo(&c.CheckTicks, 60)
	defaultTo(&c.MaxNodes, 2_000_000)
	defaultTo(&c.MaxFacts, 4_000_000)
	defaultTo(&c.FactsKept, 16_384)
	defaultTo(&c.FactsPerLease, min(4_096, c.FactsKept))
	defaultTo(&c.MaxWorkers, 16_384)
	defaultTo(&c.MaxSlots, 64)
	return c
}

func defaultTo[T int | uint64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// validate checks a Config that has its defaults. Errors wrap ErrConfig.
func (c Config) validate() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrConfig, fmt.Sprintf(format, a...))
	}
	switch {
	case !c.Board.Valid():
		return bad("no board")
	case c.Root.Board != c.Board:
		return bad("root is not a position of board %s", c.Board)
	case c.MaxBudget < c.InitialBudget:
		return bad("MaxBudget %d is less than InitialBudget %d", c.MaxBudget, c.InitialBudget)
	case c.ShortPercent > 100:
		return bad("ShortPercent %d is more than 100", c.ShortPercent)
	case c.ProbePercent < 1 || c.ProbePercent > 100:
		return bad("ProbePercent %d is not from 1 to 100", c.ProbePercent)
	case c.WarmPercent < 100:
		return bad("WarmPercent %d is less than 100", c.WarmPercent)
	case c.CheckFirst < 0:
		return bad("CheckFirst %d is negative", c.CheckFirst)
	case c.MaxNodes > maxNodes:
		return bad("MaxNodes %d is more than %d", c.MaxNodes, maxNodes)
	case c.FactsPerLease > c.FactsKept:
		return bad("FactsPerLease %d is more than FactsKept %d", c.FactsPerLease, c.FactsKept)
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"ResultsPerTick", c.ResultsPerTick}, {"SilentTicks", c.SilentTicks}, {"StarveTicks", c.StarveTicks},
		{"MaxTries", c.MaxTries}, {"CheckEvery", c.CheckEvery}, {"CheckSpread", c.CheckSpread},
		{"CheckTicks", c.CheckTicks}, {"MaxNodes", c.MaxNodes}, {"MaxFacts", c.MaxFacts},
		{"FactsKept", c.FactsKept}, {"FactsPerLease", c.FactsPerLease}, {"MaxWorkers", c.MaxWorkers},
		{"MaxSlots", c.MaxSlots},
	} {
		if f.value < 1 {
			return bad("%s %d is less than 1", f.name, f.value)
		}
	}
	root := c.Root.State()
	for _, m := range c.FirstMoves {
		if !root.Legal(m) {
			return bad("first move %s is not legal", m)
		}
	}
	return nil
}
