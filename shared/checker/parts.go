package checker

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Sample is a share of the parts of a proof, above 0 up to 1, as a flag: "1%". 0 stands for all.
type Sample float64

// Set reads a share such as 1%.
func (s *Sample) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(x > 0 && x <= 100) {
		return errors.New("give a share above 0% up to 100%")
	}
	*s = Sample(x / 100)
	return nil
}

// String returns the share as Set reads it, "" for all.
func (s *Sample) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s)*100, 'g', -1, 64) + "%"
}

// Type names the value in a help text.
func (s *Sample) Type() string { return "SHARE" }

// maxShards is the largest number of shards: no manifest has more parts.
const maxShards = 1 << 32

// Shard is one of several shares of the parts of a proof, as a flag: "3/16". The zero Shard stands
// for all parts.
type Shard struct{ Number, Of int64 }

// Set reads a shard such as 3/16.
func (s *Shard) Set(text string) error {
	number, of, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	k, err2 := strconv.ParseInt(of, 10, 64)
	if err != nil || err2 != nil || n < 1 || n > k || k > maxShards {
		return fmt.Errorf("give a shard such as 3/16, the first number from 1 to the second, which is up to %d",
			maxShards)
	}
	*s = Shard{n, k}
	return nil
}

// String returns the shard as Set reads it, "" for all parts.
func (s *Shard) String() string {
	if s.Of == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Number, s.Of)
}

// Type names the value in a help text.
func (s *Shard) Type() string { return "N/M" }

// proofRun is one check of a proof in parts. Each part holds given what it cites, and each citation
// is listed as a root of a part with the same claim. Citations have more arrows than all roots of
// the part that cites. So if all parts hold, all their roots do, from the fullest boards down.
type proofRun struct {
	*manifest
	folder string
	opts   Options // of one part
	begin  time.Time

	mu     sync.Mutex
	free   sync.Cond // memory was given back
	memory int64     // that the parts being checked take
	done   bitmap    // parts that hold
	counts Counts    // of these
	now    Progress
	absent int64 // parts whose files are not there
	states *states
	failed int64 // the smallest number of a part that does not hold
	err    error // why
}

// errAbsent says that there is no file of a part.
var errAbsent = errors.New("it is missing")

// partCheck is the check of one part of a proof.
type partCheck struct {
	*proofRun
	part
	proved *cursor
}

// checkProof checks a proof in parts. A part that does not hold is named in the error, which wraps
// that of Check, or ErrPart where its file is not the one that is listed.
func checkProof(ctx context.Context, f io.ReaderAt, size int64, folder string, opts Options) (*Report, error) {
	begin := time.Now()
	m, err := openManifest(ctx, f, size)
	if err != nil {
		return nil, err
	}
	r := &proofRun{manifest: m, folder: folder, opts: opts, begin: begin, done: make(bitmap, m.parts.n/64+1),
		failed: math.MaxInt64}
	r.free.L = &r.mu
	rules := m.rules
	if opts.RulesOnly {
		rules = 1
	}
	r.opts.Progress, r.opts.Part, r.opts.MaxMemory = nil, true, opts.maxMemory()
	if r.states, err = openStates(opts.States, m, rules, r.done, &r.counts); err != nil {
		return nil, err
	}
	defer r.states.Close()
	before, noted := r.done.len(), r.counts.Entries
	todo, positions, err := r.choose()
	if err != nil {
		return nil, err
	}
	r.now = Progress{TotalParts: todo.len(), TotalEntries: positions}

	workers := opts.workers()
	// Many parts go best with one core each. Few parts share the cores, since the last one would
	// otherwise be waited for by all.
	at := int64(max(1, min(int64(workers), todo.len()))) // parts at a time
	r.opts.Workers = workers / int(at)
	r.checkAll(ctx, todo, at, opts.Progress)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := r.states.Close(); err != nil {
		return nil, err
	}
	report := &Report{
		Width: m.width, Height: m.height, Bytes: size + m.partBytes, SHA256: hex.EncodeToString(m.file[:]),
		Roots: m.rootReports(m.roots), Counts: r.counts, Rules: rules, RulesOnly: rules == 1, Workers: workers,
		noted: noted,
		Parts: &PartsReport{Total: m.parts.n, Folder: folder, Checked: r.done.len(), Before: before,
			Positions: m.positions, Absent: r.absent, Sample: opts.Sample.String(), Shard: opts.Shard.String()},
	}
	if opts.Sample > 0 {
		report.Parts.Seed = opts.Seed
	}
	report.Seconds = time.Since(begin).Seconds()
	return report, nil
}

// choose returns the parts to check, and how many positions they have: those of the shard, of them
// the sample, and of that those that no state says to hold. A sample has at least one part.
func (r *proofRun) choose() (todo bitmap, positions int64, err error) {
	todo = make(bitmap, len(r.done))
	shard := cmp.Or(r.opts.Shard, Shard{1, 1})               // all parts are the only shard of one
	left := (r.parts.n - shard.Number + shard.Of) / shard.Of // parts of the shard
	want := left
	if r.opts.Sample > 0 {
		want = min(left, int64(math.Ceil(float64(left)*float64(r.opts.Sample))))
	}
	random := rand.New(rand.NewPCG(r.opts.Seed, 0))
	c := &cursor{pages: r.parts}
	for i := shard.Number - 1; i < c.n; i += shard.Of {
		// Each part is taken with the chance that it is among those still wanted (Knuth, algorithm S).
		if random.Int64N(left) < want {
			want--
			if !r.done.has(i) {
				h, err := c.record(i)
				if err != nil {
					return nil, 0, err
				}
				todo.add(i)
				positions += parsePart(h).entries
			}
		}
		left--
	}
	return todo, positions, nil
}

