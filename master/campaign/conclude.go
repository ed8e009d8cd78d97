package campaign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"amazonsfarm/master/assemble"
	"amazonsfarm/master/checks"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"

	"golang.org/x/sys/unix"
)

const (
	// PartMemory bounds the tables of the checker for one part, here and at workers: 32 million
	// positions, which is also the most that a worker proves in one part.
	PartMemory = 1 << 30
	// maxRoots bounds the facts that one part proves: a message names no more.
	maxRoots = 4096
)

// readRoots judges an uploaded certificate and returns its claims.
// The tests go from cheap to dear: the header, the hash of all bytes, the memory that a check takes. A
// part that no checker could hold would be handed from worker to worker in vain. Whether the entries win
// is not judged here, but by other workers.
func (c *campaign) readRoots(data []byte) ([]proof.Citation, error) {
	info, err := proof.ReadInfo(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if err := proof.Intact(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	need, err := checker.Memory(bytes.NewReader(data), int64(len(data)))
	if err == nil && need > PartMemory {
		err = fmt.Errorf("%w: its check takes %d bytes of memory, the limit is %d; prove it in smaller parts",
			loop.ErrLarge, need, PartMemory)
	}
	if err != nil {
		return nil, err
	}
	return c.rootsOf(info)
}

// readOutline is readRoots for the outline of one.
func (c *campaign) readOutline(outline []byte) ([]proof.Citation, error) {
	info, _, err := proof.ReadOutline(outline)
	if err != nil {
		return nil, err
	}
	return c.rootsOf(info)
}

// rootsOf returns the claims of a part of the campaign.
func (c *campaign) rootsOf(info proof.Info) ([]proof.Citation, error) {
	board := c.root.Board
	switch {
	case len(info.Roots) > maxRoots:
		return nil, fmt.Errorf("%w: it has %d roots, the limit is %d", loop.ErrLarge, len(info.Roots), maxRoots)
	case info.Board != board:
		return nil, fmt.Errorf("%w: it is for board %v, the campaign's is %v", loop.ErrOther, info.Board, board)
	case c.about.RulesOnly != (info.Leaves == eval.MoveLeaves): // the store has a part for one kind of proof only
		return nil, fmt.Errorf("%w: it is for campaigns with other leaf rules", loop.ErrOther)
	}
	roots := make([]proof.Citation, len(info.Roots))
	for i, r := range info.Roots {
		roots[i] = r.Citation(board)
	}
	return roots, nil
}

// reporter tells the loop how far a conclusion is.
type reporter func(state, why string, p loop.Phase)

// checking reports a check as it goes on, not more often than people see.
func (r reporter) checking(why string) func(checker.Progress) {
	said := time.Now()
	r(loop.StateVerifying, why, loop.Phase{Name: "checking"})
	return func(p checker.Progress) { // called by one goroutine at a time
		if time.Since(said) >= cli.TerminalPeriod {
			said = time.Now()
			r(loop.StateVerifying, why,
				loop.Phase{Name: "checking", Done: uint64(p.Entries), Total: uint64(p.TotalEntries)})
		}
	}
}

// assembling reports how many parts of a proof were merged.
func (r reporter) assembling(done, total int) {
	r(loop.StateAssembling, "the winner is known; its proof is being put together",
		loop.Phase{Name: "assembling", Done: uint64(done), Total: uint64(total)})
}

// concludeOrWait is conclude; an error for want of room, for the certificate or in the store, and one
// about a bucket that does not answer pass.
// After an error that passes the loop asks again; any other one stops the campaign, or takes parts back.
func (c *campaign) concludeOrWait(ctx context.Context, e loop.Evidence,
	report func(state, why string, p loop.Phase)) (loop.Conclusion, error) {
	conclusion, err := c.conclude(ctx, e, report)
	if errors.Is(err, evidence.ErrAway) || disk.Full(err) && !errors.Is(err, store.ErrFailed) {
		err = passing{err}
	}
	return conclusion, lost(err)
}

// passing is an error that passes as one for want of room does.
type passing struct{ error }

func (passing) Is(target error) bool { return target == store.ErrNoRoom }

// conclude makes the certificate of the settled tree, has it checked, and stores the answer. A
// certificate that is there already, just as it was when it was checked, is not made again.
func (c *campaign) conclude(ctx context.Context, e loop.Evidence, report reporter) (loop.Conclusion, error) {
	settled := e.Settled
	c.settled, c.searched = &settled, time.Since(c.began)
	defer func() { c.took = time.Since(c.began) }()
	// not the positions, of which there may be millions
	c.evidence = loop.Evidence{Settled: settled, FirstMoves: e.FirstMoves, Nodes: e.Nodes}
	roots := assemble.Roots(c.root, c.firstMoves, settled)
	if c.needsNoParts() {
		stands, top, err := c.partsStand(ctx, roots, report)
		if err != nil {
			return loop.Conclusion{}, err
		}
		if stands {
			answer, err := c.keepTop(ctx, &proofParts{top: top})
			if err != nil {
				return loop.Conclusion{}, err
			}
			c.file, c.verified, c.verifiedBy = c.known.Certificate, c.known.Verified, c.known.VerifiedBy
			c.file.Path = absolute(c.proofFile)
			c.readWinning(ctx)
			return c.conclusion(answer), nil
		}
	}
	if err := c.mayReplace(); err != nil { // somebody may have put a file there since Open
		return loop.Conclusion{}, fmt.Errorf("%w, and start the master again", err)
	}
	// From here on each phase is reported: on a large board it takes longer than people wait
	// without a word.
	report.assembling(0, 0)
	p, err := c.gather(ctx, roots, e.Won)
	if errors.Is(err, assemble.ErrMissing) {
		c.farm.metrics.Verified(false)
		return loop.Conclusion{}, fmt.Errorf("%w: the proof cannot be made whole: %w", ErrVerification, err)
	} else if err != nil {
		return loop.Conclusion{}, err
	}
	c.checked = 0
	answer, err := c.keepTop(ctx, p)
	if err != nil {
		return loop.Conclusion{}, err
	}
	if c.packs(p) {
		err = c.concludeInOne(ctx, p, report)
	} else {
		err = c.concludeInParts(ctx, p, report)
	}
	if err != nil {
		return loop.Conclusion{}, err
	}
	// The store remembers the path, and the next command may run in another folder.
	c.file.Path = cmp.Or(absolute(c.file.Path), c.file.Path)
	if err := c.farm.store.SetResult(c.about.Number, c.result()); err != nil {
		return loop.Conclusion{}, err
	}
	return c.conclusion(answer), nil
}

// keepTop puts what the tree adds to a proof among the parts of the store, and returns the facts that it proves: the
// answer. So other campaigns of the board know it, now or later. Where a part proves the answer already, it does
// nothing.
func (c *campaign) keepTop(ctx context.Context, p *proofParts) (answer []proof.Fact, err error) {
	if len(p.top.Roots) == 0 {
		return nil, nil
	}
	data, err := proof.Encode(p.top)
	if err != nil {
		return nil, err
	}
	err = c.try(ctx, data)
	if errors.Is(err, loop.ErrFalse) {
		c.farm.metrics.Verified(false)
		err = fmt.Errorf("%w: what the tree adds does not follow: %w", ErrVerification, err)
	}
	if err != nil {
		return nil, err
	}
	part := proof.PartOf(p.top, data)
	if _, err := c.farm.store.PutCertificate(c.about.Number, part.ID, data); err != nil {
		return nil, err
	}
	for _, r := range part.Roots {
		answer = append(answer, proof.Fact{Key: r.Key, Verdict: r.Claim, Certificate: part.ID})
	}
	return answer, nil
}

// concludeInOne makes one file of the proof and has the checker of this machine go over it.
func (c *campaign) concludeInOne(ctx context.Context, p *proofParts, report reporter) error {
	// Under its own name a certificate appears only after the checker has accepted it.
	draft := c.proofFile + ".unverified"
	// What the merge finds missing is a fault of a part that was said to hold, so it is blamed like
	// a part that the checker refuses.
	set, err := c.pack(ctx, draft, p, report.assembling)
	if errors.Is(err, assemble.ErrMissing) {
		c.farm.metrics.Verified(false)
		return c.blame(ctx, p, fmt.Errorf("%w: the certificate cannot be made whole: %w", ErrVerification, err))
	} else if err != nil {
		return err
	}
	r, err := c.checkDraft(ctx, draft, p, checker.Options{
		Progress: report.checking("the winner is known; the checker goes over its certificate")})
	if err != nil {
		return err
	}
	if err := c.give(draft, r.SHA256, disk.Rename); err != nil {
		return err
	}
	c.file = store.CertificateFile{Path: c.proofFile, SHA256: r.SHA256, Bytes: r.Bytes, Positions: uint64(r.Entries)}
	c.verified = true
	c.noteWinning(proof.Certificate{Board: c.root.Board, Leaves: eval.LeavesOf(c.about.RulesOnly), Set: set})
	return nil
}

// checkDraft has the checker of this machine go over a draft, in one file or in parts. If the draft does not hold, the
// error names the false parts.
func (c *campaign) checkDraft(ctx context.Context, draft string, p *proofParts,
	o checker.Options) (*checker.Report, error) {
	o.RulesOnly, o.Workers = c.about.RulesOnly, c.farm.options.CheckWorkers
	began := time.Now()
	r, err := checker.CheckFile(ctx, draft, o)
	c.checked += time.Since(began)
	if err == nil {
		err = c.claims(r, p.roots)
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	c.farm.metrics.Verified(err == nil)
	if err != nil {
		err = c.blame(ctx, p, fmt.Errorf("%w: %s: %w", ErrVerification, draft, err))
	}
	return r, err
}

// concludeInParts leaves the proof in parts and has them checked: by workers, or by this machine where
// all workers are of this process.
func (c *campaign) concludeInParts(ctx context.Context, p *proofParts, report reporter) error {
	own := c.farm.options.Embedded
	var err error
	if !own {
		if own, err = c.checkParts(ctx, p, report); err != nil {
			return err
		}
	}
	draft := c.proofFile + ".unverified"
	if c.file, err = c.publish(draft, p, false); err != nil {
		return err
	}
	// Workers have checked each part by itself, keepTop what the tree adds, and gather has seen that each citation is
	// proved by a listed part. What is left is that the manifest holds, with a small sample. Parts that lie in a
	// bucket, or are kept as digests, may be absent here.
	if !own && c.farm.store.Bucket() != nil { // the checker finds no part there to take its sample from
		if err := c.spot(ctx, p); err != nil {
			return err
		}
	}
	o := checker.Options{Absent: true,
		Progress: report.checking("the winner is known; the checker goes over its proof")}
	if !own {
		o.Sample, o.Seed = checker.Sample(spotSample), rand.Uint64()
	}
	if _, err := c.checkDraft(ctx, draft, p, o); err != nil {
		return err
	}
	if err := c.give(draft, c.file.SHA256, moveProof); err != nil {
		return err
	}
	c.file.Path = c.proofFile
	c.verified, c.verifiedBy = own, map[bool]string{false: "workers"}[own]
	c.readWinning(ctx)
	return nil
}

// spot has the checker of this machine go over a sample of the parts of a proof.
func (c *campaign) spot(ctx context.Context, p *proofParts) error {
	for range min(len(p.parts), 1+int(float64(len(p.parts))*spotSample)) {
		id := p.parts[rand.IntN(len(p.parts))].ID
		switch err := c.recheck(ctx, id); {
		case errors.Is(err, loop.ErrFalse):
			return &checks.FalsePartsError{IDs: []proof.ID{id}, Why: err.Error()}
		case err != nil && !errors.Is(err, store.ErrDropped):
			return err
		}
	}
	return nil
}

// spotSample is the share of the parts of a proof that the master checks although workers have.
const spotSample = 0.001

// moveProof gives a manifest and its parts another name. An older manifest of that name goes, with the parts that only
// the older one lists. Other files in the folders stay: they are somebody else's.
// The parts go first, so that a crash in between leaves no new manifest without its parts.
func moveProof(from, to string) error {
	m, err := proof.ReadManifest(from)
	if err != nil {
		return err
	}
	older, _ := proof.ReadManifest(to) // none: a proof in one file has no other parts
	draft, folder := proof.PartsFolder(from), proof.PartsFolder(to)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("folder of the parts: %w", err)
	}
	for _, part := range m.Parts {
		err := os.Rename(filepath.Join(draft, part.ID.Name()), filepath.Join(folder, part.ID.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it is in a bucket, or its digest alone is kept
			return err
		}
	}
	if err := errors.Join(disk.SyncFolder(folder), disk.Rename(from, to)); err != nil {
		return err
	}
	removeStale(folder, older, m)
	_ = os.Remove(draft) // unless it has something else
	return nil
}

// removeStale removes the parts from a folder that only the older of two manifests lists.
func removeStale(folder string, older, newer proof.Manifest) {
	listed := map[proof.ID]bool{}
	for _, part := range newer.Parts {
		listed[part.ID] = true
	}
	for _, part := range older.Parts {
		if !listed[part.ID] {
			_ = os.Remove(filepath.Join(folder, part.ID.Name()))
		}
	}
}

// claims holds what the checker found proved against what the campaign says.
// Without this a valid certificate of another question would pass as the answer. The order of the roots
// counts, as assemble.Roots gives it.
func (c *campaign) claims(r *checker.Report, roots []proof.Root) error {
	if len(r.Roots) != len(roots) {
		return fmt.Errorf("the certificate has %d roots instead of %d", len(r.Roots), len(roots))
	}
	for i, root := range roots {
		claim := "loss"
		if root.Claim == eval.Won {
			claim = "win"
		}
		p := root.Position(c.root.Board)
		if got := r.Roots[i]; got.Position != p.String() || got.Claim != claim {
			return fmt.Errorf("the certificate proves a %s at %s instead of a %s at %s", got.Claim, got.Position, claim,
				p)
		}
	}
	return nil
}

// pack makes one certificate of a proof, in the named file. Of the tree it takes what the proof needs and no more:
// where another move wins as well, the parts of this proof need not prove it. Errors: those of assemble.Write and of
// Store.OpenCertificate.
func (c *campaign) pack(ctx context.Context, name string, p *proofParts,
	progress func(done, total int)) (*proof.Set, error) {
	in := assemble.Input{Board: c.root.Board, Leaves: eval.LeavesOf(c.about.RulesOnly), Roots: p.roots, Top: p.top.Set,
		Progress: progress}
	for _, part := range p.parts {
		r, size, err := c.farm.store.OpenCertificate(part.ID)
		if err != nil {
			return nil, err
		}
		in.Parts = append(in.Parts, assemble.Part{ID: part.ID, Data: r, Size: size})
	}
	set, err := assemble.Write(ctx, name, in)
	if err != nil && !errors.Is(err, assemble.ErrMissing) && ctx.Err() == nil {
		for _, part := range p.parts { // the disk may have changed one since it was read whole
			if damaged := c.farm.store.Reread(part.ID); damaged != nil {
				return nil, damaged
			}
		}
	}
	return set, err
}

// unchanged reports whether a certificate's file is there with the bytes that were checked. Of a proof in parts it
// reads the manifest alone. A store may have moved with it, so it counts where it is now.
func unchanged(file string, known store.CertificateFile) bool {
	_, sum, err := disk.SHA256(file)
	return err == nil && sum == known.SHA256
}

// partsStand reports whether the published parts of a proof that was verified before are as they were. The store only
// says that they were verified, and it may be anybody's: so the checker goes over one file, or a sample of the parts.
// Parts that lie in a bucket, or are kept as digests, may be away. Where the store has the others, they are to be
// published again.
// The error says that some are gone: to prove them again may take long, so that is for a person to decide.
// top is the part that the tree has added, where the store does not have it: it was published by an earlier build, or
// the master ended at that moment. It has no roots where the store lacks nothing.
func (c *campaign) partsStand(ctx context.Context, roots []proof.Root, report reporter) (stands bool,
	top proof.Certificate, err error) {
	again := func(o checker.Options) bool {
		o.Progress = report.checking("the winner is known; the checker goes over its certificate again")
		_, err := c.checkDraft(ctx, c.proofFile, &proofParts{roots: roots}, o)
		return err == nil
	}
	m, err := proof.ReadManifest(c.proofFile)
	if errors.Is(err, proof.ErrNotCertificate) { // it is one file
		return again(checker.Options{}), top, ctx.Err()
	} else if err != nil {
		return false, top, err
	}
	proves := func(p proof.Part, r proof.Root) bool { return slices.Contains(p.Roots, r.Citation(m.Board)) }
	stands, gone := true, 0
	for i, part := range m.Parts {
		if err := ctx.Err(); err != nil {
			return false, top, err
		}
		report(loop.StateVerifying, "the winner is known; the parts of its proof are looked at",
			loop.Phase{Name: "verifying", Done: uint64(i), Total: uint64(len(m.Parts))})
		name := filepath.Join(proof.PartsFolder(c.proofFile), part.ID.Name())
		_, sum, err := disk.SHA256(name)
		if err == nil && sum == part.ID.Name() {
			if !c.farm.store.Holds(c.about.Number, part.ID) &&
				slices.ContainsFunc(roots, func(r proof.Root) bool { return proves(part, r) }) {
				if top, err = proof.ReadFile(name); err != nil {
					return false, top, err
				}
			}
			continue
		}
		away := errors.Is(err, fs.ErrNotExist)
		if away && c.farm.store.Bucket() != nil {
			continue
		}
		_, _, err = c.farm.store.OpenCertificate(part.ID)
		if away && errors.Is(err, store.ErrDropped) {
			continue
		}
		if stands = false; err != nil {
			gone++
		}
	}
	if gone > 0 {
		return false, top, fmt.Errorf("%w: missing or damaged parts: %d of %d; restore them, or remove %s, and "+
			"the same command proves them again", proof.ErrNotWhole, gone, len(m.Parts), c.proofFile)
	}
	return stands && again(checker.Options{Absent: true, Sample: spotSample, Seed: rand.Uint64()}), top, ctx.Err()
}

// needsNoParts reports whether the answer of a campaign stands without its parts: it was verified, and its certificate
// is there as it was then.
func (c *campaign) needsNoParts() bool {
	return c.known != nil && (c.known.Verified || c.known.VerifiedBy != "") &&
		unchanged(c.proofFile, c.known.Certificate)
}

// give renames a checked draft to the name of the proof. It refuses to replace a file of somebody else. It also refuses
// a draft that has changed since the check: an operator may have named one place for two campaigns.
func (c *campaign) give(draft, sum string, rename func(from, to string) error) error {
	if err := c.mayReplace(); err != nil {
		return err
	}
	if _, now, err := disk.SHA256(draft); err != nil || now != sum {
		return cli.Usagef("%s is not what was checked: another campaign writes to the same place; name another one "+
			"with --proof", draft)
	}
	if err := rename(draft, c.proofFile); err != nil {
		return fmt.Errorf("name the verified proof: %w", err)
	}
	return nil
}

// mayReplace returns an error unless the certificate may take the place of what lies there.
func (c *campaign) mayReplace() error {
	own := c.known != nil && c.known.Certificate.Path == absolute(c.proofFile)
	return mayReplace(c.proofFile, c.root, c.firstMoves, own)
}

// absolute returns a path from the root of the file system, "" where there is none.
func absolute(path string) string {
	path, _ = filepath.Abs(path)
	return path
}

// mayReplace returns an error unless the certificate of a question may take the place of what lies there: nothing, a
// certificate about the root or the positions after its first moves, or a damaged certificate where this campaign had
// put its own. The parts of a large proof are renamed into the folder beside it.
func mayReplace(path string, root amazons.Position, firstMoves []amazons.Move, own bool) error {
	var folder, beside unix.Stat_t
	parts := proof.PartsFolder(path)
	if unix.Stat(parts, &folder) == nil && unix.Stat(filepath.Dir(path), &beside) == nil &&
		(folder.Mode&unix.S_IFMT != unix.S_IFDIR || folder.Dev != beside.Dev) {
		return fmt.Errorf("%s is there and is no folder on the disk of %s: move it", parts, path)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m, err := proof.ReadManifest(path)
	if f, openErr := disk.Open(path); errors.Is(err, proof.ErrNotCertificate) && openErr == nil { // perhaps one file
		defer f.Close()
		var info proof.Info
		info, err = proof.ReadInfo(f, math.MaxInt64)
		m.Board, m.Roots = info.Board, info.Roots
	}
	damaged := errors.Is(err, proof.ErrTruncated) || errors.Is(err, proof.ErrChecksum) ||
		errors.Is(err, proof.ErrCorrupt)
	if damaged && own {
		return nil
	}
	asked := []string{root.String()}
	for _, move := range firstMoves {
		asked = append(asked, root.After(move).String())
	}
	other := func(r proof.Root) bool { return !slices.Contains(asked, r.Position(m.Board).String()) }
	if err != nil || m.Board != root.Board || slices.ContainsFunc(m.Roots, other) {
		return fmt.Errorf("%s is there and is no certificate of this campaign of %v: move it", path, root.Board)
	}
	return nil
}
