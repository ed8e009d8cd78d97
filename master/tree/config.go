package tree

import (
	"cmp"

	"amazonsfarm/shared/amazons"
)

// Config holds the settings of a tree. Zero stands for the default.
type Config struct {
	// Root is the position to solve. It has no default.
	Root amazons.Position
	// FirstMoves, in Root's own orientation, restrict the question. The answer is "won" when one of
	// them wins, and "no given first move wins" when none does. Default: none, so all moves count.
	// All are legal.
	FirstMoves []amazons.Move
	// EasyReplies settles the replies to first moves one by one, the easiest first. Otherwise the
	// reply that is most likely to refute a first move comes first. It is for lists of replies. Set
	// wrongly: a first move that does not win is found out late.
	EasyReplies bool

	// InitialBudget is the number of nodes of a leaf's first lease; ProbePercent makes some of them
	// smaller. Where it is not set they are smaller while the campaign is young (firstBudget), and a
	// lone worker has the question in leases of MaxBudget. It doubles with each return. Default
	// 50,000, about half a second of one core on a small board. Too small: the farm spends its time
	// on messages. Too large: workers sit on leaves that are not needed.
	InitialBudget uint64
	// ProbePercent is the smallest first lease in percent of InitialBudget. With more than one
	// worker, a leaf that is worth half as much as the most proving one has half of the budget.
	// Default 25; 100 makes all first leases alike. Too small: more messages, and numbers that say
	// little. Too large: with many workers most of the search is for leaves that are not needed.
	ProbePercent int
	// MaxBudget is the largest number of nodes of one lease, at least InitialBudget. Default
	// 5,000,000, about a minute of one core. Too large: a lost worker loses as much work.
	MaxBudget uint64
	// SplitAfter is the number of nodes on a leaf after which the leaf is split. It doubles with each
	// eighth of MaxPositions in use. Default 8,000,000. Too small: the tree grows and the workers'
	// tables are not used. Too large: the farm splits only when it starves.
	SplitAfter uint64
	// ResultsPerTick is the number of results that the master can handle in a tick, from all its
	// trees together. With more of them, leases get longer, up to MaxBudget, until the results are
	// about as many. Default 2,000. Too small: workers sit longer than need be on leaves that are
	// not needed. Too large: workers wait for the master.
	ResultsPerTick int
	// SilentTicks is the number of ticks without progress after which a lease is lost. Default 3.
	// Too small: leases of slow or far workers are lost. Too large: a dead worker's leaf waits.
	SilentTicks int
	// Patience is the number of ticks that a lease may take beyond what its budget accounts for at the
	// speed of its worker (overdue). Then it is cancelled, unless its worker is the only one. A worker has a
	// third of Patience to end a cancelled lease (grace). If it reports progress in as many ticks after that, it
	// commits an offence. After two thirds of Patience the lease is lost in any case. Default 30. Too small: slow
	// machines waste their first leases, and slow uploads are refused. Too large: a worker that does not
	// search holds up the others.
	Patience int
	// ShortPercent is the part of its budget, in percent, that an open result must have used unless
	// the master cancelled its lease. Default 50; negative: none. A shorter result is a failed try:
	// its numbers do not count and its leaf is not split, so a worker that does not search misleads
	// nobody. Too large: the numbers of a search that found no way to go on are lost.
	ShortPercent int

	// CheckFirst is the number of a party's results that another party's search must confirm before
	// its further results count unchecked (check.go). Default 0: nothing is checked, which is right
	// where all workers are your own. Too large: much is searched twice.
	CheckFirst int
	// CheckSeed decides which later results are checked. Workers must not know it. Default 0.
	CheckSeed uint64

	// MaxPositions bounds the positions of the tree, of about 250 bytes each, and as much again
	// until the garbage is collected. Default 2,000,000, at most 4,294,967,295. A full tree splits
	// nothing: its leaves are leased again and again, and workers beyond their number wait.
	MaxPositions int
	// MaxFacts bounds the facts in memory, of about 150 bytes each. Default 4,000,000. Beyond it
	// facts about positions outside the tree are refused and counted.
	MaxFacts int
	// MaxWorkers bounds the workers that are there at one time. Default 16,384. Too small: workers
	// are refused. Too large: each worker takes up to 128 KiB.
	MaxWorkers int

	policy policy
}

