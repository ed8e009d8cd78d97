package campaign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"amazonsfarm/master/assemble"
	"amazonsfarm/master/checks"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// catalogue knows the parts of a pool by what they prove.
// The maps do not change: facts and parts that come later are not in them. Facts are read before parts,
// because a part is stored before the fact that names it. The other way round a fact could name a part
// that is not in the list.
type catalogue struct {
	*campaign
	facts map[amazons.Key]proof.Fact
	parts map[proof.ID]store.PartRecord
}

// catalogue reads what the store has for the campaign.
func (c *campaign) catalogue() (*catalogue, error) {
	snap, err := c.farm.store.Snapshot(c.about.Number)
	if err != nil {
		return nil, err
	}
	list, err := c.farm.store.Parts(c.about.Number)
	if err != nil {
		return nil, err
	}
	k := &catalogue{c, make(map[amazons.Key]proof.Fact, len(snap.Facts)),
		make(map[proof.ID]store.PartRecord, len(list))}
	for _, f := range snap.Facts {
		k.facts[f.Key] = f
	}
	for _, p := range list {
		k.parts[p.ID] = p
	}
	return k, nil
}

// proofParts is a proof in parts: those of workers, and what the tree itself adds.
type proofParts struct {
	roots []proof.Root
	top   proof.Certificate // without roots: the tree adds nothing
	parts []proof.Part
	// dropped says that some are kept as digests only.
	dropped bool
	// unchecked parts have no checker yet. The checker of alone parts may have made them (checks.WasAlone).
	unchecked, alone []checks.Part
}

// gather finds the parts that prove the roots. A FalsePartsError has those that cite what no part
// proves.
// A root that a fact proves needs the part of that fact. The other roots follow from the tree: the moves
// of its won nodes are entries, Prune keeps those that the roots need, and the entries cite what facts
// prove. They become the top, one more part of the proof. follow then adds the parts of all these facts,
// and what they cite.
func (c *campaign) gather(ctx context.Context, roots []proof.Root, won []proof.Entry) (*proofParts, error) {
	k, err := c.catalogue()
	if err != nil {
		return nil, err
	}
	board := c.root.Board
	p := &proofParts{roots: roots, top: proof.Certificate{Board: board, Leaves: eval.LeavesOf(c.about.RulesOnly),
		Set: new(proof.Set)}}
	var todo []proof.Fact
	for _, r := range roots {
		if f := k.facts[r.State.CanonicalKey(board)]; f.Verdict == r.Claim {
			todo = append(todo, f)
		} else {
			p.top.Roots = append(p.top.Roots, r)
		}
	}
	if len(p.top.Roots) > 0 {
		for _, n := range won {
			p.top.Set.Add(n)
		}
		var missing []amazons.Key
		p.top, missing, err = proof.Prune(ctx, p.top,
			func(key amazons.Key) eval.Verdict { return k.facts[key].Verdict })
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return nil, &assemble.MissingError{Board: board, Keys: missing}
		}
		for _, q := range p.top.Cited {
			todo = append(todo, k.facts[q.Key])
		}
	}
	return p, k.follow(ctx, p, todo)
}

