package checker

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
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
	// Progress, if not nil, is called after each block and each layer, by the goroutine that called
	// Check.
	Progress func(Progress)
	// MaxMemory limits the tables of positions, in bytes. 0, or a negative number, means
	// DefaultMaxMemory. A certificate that needs more gives ErrMemory before any entry is read; the
	// message has the number needed.
	MaxMemory int64
}

// Progress is how far a check has come.
type Progress struct {
	Layer        int           `json:"layer"`         // arrows of the layer being verified; they decrease
	Entries      int64         `json:"entries"`       // entries verified so far, of all layers
	TotalEntries int64         `json:"total_entries"` // entries of the certificate
	Elapsed      time.Duration `json:"elapsed_ns"`    // since Check was called
}

// RootReport is a claim that the certificate proves.
type RootReport struct {
	Position   string `json:"position"`     // as text
	SideToMove string `json:"side_to_move"` // "white" or "black"
	Claim      string `json:"claim"`        // "win" or "loss" of the side to move
	Winner     string `json:"winner"`       // "white" or "black"
}

// LayerReport is the size of a layer.
type LayerReport struct {
	Arrows  int   `json:"arrows"`  // burnt squares of its positions
	Entries int64 `json:"entries"` // positions
}

// Report is what a successful check found. All of it but Workers and Seconds depends only on the
// file and on Options.RulesOnly.
type Report struct {
	Width   int           `json:"width"`   // files of the board
	Height  int           `json:"height"`  // ranks of the board
	Bytes   int64         `json:"bytes"`   // size of the file
	SHA256  string        `json:"sha256"`  // of the whole file, as sha256sum prints it
	Roots   []RootReport  `json:"roots"`   // what is proved, in the order of the file
	Layers  []LayerReport `json:"layers"`  // in the order of the file, deepest first
	Entries int64         `json:"entries"` // positions verified
	Replies int64         `json:"replies"` // replies looked at, to moves of entries and to roots
	Lookups int64         `json:"lookups"` // positions looked for in a layer
	// LeafRule1 to LeafRule3 are the numbers of positions that were decided by the leaf rules,
	// counted each time one was met.
	LeafRule1 int64   `json:"leaf_rule1"`
	LeafRule2 int64   `json:"leaf_rule2"`
	LeafRule3 int64   `json:"leaf_rule3"`
	RulesOnly bool    `json:"rules_only"` // leaf rule 1 alone was allowed
	Workers   int     `json:"workers"`    // goroutines that verified
	Seconds   float64 `json:"seconds"`    // wall time of the whole check
}

// String says in a few lines what was checked and what it proves.
func (r *Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "valid certificate for %dx%d: %d entries in %d layers, %d bytes\n", r.Width, r.Height, r.Entries,
		len(r.Layers), r.Bytes)
	fmt.Fprintf(&s, "sha256   %s\n", r.SHA256)
	const shown = 20
	for i, root := range r.Roots {
		if i == shown {
			fmt.Fprintf(&s, "         and %d more roots\n", len(r.Roots)-shown)
			break
		}
		fmt.Fprintf(&s, "proved   %s: %s wins\n", root.Position, root.Winner)
	}
	if n := len(r.Layers); n > 0 {
		fmt.Fprintf(&s, "layers   %d down to %d arrows\n", r.Layers[0].Arrows, r.Layers[n-1].Arrows)
	}
	fmt.Fprintf(&s, "checked  %d replies, %d lookups\n", r.Replies, r.Lookups)
	if r.RulesOnly {
		fmt.Fprintf(&s, "leaves   %d by rule 1 (no move), the only rule allowed\n", r.LeafRule1)
	} else {
		fmt.Fprintf(&s, "leaves   %d by rule 1 (no move), %d by rule 2 (counting), %d by rule 3 (sum)\n", r.LeafRule1,
			r.LeafRule2,
			r.LeafRule3)
	}
	rate := 0.0
	if r.Seconds > 0 {
		rate = float64(r.Entries) / r.Seconds
	}
	fmt.Fprintf(&s, "time     %.2f s with %d workers, %.0f entries/s\n", r.Seconds, r.Workers, rate)
	return s.String()
}

// CheckFile is Check for the file at path.
func CheckFile(ctx context.Context, path string, opts Options) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open certificate: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open certificate: %w", err)
	}
	return Check(ctx, f, info.Size(), opts)
}