// policy holds numbers that nobody has a reason to set. Tests of this package do, to reach in a few
// steps what a farm reaches in an hour. Zero stands for the default.
type policy struct {
	// growing says that first leases grow with the campaign up to InitialBudget: it was not set.
	growing bool
	// splitBelow says when work is scarce: with more than one worker, when the most useful free leaf
	// is worth less than this percentage of the most proving one. Default 50; negative: never. A
	// result is then split after as many nodes as a first lease has. Smaller: workers search leaves that are likely
	// not needed. Larger: the tree grows, and the workers' tables are not used.
	splitBelow int
	// warmPercent is the worth of a position to a worker that has searched it, in percent of its
	// worth to others, at each step down to the leaf. Default 125. 100 prefers nothing, so workers
	// search again what others' tables know. Much more: each worker stays where it is.
	warmPercent int
	// maxTries is the number of failed tries in a row after which a leaf is set aside. Default 5.
	maxTries int

	// checkEvery says how many later results are checked: at first one in two, half as many with
	// each confirmation, at the end one in checkEvery. Default 32. Smaller: much is searched twice.
	// Larger: a worker that breaks or lies misleads the others for longer.
	checkEvery int
	// checkSpread is how far apart, as a factor, two searches' numbers may be and still confirm each
	// other. Default 16. Two honest searches are mostly within a fifth of each other; an empty
	// table and a warm one are up to ten times apart where one side is about to win.
	checkSpread int
	// checkTicks is the number of ticks for which a result waits for a check. Then its numbers count
	// as they are. Default 60. Larger: a position whose checker does not ask for work stands still.
	checkTicks int

	// factsKept is the number of facts, those with most nodes, that are offered to leases. Default
	// 16,384. Granting a lease looks at each; a worker costs 8 bytes for each.
	factsKept int
	// factsPerLease is the largest number of facts that go with one lease, or to a worker between
	// two ticks; the others go with the next ones. Default 4,096, about 128 KiB. Smaller: workers solve again
	// what others have solved.
	factsPerLease int
	// maxSlots bounds the slots of one worker. Default 64; further ones are ignored.
	maxSlots int
}

// WithDefaults returns c with the defaults in place of zeros.
func (c Config) WithDefaults() Config {
	c.policy.growing = c.policy.growing || c.InitialBudget == 0
	c.InitialBudget = cmp.Or(c.InitialBudget, 50_000)
	c.MaxBudget = cmp.Or(c.MaxBudget, max(5_000_000, c.InitialBudget))
	c.SplitAfter = cmp.Or(c.SplitAfter, 8_000_000)
	c.ProbePercent = cmp.Or(c.ProbePercent, 25)
	c.ResultsPerTick = cmp.Or(c.ResultsPerTick, 2_000)
	c.SilentTicks = cmp.Or(c.SilentTicks, 3)
	c.Patience = cmp.Or(c.Patience, 30)
	c.ShortPercent = cmp.Or(c.ShortPercent, 50)
	c.MaxPositions = cmp.Or(c.MaxPositions, 2_000_000)
	c.MaxFacts = cmp.Or(c.MaxFacts, 4_000_000)
	c.MaxWorkers = cmp.Or(c.MaxWorkers, 16_384)
	p := &c.policy
	p.splitBelow = cmp.Or(p.splitBelow, 50)
	p.warmPercent = cmp.Or(p.warmPercent, 125)
	p.maxTries = cmp.Or(p.maxTries, 5)
	p.checkEvery = cmp.Or(p.checkEvery, 32)
	p.checkSpread = cmp.Or(p.checkSpread, 16)
	p.checkTicks = cmp.Or(p.checkTicks, 60)
	p.factsKept = cmp.Or(p.factsKept, 16_384)
	p.factsPerLease = cmp.Or(p.factsPerLease, min(4_096, p.factsKept))
	p.maxSlots = cmp.Or(p.maxSlots, 64)
	return c
}
