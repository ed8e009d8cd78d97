package checker

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultMaxMemory is the limit on the tables of positions, in bytes, where Options.MaxMemory is 0:
// 4 GiB, enough for about 180 million entries in two layers that need each other.
const DefaultMaxMemory = 4 << 30

// Options says how Check works. The zero value is usable.
type Options struct {
	// Workers is the number of goroutines that verify entries. 0, or a negative number, means
	// GOMAXPROCS.
	Workers int
	// RulesOnly allows leaf rule 1 alone. A certificate whose flags say that it needs no more is
	// always checked so.
	RulesOnly bool
	// Progress, if not nil, is called after each block and each layer of a certificate, and after each
	// part of a proof: never twice at the same time.
	Progress func(Progress)
	// MaxMemory limits the tables of positions, in bytes. 0, or a negative number, means
	// DefaultMaxMemory. A certificate that needs more gives ErrMemory before any entry is read; the
	// message has the number needed. It bounds the parts of a proof that are checked at the same
	// time together.
	MaxMemory int64
	// Part lets a certificate cite positions. The report then says what holds if each cited position
	// is as claimed. Without it a part alone is refused with ErrCitations.
	Part bool

	// The others are for CheckFile and proofs in parts. ErrOneFile refuses them for a certificate.

	// Sample is the share of the parts to check, chosen by Seed. The zero Sample stands for all.
	Sample Sample
	Seed   uint64
	// Shard is the share of the parts to check where several machines check one proof.
	Shard Shard
	// States are files that say which parts hold, from earlier runs or from other machines. The
	// first one is created if needed, and each part that holds is noted there at once.
	States States
	// Absent passes over the parts whose files are not there, and counts them: a proof whose parts lie
	// elsewhere, or are not kept, is not complete, and not refuted. Without it a missing file is a fault.
	Absent bool
}

// CheckFile is Check for the file at path, which may also be the manifest of a proof in parts: then
// it checks the parts in the folder beside it. It opens regular files only; the path "-" stands for
// standard input. A read of standard input that waits is left behind when ctx ends.
func CheckFile(ctx context.Context, path string, opts Options) (*Report, error) {
	f, size, err := openFile(ctx, path, opts.maxMemory())
	if err != nil {
		return nil, fmt.Errorf("open certificate: %w", err)
	}
	defer f.Close()
	if isManifest(f, size) {
		return checkProof(ctx, f, size, PartsFolder(path), opts)
	}
	if opts.Sample != 0 || opts.Shard != (Shard{}) || len(opts.States) > 0 {
		return nil, ErrOneFile
	}
	return Check(ctx, f, size, opts)
}

// Check verifies the certificate in the first size bytes of r, which must be all of it. It returns
// a report if every entry and every root holds. Otherwise the error is a *Fault for the first
// position that does not, or one of the sentinel errors for a file that is not as FORMAT.md says,
// or the error of the context or of r. It returns only after all its goroutines have ended, and it
// does not panic on any input.
func Check(ctx context.Context, r io.ReaderAt, size int64, opts Options) (*Report, error) {
	run, err := open(r, size)
	return check(ctx, run, err, opts, nil)
}

// Refutes reports whether an error of Check says that the file itself does not hold, and not that it
// could not be read, or that there was no memory or no time for it.
func Refutes(err error) bool {
	_, fault := errors.AsType[*Fault](err)
	return fault || slices.ContainsFunc([]error{ErrNotCertificate, ErrUnsupportedVersion, ErrTruncated, ErrTrailing,
		ErrChecksum, ErrHeader, ErrBlock, ErrCitations}, func(kind error) bool { return errors.Is(err, kind) })
}

// maxMemory is the limit that holds.
func (o *Options) maxMemory() int64 { return cmp.Or(max(0, o.MaxMemory), DefaultMaxMemory) }

// workers is the number of goroutines that verify.
func (o *Options) workers() int { return cmp.Or(max(0, o.Workers), runtime.GOMAXPROCS(0)) }