// follow adds the parts of facts, and the parts of all facts that they cite. A part must prove each fact that names it:
// the final check cannot see this if the bytes of the part are not here.
// It goes through all of them before it returns a FalsePartsError, so that all such parts are taken back
// at once and the farm need not come here again for each.
func (k *catalogue) follow(ctx context.Context, p *proofParts, todo []proof.Fact) error {
	wrong := &checks.FalsePartsError{Why: "they cite what no part proves", Lacks: map[proof.ID][]amazons.Key{}}
	other := &checks.FalsePartsError{Why: "facts name them that they do not prove"}
	known, proved, named := map[proof.ID]bool{}, map[proof.Citation]bool{}, map[proof.Citation]proof.ID{}
	for len(todo) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		id := f.Certificate
		named[proof.Citation{Key: f.Key, Claim: f.Verdict}] = id
		if known[id] {
			continue
		}
		known[id] = true
		record, ok := k.parts[id]
		if !ok {
			return fmt.Errorf("%w: part %s is named by a fact and not in the store", ErrVerification, id.Name())
		}
		info, cited, err := k.farm.store.Outline(id)
		if err != nil {
			return err
		}
		part := info.Part(id, record.Bytes)
		for _, root := range part.Roots {
			proved[root] = true
		}
		p.parts = append(p.parts, part)
		p.dropped = p.dropped || record.Dropped
		switch part := (checks.Part{Campaign: k.about.Number, ID: id, Size: record.Bytes}); {
		case record.Verified == "":
			p.unchecked = append(p.unchecked, part)
		case checks.WasAlone(record.Verified) && !record.Dropped:
			p.alone = append(p.alone, part)
		}
		for _, q := range cited {
			if f := k.facts[q.Key]; f.Verdict == q.Claim {
				if _, met := named[q]; !met {
					todo = append(todo, f)
				}
			} else if wrong.Lacks[id] = append(wrong.Lacks[id], q.Key); len(wrong.Lacks[id]) == 1 {
				wrong.IDs = append(wrong.IDs, id)
			}
		}
	}
	for q, id := range named {
		if !proved[q] && !slices.Contains(other.IDs, id) {
			other.IDs = append(other.IDs, id)
		}
	}
	switch {
	case len(wrong.IDs) > 0:
		return wrong
	case len(other.IDs) > 0: // the sender of the facts is unknown, and the makers of the parts did not lie
		return fmt.Errorf("%w: %w", loop.ErrLost, other)
	}
	return nil
}

// recheck has the checker go over one part.
// The error wraps ErrFalse where the part is to blame, ErrLost where its bytes are gone or damaged, and
// store.ErrNoCertificate where the store does not have it any more. Any other error says nothing about the part: the
// check could not be made.
func (c *campaign) recheck(ctx context.Context, id proof.ID) error {
	r, size, err := c.farm.store.OpenCertificate(id)
	if err != nil {
		return lost(err)
	}
	report, err := c.checkPart(ctx, r, size)
	if err == nil && report.SHA256 != id.Name() {
		err = fmt.Errorf("%w: its SHA-256 is %s", loop.ErrFalse, report.SHA256)
	}
	if errors.Is(err, loop.ErrFalse) { // nobody is to blame for bytes that the disk has changed since they came
		err = cmp.Or(c.farm.store.Reread(id), err)
	}
	if err != nil {
		return lost(err)
	}
	// Where a worker announced the outline first, the facts were taken from it. Bytes that hold and prove
	// something else would leave these facts without a proof.
	if kept, _ := c.farm.store.KeptOutline(c.about.Number, id); kept != nil {
		outline, err := proof.Outline(r, size)
		if err == nil && !bytes.Equal(outline, kept) {
			err = fmt.Errorf("%w: it proves or cites something else than was announced", loop.ErrFalse)
		}
		return err
	}
	return nil
}

// checkPart has the checker go over the bytes of one part. The error wraps ErrFalse where the part does not hold.
func (c *campaign) checkPart(ctx context.Context, r io.ReaderAt, size int64) (*checker.Report, error) {
	report, err := checker.Check(ctx, r, size, checker.Options{Part: true, RulesOnly: c.about.RulesOnly,
		Workers: c.farm.options.CheckWorkers, MaxMemory: PartMemory})
	if checker.Refutes(err) || errors.Is(err, checker.ErrMemory) { // no honest worker makes such a part
		err = fmt.Errorf("%w: %w", loop.ErrFalse, err)
	}
	return report, err
}

// try is checkPart for a part that is not in the store yet.
func (c *campaign) try(ctx context.Context, data []byte) error {
	_, err := c.checkPart(ctx, bytes.NewReader(data), int64(len(data)))
	return err
}

// lost gives an error about a part whose bytes are not there, or are other ones, the form in which facts
// are taken back.
func lost(err error) error {
	if part, ok := errors.AsType[*store.PartError](err); ok {
		return fmt.Errorf("%w: %w", loop.ErrLost, &checks.FalsePartsError{IDs: []proof.ID{part.ID}, Why: err.Error()})
	}
	if errors.Is(err, store.ErrDropped) {
		return fmt.Errorf("%w: %w", loop.ErrLost, err)
	}
	return err
}