// checkAll checks the parts of todo, so many at a time. After a failure no other part is begun. All
// parts before the first one that fails have then been checked, so the failure is always the same.
func (r *proofRun) checkAll(ctx context.Context, todo bitmap, atATime int64, progress func(Progress)) {
	work := make(chan int64)
	var wg sync.WaitGroup
	for range atATime {
		wg.Go(func() {
			records, proved := &cursor{pages: r.parts}, &cursor{pages: r.proved}
			for i := range work {
				counts, err := r.checkPart(ctx, i, records, proved)
				r.finish(i, counts, err, progress)
			}
		})
	}
	for i := int64(0); i < r.parts.n && ctx.Err() == nil && !r.hasFailed(); i++ {
		if todo.has(i) {
			work <- i
		}
	}
	close(work)
	wg.Wait()
}

// hasFailed reports whether a part did not hold, so that no further one is begun.
func (r *proofRun) hasFailed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

// finish notes how the check of a part ended.
func (r *proofRun) finish(i int64, counts Counts, err error, progress func(Progress)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opts.Absent && errors.Is(err, errAbsent) {
		r.absent++
		return
	}
	if err == nil {
		err = r.states.add(i, counts)
	}
	if err != nil {
		if i < r.failed {
			r.failed, r.err = i, err
		}
		return
	}
	r.done.add(i)
	r.counts.add(counts)
	r.now.Parts++
	r.now.Entries += counts.Entries
	r.now.Elapsed = time.Since(r.begin)
	if progress != nil {
		progress(r.now)
	}
}

// checkPart checks part number i.
func (r *proofRun) checkPart(ctx context.Context, i int64, records, proved *cursor) (Counts, error) {
	h, err := records.record(i)
	if err != nil {
		return Counts{}, err
	}
	p := &partCheck{proofRun: r, part: parsePart(h), proved: proved}
	name := hex.EncodeToString(p.sum[:])
	counts, err := p.check(ctx, filepath.Join(r.folder, name), uint32(i))
	if err != nil {
		err = fmt.Errorf("part %d of %d, %s: %w", i+1, r.parts.n, name, err)
	}
	return counts, err
}

// check checks the part in a file: its length before anything is read, its SHA-256 before anything
// is looked at.
func (p *partCheck) check(ctx context.Context, name string, number uint32) (Counts, error) {
	absent := fmt.Errorf("%w: %w", ErrPart, errAbsent)
	if p.folder == "" {
		return Counts{}, absent
	}
	f, size, err := openFile(ctx, name, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Counts{}, absent
	} else if err != nil {
		return Counts{}, err
	}
	defer f.Close()
	if size != p.bytes {
		return Counts{}, fmt.Errorf("%w: it has %d bytes, %d are listed", ErrPart, size, p.bytes)
	}
	// The length fits. Now the SHA-256 has to, before anything that the file says counts. check
	// compares it as it reads the whole file; only where the file cannot even be opened it is
	// looked at right here.
	c, err := open(f, size)
	if c == nil || err != nil {
		// It is the wrong file, or the wrong list: the first is more likely.
		sum, hashErr := hashFile(ctx, f, size)
		if hashErr != nil {
			return Counts{}, hashErr
		}
		if err := p.named(sum.file); err != nil {
			return Counts{}, err
		}
		return Counts{}, err
	}
	report, err := check(ctx, c, nil, p.opts, p)
	if err != nil {
		return Counts{}, err
	}
	return report.Counts, p.rootsListed(p.proved, number, p.part, c.roots)
}

// matches refuses a part that is not as the list says.
func (p *partCheck) matches(c *certificate) error {
	if c.board != p.board || c.rules > p.rules {
		return fmt.Errorf("%w: it is for %dx%d and leaf rules up to %d, the proof for %dx%d and %d", ErrPart, c.width,
			c.height, c.rules, p.width, p.height, p.rules)
	}
	if c.entries != p.entries || c.citations != p.citations {
		return fmt.Errorf("%w: it has %s and %s, %d and %d are listed", ErrPart,
			count(c.entries, "entry", "entries"), count(c.citations, "citation", "citations"), p.entries, p.citations)
	}
	return nil
}

// named refuses a part with another SHA-256 than the list says.
func (p *partCheck) named(sum [32]byte) error {
	if sum != p.sum {
		return fmt.Errorf("%w: its SHA-256 is %x, so it was damaged, changed or swapped", ErrPart, sum)
	}
	return nil
}

// reserve waits until the tables of the part, with those of other parts, are within the limit. The
// first part always gets what it needs: check has compared it with the limit.
func (p *partCheck) reserve(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n > 0 && p.memory > 0 && p.memory+n > p.opts.MaxMemory {
		p.free.Wait()
	}
	p.memory += n
	if n < 0 {
		p.free.Broadcast()
	}
}

// cites says why the part may not rely on a claim; "" if a part is listed that proves it.
func (p *partCheck) cites(q position, win bool) (string, error) {
	ok, err := p.lists(p.proved, q, win)
	if ok || err != nil {
		return "", err
	}
	word := "lost"
	if win {
		word = "won"
	}
	return "it is cited as " + word + ", and no part is listed that proves it", nil
}