// check is Check for what open returned. part is the proof that the certificate is a part of; nil:
// none.
func check(ctx context.Context, c *certificate, err error, opts Options, part *partCheck) (*Report, error) {
	begin := time.Now()
	opts.Workers = opts.workers()

	// A wrong length is reported as such. Any other disorder of a file whose hash is wrong comes
	// from damage: say that.
	if c == nil || errors.Is(err, ErrTruncated) || errors.Is(err, ErrTrailing) {
		return nil, err
	}
	sum, hashErr := hashFile(ctx, c.r, c.size)
	if hashErr != nil {
		return nil, hashErr
	}
	if part != nil {
		if err := part.named(sum.file); err != nil {
			return nil, err
		}
	}
	if sum.certificate != c.stated {
		return nil, checksumError(c.stated[:], sum.certificate[:])
	}
	if err == nil && part != nil {
		err = part.matches(c)
	}
	if err != nil {
		return nil, err
	}
	// A part that cites is no proof by itself. Whoever checks one has to say that he knows it.
	if c.citations > 0 && !opts.Part {
		return nil, fmt.Errorf("%w: it cites %s, so it proves nothing alone", ErrCitations,
			count(c.citations, "position", "positions"))
	}

	// From here on the file is what its hash says, and its header and blocks fit together. What is
	// left is the argument itself: whether each entry wins.
	run := &run{certificate: c, opts: opts, begin: begin, rules: c.rules, part: part}
	if opts.RulesOnly {
		run.rules = 1
	}
	// Memory is known before it is spent: all tables are counted from the header, and a certificate
	// that does not fit is refused before its first entry is read.
	need := run.memoryNeeded()
	if need > opts.maxMemory() {
		return nil, fmt.Errorf("%w: its tables take %d bytes, the limit is %d", ErrMemory, need, opts.maxMemory())
	}
	if part != nil {
		part.reserve(need)
		defer part.reserve(-need)
	}
	if err := run.all(ctx, sum); err != nil {
		return nil, err
	}
	report := &Report{
		Width: c.width, Height: c.height, Bytes: c.size, SHA256: hex.EncodeToString(sum.file[:]),
		Roots: c.rootReports(c.roots), Citations: c.citations, Counts: run.counts,
		Rules: run.rules, RulesOnly: run.rules == 1, Workers: opts.Workers,
	}
	for _, l := range c.layers {
		report.Layers = append(report.Layers, LayerReport{Arrows: l.arrows, Entries: l.entries, Citations: l.citations})
	}
	report.Seconds = time.Since(begin).Seconds()
	return report, nil
}

// run is one check.
type run struct {
	*certificate
	opts     Options
	begin    time.Time
	rules    int        // so many leaf rules may be used, in their order
	part     *partCheck // the proof that the certificate is a part of; nil: none
	counts   Counts
	verified atomic.Int64                // entries, for Progress
	tables   [maxSide*maxSide + 3]*table // won, by arrows; nil where there is none, or it is not needed any more
	lost     [maxSide*maxSide + 3]*table // cited as lost, by arrows
	chunks   chan *chunk                 // free ones
}

// chunk is a run of consecutive entries of a layer, the unit that a worker takes.
type chunk struct {
	first   int64 // number of the first entry in the layer
	entries []entry
}

const chunkEntries = 256

// wanted reports whether the table of layer i is needed when layer j is verified, or later: by a
// layer with two arrows less, or by a root. (Roots are checked right after the layer they need.)
func (r *run) wanted(i, j int) bool {
	arrows := r.layers[i].arrows
	return i == j && slices.ContainsFunc(r.roots, func(root root) bool { return root.needs() == arrows }) ||
		slices.ContainsFunc(r.layers[j:], func(l layer) bool { return l.arrows == arrows-2 })
}

// slots returns the slots of a table for so many of the entries and citations of a layer.
func (l layer) slots(n int64) int64 {
	return tableSlots(n, int64(float64(l.raw)*float64(n)/float64(max(1, l.entries+l.citations))))
}

// memoryNeeded is the largest number of bytes that the tables take at a time. Which citations are of won
// positions is not known yet: where both tables of a layer are needed, each citation is in one.
func (r *run) memoryNeeded() int64 {
	var most int64
	for j := range r.layers {
		var sum int64
		for i := range j + 1 {
			l := r.layers[i]
			lost := l.citations > 0 && l.arrows <= r.layers[j].arrows+1
			switch {
			case r.wanted(i, j):
				sum += slotBytes * (l.slots(l.entries+l.citations) + 1)
			case lost:
				sum += slotBytes * (l.slots(l.citations) + 1)
			}
		}
		most = max(most, sum)
	}
	return most
}

// Memory returns how many bytes of tables Check would need for a certificate, as far as Options.MaxMemory
// bounds them: at most three times the raw data of its blocks, but for citations on boards of up to 24
// squares. It reads the headers only. Errors are those of Check.
func Memory(r io.ReaderAt, size int64) (int64, error) {
	c, err := open(r, size)
	if err != nil {
		return 0, err
	}
	return (&run{certificate: c}).memoryNeeded(), nil
}