// resting returns the given parts, and those that cite what only they prove, and so on.
// At least one part is given. The turned graph takes memory for each citation of the pool, so this is
// for the rare case that a part is false or lost.
func (c *campaign) resting(ctx context.Context, ids []proof.ID) ([]proof.ID, error) {
	k, err := c.catalogue()
	if err != nil {
		return nil, err
	}
	// Citations lead from a part to what it needs. Taking back goes the other way, so the graph is
	// turned round first, once, and then followed from the false parts upwards.
	citing := map[proof.ID][]proof.ID{} // by the part that is cited
	for id := range k.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		_, cited, err := k.farm.store.Outline(id)
		of, system := errors.AsType[syscall.Errno](err)
		if errors.Is(err, evidence.ErrAway) || system && of != syscall.EIO {
			return nil, err // of this machine or of the bucket, and it may pass
		} else if err != nil {
			citing[ids[0]] = append(citing[ids[0]], id) // it cannot be read: it goes as well
			continue
		}
		for _, q := range cited {
			on := k.facts[q.Key].Certificate
			citing[on] = append(citing[on], id)
		}
	}
	var all []proof.ID
	met := map[proof.ID]bool{}
	for todo := slices.Clone(ids); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !met[id] {
			met[id] = true
			all = append(all, id)
			todo = append(todo, citing[id]...)
		}
	}
	return all, nil
}

// suspects returns the parts that nobody has checked, those behind a contradiction first.
func (c *campaign) suspects(e tree.Contradiction) (ids []proof.ID, err error) {
	for _, claim := range []graph.Claim{e.Known, e.Claim} {
		if claim.Basis == graph.ByFact {
			ids = append(ids, claim.Fact.Certificate)
		}
	}
	list, err := c.farm.store.Parts(c.about.Number)
	for _, p := range list {
		if (p.Verified == "" || checks.WasAlone(p.Verified)) && !slices.Contains(ids, p.ID) {
			ids = append(ids, p.ID)
		}
	}
	// One that is gone is not to be taken back again.
	return slices.DeleteFunc(ids, func(id proof.ID) bool {
		return !c.farm.store.HasCertificate(c.about.Number, id)
	}), err
}

// packPositions is the largest proof, in positions, that a master with workers elsewhere makes one
// file of and checks by itself: that takes it half a second. Larger ones stay in parts, which workers
// check. Tests change it.
var packPositions int64 = 1 << 18

// packs says whether the proof becomes one file.
func (c *campaign) packs(p *proofParts) bool {
	most := packPositions
	if c.farm.options.Embedded {
		most = proof.OneFilePositions
	}
	n := int64(p.top.Set.Len())
	for _, part := range p.parts {
		n += part.Positions
	}
	return !p.dropped && n <= most
}

// publish writes the manifest of a proof under a name, and its parts into the folder beside it. Parts that are
// in a bucket or not kept stay away, unless the proof has to be whole. It returns the manifest's file.
// The manifest is written last, so it never names a part that is yet to come into its folder.
func (c *campaign) publish(name string, p *proofParts, whole bool) (store.CertificateFile, error) {
	m := proof.Manifest{Board: c.root.Board, Leaves: p.top.Leaves, Roots: p.roots, Parts: p.parts}
	folder := proof.PartsFolder(name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return store.CertificateFile{}, fmt.Errorf("folder of the parts: %w", err)
	}
	if len(p.top.Roots) > 0 {
		part, err := proof.SavePart(folder, p.top)
		if err != nil {
			return store.CertificateFile{}, err
		}
		m.Parts = append(slices.Clone(m.Parts), part)
	}
	file := store.CertificateFile{Path: name}
	for _, part := range m.Parts {
		file.Bytes += part.Bytes
		file.Positions += uint64(part.Positions)
	}
	for _, part := range p.parts {
		if c.farm.store.Bucket() != nil && !whole {
			break // they stay there: whoever checks the proof fetches them
		}
		err := c.linkPart(part.ID, filepath.Join(folder, part.ID.Name()))
		if err != nil && (whole || !errors.Is(err, store.ErrDropped)) {
			return file, err
		}
	}
	older, _ := proof.ReadManifest(name) // of a draft that did not hold
	if err := proof.WriteManifest(name, m); err != nil {
		return file, err
	}
	removeStale(folder, older, m)
	size, sum, err := disk.SHA256(name)
	file.Bytes, file.SHA256 = file.Bytes+size, sum
	return file, err
}