// Check verifies the certificate in the first size bytes of r, which must be all of it. It returns
// a report if every entry and every root holds. Otherwise the error is a *Fault for the first
// position that does not, or one of the sentinel errors for a file that is not as FORMAT.md says,
// or the error of the context or of r. It returns only after all its goroutines have ended, and it
// does not panic on any input.
func Check(ctx context.Context, r io.ReaderAt, size int64, opts Options) (*Report, error) {
	begin := time.Now()
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	if opts.MaxMemory <= 0 {
		opts.MaxMemory = DefaultMaxMemory
	}

	// A wrong length is reported as such. Any other disorder of a file whose hash is wrong comes
	// from damage: say that.
	c, err := open(r, size)
	if c == nil || errors.Is(err, ErrTruncated) || errors.Is(err, ErrTrailing) {
		return nil, err
	}
	sum, hashErr := hashFile(ctx, r, size)
	if hashErr != nil {
		return nil, hashErr
	}
	if sum.certificate != c.stated {
		return nil, checksumError(c.stated[:], sum.certificate[:])
	}
	if err != nil {
		return nil, err
	}

	run := &run{certificate: c, opts: opts, begin: begin, rules: c.rules}
	if opts.RulesOnly {
		run.rules = 1
	}
	if need := run.memoryNeeded(); need > opts.MaxMemory {
		return nil, fmt.Errorf("%w: its tables take %d bytes, the limit is %d", ErrMemory, need, opts.MaxMemory)
	}
	if err := run.all(ctx, sum); err != nil {
		return nil, err
	}
	report := &Report{
		Width: c.width, Height: c.height, Bytes: size, SHA256: hex.EncodeToString(sum.file[:]),
		Entries: run.counts.entries, Replies: run.counts.replies, Lookups: run.counts.lookups,
		LeafRule1: run.counts.rule1, LeafRule2: run.counts.rule2, LeafRule3: run.counts.rule3,
		RulesOnly: run.rules == 1, Workers: opts.Workers,
	}
	for _, r := range c.roots {
		claim := "loss"
		if r.win {
			claim = "win"
		}
		report.Roots = append(report.Roots, RootReport{Position: c.positionText(r.position, r.black),
			SideToMove: sideName(r.black), Claim: claim, Winner: sideName(r.black == r.win)})
	}
	for _, l := range c.layers {
		report.Layers = append(report.Layers, LayerReport{Arrows: l.arrows, Entries: l.entries})
	}
	report.Seconds = time.Since(begin).Seconds()
	return report, nil
}

// run is one check.
type run struct {
	*certificate
	opts     Options
	begin    time.Time
	rules    int // so many leaf rules may be used, in their order
	counts   counts
	verified atomic.Int64                // entries, for Progress
	tables   [maxSide*maxSide + 3]*table // by arrows; nil where there is none, or where it is not needed any more
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
	if i == j {
		for _, root := range r.roots {
			if root.needs() == r.layers[i].arrows {
				return true
			}
		}
	}
	for _, l := range r.layers[j:] {
		if l.arrows == r.layers[i].arrows-2 {
			return true
		}
	}
	return false
}

// memoryNeeded is the largest number of bytes that the tables take at a time.
func (r *run) memoryNeeded() int64 {
	var most int64
	for j := range r.layers {
		var sum int64
		for i := range j + 1 {
			if r.wanted(i, j) {
				sum += slotBytes * tableSlots(r.layers[i].entries)
			}
		}
		most = max(most, sum)
	}
	return most
}

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
	present := make(map[int]bool)
	for _, l := range r.layers {
		present[l.arrows] = true
	}
	if err := r.checkRoots(func(x root) bool { return !present[x.needs()] }); err != nil {
		return err
	}
	for j, l := range r.layers {
		for i := range j {
			if !r.wanted(i, j) {
				r.tables[r.layers[i].arrows] = nil
			}
		}
		if r.wanted(j, j) {
			r.tables[l.arrows] = newTable(l.entries)
		}
		if err := r.layer(ctx, reader, l); err != nil {
			return err
		}
		if err := r.checkRoots(func(x root) bool { return x.needs() == l.arrows }); err != nil {
			return err
		}
	}
	if got := reader.hash.Sum(nil); !bytes.Equal(got, sum.certificate[:]) {
		return fmt.Errorf("the file was changed while it was checked: %w", checksumError(sum.certificate[:], got))
	}
	return nil
}

func (r *run) newVerifier() *verifier {
	return &verifier{board: r.board, rules: r.rules, rootBlack: r.roots[0].black, rootLayer: r.roots[0].arrows()}
}

func (r *run) checkRoots(which func(root) bool) error {
	v := r.newVerifier()
	for i, root := range r.roots {
		if !which(root) {
			continue
		}
		if fault := v.checkRoot(root, i, r.tables[root.needs()]); fault != nil {
			return fault
		}
	}
	r.counts.add(v.counts)
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
	deeper := r.tables[l.arrows+2]
	for range r.opts.Workers {
		wg.Go(func() {
			v := r.newVerifier()
			for c := range work {
				for i, e := range c.entries {
					if f := v.check(e, c.first+int64(i), l.arrows, deeper); f != nil {
						report(f)
						break
					}
				}
				r.verified.Add(int64(len(c.entries)))
				c.entries = c.entries[:0]
				r.chunks <- c
			}
			mu.Lock()
			r.counts.add(v.counts)
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
		entries, err := reader.next()
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