// collectAbove is from how many bytes of tables on the memory of those that are not needed any more is
// collected at once. Otherwise as much again would be in use.
const collectAbove = 16 << 20

// all verifies the layers from the deepest one up, and each root when the layer it needs is complete.
func (r *run) all(ctx context.Context, sum sums) error {
	reader, err := newBlockReader(r.certificate)
	if err != nil {
		return err
	}
	defer reader.zstd.Close()
	n := 2*r.opts.Workers + 1
	r.chunks = make(chan *chunk, n)
	for range n {
		r.chunks <- &chunk{entries: make([]entry, 0, chunkEntries)}
	}
	// A root may need a layer that the certificate does not have: then leaf rules alone have to
	// decide it. There is nothing to wait for, so such roots come first.
	present := make(map[int]bool)
	for _, l := range r.layers {
		present[l.arrows] = true
	}
	if err := r.checkRoots(ctx, func(x root) bool { return !present[x.needs()] }); err != nil {
		return err
	}
	free := int64(0)
	drop := func(t **table) {
		if *t != nil {
			free += slotBytes * int64(len((*t).slots))
			*t = nil
		}
	}
	for j, l := range r.layers {
		for i := range j {
			if !r.wanted(i, j) {
				drop(&r.tables[r.layers[i].arrows])
			}
			if r.layers[i].arrows > l.arrows+1 {
				drop(&r.lost[r.layers[i].arrows])
			}
		}
		if free > collectAbove {
			runtime.GC()
			free = 0
		}
		// The entries of a layer are verified against the layers below it, never against each other:
		// a move burns a square, so no position comes after another one of the same layer. The table
		// of the layer fills meanwhile. Nobody relies on it before all of the entries held: a fault
		// ends the check.
		won, err := r.citedWon(ctx, reader, l)
		if err != nil {
			return err
		}
		if r.wanted(j, j) {
			r.tables[l.arrows] = newTable(l.slots(l.entries + won))
		}
		if err := r.cited(ctx, reader, l, won); err != nil {
			return err
		}
		if err := r.layer(ctx, reader, l); err != nil {
			return err
		}
		if err := r.checkRoots(ctx, func(x root) bool { return x.needs() == l.arrows }); err != nil {
			return err
		}
	}
	// The file was read twice: once for its hash, and once for what was verified. Only if both
	// readings saw the same bytes does the verdict belong to the hash that the report names.
	if got := reader.hash.Sum(nil); !bytes.Equal(got, sum.certificate[:]) {
		return fmt.Errorf("the file was changed while it was checked: %w", checksumError(sum.certificate[:], got))
	}
	return nil
}

// newVerifier returns a verifier for one goroutine. The first root says which side moves in which
// layers, which is needed for texts only: the rules are the same for both sides.
func (r *run) newVerifier() *verifier {
	v := &verifier{board: r.board, rules: r.rules, rootBlack: r.roots[0].black, rootLayer: r.roots[0].arrows(),
		evidence: "an entry"}
	if r.citations > 0 {
		v.evidence = "an entry or citation"
	}
	return v
}

// checkRoots verifies those of the roots for which which holds, against the tables as they are now.
// A won root is looked up in its own layer. A lost root needs all positions after its moves, which
// lie in the layer of one arrow more. So each root is checked as soon as that layer is complete.
func (r *run) checkRoots(ctx context.Context, which func(root) bool) error {
	v := r.newVerifier()
	for i, root := range r.roots {
		if !which(root) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if fault := v.checkRoot(root, i, r.tables[root.needs()]); fault != nil {
			return fault
		}
	}
	r.counts.add(v.total())
	return nil
}

// citedWon counts the citations of won positions of a layer, so that tables are no larger than need be.
// The reader stays where it is.
func (r *run) citedWon(ctx context.Context, reader *blockReader, l layer) (won int64, err error) {
	again := *reader
	again.hash, again.stored, again.raw, again.entries = sha256.New(), nil, nil, nil
	for range l.citeBlocks {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		citations, err := again.next(claimBytes)
		if err != nil {
			return 0, fmt.Errorf("citations of %d arrows: %w", l.arrows, err)
		}
		for _, c := range citations {
			if c.move.from == claimWin {
				won++
			}
		}
	}
	return won, nil
}