// linkPart gives the file of a part another name on the same disk, or copies it there. A file of that name goes: it
// may be of an earlier draft, and damaged.
// A link costs no room, where the evidence and the proof lie on one disk. The copy is for two disks.
func (c *campaign) linkPart(id proof.ID, name string) error {
	if err := c.farm.store.Reread(id); err != nil { // no damaged part is published
		return err
	}
	r, size, err := c.farm.store.OpenCertificate(id)
	if err != nil {
		return err
	}
	file := filepath.Join(c.farm.store.Place(), id.Name()[:2], id.Name())
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace a part of an earlier draft: %w", err)
	}
	if os.Link(file, name) == nil {
		return nil
	}
	return disk.ReplaceFrom(name, 0o644, io.NewSectionReader(r, 0, size))
}

// checkParts has workers check the parts of a proof that nobody has checked yet. Without a worker this machine checks
// all; own says so.
func (c *campaign) checkParts(ctx context.Context, p *proofParts, report reporter) (own bool, err error) {
	began := time.Now()
	defer func() { c.checked = time.Since(began) }()
	unchecked := p.unchecked
	if len(p.alone) > 0 {
		if parties, err := c.farm.Loop.Parties(ctx); err != nil {
			return false, err
		} else if parties > 1 { // now somebody else is there
			unchecked = slices.Concat(unchecked, p.alone)
		}
	}
	done := len(p.parts) - len(unchecked)
	say := func(n, _ int) {
		report(loop.StateVerifying, fmt.Sprintf("the winner is known; workers have checked %d of %d parts of its proof",
			done+n, len(p.parts)), loop.Phase{Name: "verifying", Done: uint64(done + n), Total: uint64(len(p.parts))})
	}
	say(0, 0)
	err = c.farm.Loop.Verify(ctx, unchecked, say)
	if !errors.Is(err, checks.ErrLonely) {
		return false, err
	}
	report(loop.StateVerifying, "the winner is known; there is no worker, so the master checks the proof",
		loop.Phase{Name: "verifying", Total: uint64(len(p.parts))})
	// Here the master answers for the whole proof. It cannot do so for a part whose bytes were dropped
	// after workers had verified it: then own is false, and the answer says that workers did.
	wrong := &checks.FalsePartsError{Why: "the checker refuses them"}
	own = true
	for _, part := range p.parts {
		switch err := c.recheck(ctx, part.ID); {
		case errors.Is(err, store.ErrDropped): // workers have verified it
			own = false
		case errors.Is(err, loop.ErrFalse):
			wrong.IDs = append(wrong.IDs, part.ID)
		case err != nil:
			return false, err
		}
	}
	if len(wrong.IDs) > 0 {
		return false, wrong
	}
	return own, nil
}

// blame finds the parts that do not hold, where the proof that was made of them does not.
// It checks each part alone. Where all of them hold, the fault came in when they were put together,
// which is no fault of a worker: then the error stays what it was.
func (c *campaign) blame(ctx context.Context, p *proofParts, why error) error {
	wrong := &checks.FalsePartsError{Why: why.Error()}
	for _, part := range p.parts {
		switch err := c.recheck(ctx, part.ID); {
		case errors.Is(err, loop.ErrFalse):
			wrong.IDs = append(wrong.IDs, part.ID)
		// What is kept as a digest only was verified before it was dropped.
		case errors.Is(err, loop.ErrLost) && !errors.Is(err, store.ErrDropped):
			return err
		}
	}
	if len(wrong.IDs) == 0 {
		return why
	}
	return wrong
}