// cited reads the citations of a layer, so many of them of won positions, and puts them into its tables.
func (r *run) cited(ctx context.Context, reader *blockReader, l layer, won int64) error {
	if l.citations > 0 {
		r.lost[l.arrows] = newTable(l.slots(l.citations - won))
	}
	room := [2]int64{l.citations - won, won}
	v := r.newVerifier()
	var before position
	var index int64
	for range l.citeBlocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		citations, err := reader.next(claimBytes)
		if err != nil {
			return fmt.Errorf("citations of %d arrows: %w", l.arrows, err)
		}
		for _, c := range citations {
			_, why := v.misplaced(c.position, l.arrows)
			claim := c.move.from
			switch {
			case index > 0 && !before.less(c.position):
				why = "it is not larger than the citation before it, those of a layer must increase strictly"
			case why == "" && claim != claimWin && claim != claimLoss:
				why = fmt.Sprintf("its claim is %d, 1 is a win and 2 a loss of the side to move", claim)
			case why == "" && r.part != nil:
				if why, err = r.part.cites(c.position, claim == claimWin); err != nil {
					return err
				}
			}
			if why != "" {
				return &Fault{Kind: FaultCitation, Layer: l.arrows, Entry: index, Reason: why,
					Position: v.positionText(c.position, v.blackToMove(l.arrows))}
			}
			to, left := r.lost[l.arrows], &room[0]
			if claim == claimWin {
				to, left = r.tables[l.arrows], &room[1]
			}
			if *left--; to != nil && *left >= 0 { // there may be more in a file that is changed meanwhile
				to.add(c.position)
			}
			before = c.position
			index++
		}
	}
	return nil
}

// layer verifies the entries of a layer. This goroutine reads, fills the layer's table and sees to
// the order; workers take chunks of entries from it. All chunks before the first fault have then
// been verified, so the fault with the smallest number is the first one in the file.
func (r *run) layer(ctx context.Context, reader *blockReader, l layer) error {
	var (
		work   = make(chan *chunk, r.opts.Workers)
		wg     sync.WaitGroup
		mu     sync.Mutex
		first  *Fault
		failed atomic.Bool
	)
	report := func(f *Fault) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil || f.Entry < first.Entry {
			first = f
		}
		failed.Store(true)
	}
	deeper, lost := r.tables[l.arrows+2], r.lost[l.arrows+1]
	for range r.opts.Workers {
		wg.Go(func() {
			v := r.newVerifier()
			for c := range work {
				for i, e := range c.entries {
					if f := v.check(e, c.first+int64(i), l.arrows, deeper, lost); f != nil {
						report(f)
						break
					}
				}
				r.verified.Add(int64(len(c.entries)))
				c.entries = c.entries[:0]
				r.chunks <- c
			}
			mu.Lock()
			r.counts.add(v.total())
			mu.Unlock()
		})
	}
	err := r.feed(ctx, reader, l, work, report, &failed)
	close(work)
	wg.Wait()
	if first != nil {
		return first
	}
	if err == nil {
		r.progress(l)
	}
	return err
}

// feed reads the blocks of the layer and hands their entries on, until all are through or one failed.
func (r *run) feed(ctx context.Context, reader *blockReader, l layer, work chan<- *chunk, report func(*Fault),
	failed *atomic.Bool) error {
	own := r.tables[l.arrows]
	var before position
	var index int64
	for range l.blocks {
		entries, err := reader.next(moveBytes)
		if err != nil {
			return fmt.Errorf("layer of %d arrows: %w", l.arrows, err)
		}
		for len(entries) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if failed.Load() {
				return nil
			}
			c := <-r.chunks
			c.first = index
			for _, e := range entries[:min(chunkEntries, len(entries))] {
				if index > 0 && !before.less(e.position) {
					report(r.newVerifier().fault(FaultOrder, e, index, l.arrows,
						"the position is not larger than the one before it, the entries of a layer must "+
							"increase strictly"))
					break
				}
				c.entries = append(c.entries, e)
				if own != nil && index < l.entries {
					own.add(e.position)
				}
				before = e.position
				index++
			}
			entries = entries[min(chunkEntries, len(entries)):]
			work <- c
		}
		r.progress(l)
	}
	return nil
}

func (r *run) progress(l layer) {
	if r.opts.Progress != nil {
		r.opts.Progress(Progress{Layer: l.arrows, Entries: r.verified.Load(), TotalEntries: r.entries,
			Elapsed: time.Since(r.begin)})
	}
}
