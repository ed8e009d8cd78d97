// Package remake proves parts of a proof again, from what its manifest says alone.
//
// A manifest claims for each part which positions it proves, and every position that a part cites is a
// root of another one with more arrows. So the roots of a part can be proved without its file: by a
// search that takes the roots with more arrows as known. The checker goes over what comes out. A sample
// of parts that were made again shows a stranger that a proof is right whose parts nobody has kept.
//
// The way of one part, in [Run]:
//
//   - The roots of all parts are claims. Nobody has checked them here, so they guide, and do not
//     prove.
//   - For each number of arrows among the part's roots, the table is cleared. Then it gets all
//     claims about positions with more arrows, as if a search had solved them.
//   - A search solves each root, and a builder extracts a proof that cites those claims.
//   - The checker goes over the new part, given its citations.
//
// Claims with more arrows are exactly what a part may cite. So a new part rests on no other claims
// than the listed part does. If all claims of a manifest are true, each part can be made again. If
// one is false, then a false claim with the most arrows has no proof: its part fails when the
// sample hits it.
package remake

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"amazonsfarm/master/evidence"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// The kinds of error; judge with errors.Is.
var (
	// ErrRefuted: a search says the opposite of what the manifest claims, or the checker refuses what
	// was made.
	ErrRefuted = errors.New("a part does not hold")
	// ErrNodes: the search for a root was given up.
	ErrNodes = errors.New("a root takes too many nodes")
)

// MaxNodes is the number of nodes after which a root is given up: a hundred times the largest lease of
// a worker, whose part took a lease or less.
const MaxNodes = 500_000_000

// claimNodes is the work that the table takes a claim to be worth: that of a fact of some size, since the
// manifest does not say.
const claimNodes = 100_000

// Options are the settings of [Run]. Zero stands for no limit of parts, and is wrong elsewhere.
type Options struct {
	Sample     int // of so many parts, 0: of all
	Seed       uint64
	Shard      checker.Shard // of these
	TableBytes int64
	Cores      int
	Keep       string // an evidence folder for what is made; "" keeps nothing
	Notes      string // a file that says which parts were made: kept ones are not made again; "" notes nothing
}

// Part is one part that was made again.
type Part struct {
	ID        string `json:"sha256"` // of the part that the manifest lists
	Roots     int    `json:"roots"`
	Arrows    int    `json:"arrows"` // of the root with fewest
	Nodes     uint64 `json:"nodes"`
	Positions int64  `json:"positions"`
	Citations int64  `json:"citations"`
	// Made are the certificates that were made, one for each number of arrows of the roots.
	Made []string `json:"made"`
}

// String returns the part in a line.
func (p Part) String() string {
	return fmt.Sprintf("part %s: %s with %s or more, %s, %s, %s; made %s, which holds", p.ID[:16],
		cli.Counted(p.Roots, "root"), cli.Counted(p.Arrows, "arrow"), cli.Counted(p.Nodes, "node"),
		cli.Counted(p.Positions, "position"), cli.Counted(p.Citations, "citation"), strings.Join(p.Made, " "))
}

// Report is what [Run] did.
type Report struct {
	File  string `json:"file"`
	Parts int    `json:"parts"` // of the manifest
	Seed  uint64 `json:"seed"`
	Nodes uint64 `json:"nodes"`
	Made  []Part `json:"remade"`
	// Before is how many of them were made before, as the notes say.
	Before int `json:"before,omitempty"`
	// Proved are the positions of the manifest's claims, each with who wins. It is empty unless all parts were made.
	Proved []string `json:"proved,omitempty"`
	// Manifest is a file that lists the parts that were made, if all were made and kept.
	Manifest string `json:"manifest,omitempty"`
}

// String returns the last line for people; tell has said the others.
func (r Report) String() string {
	seed := ""
	if len(r.Made) < r.Parts {
		seed = fmt.Sprintf(" (seed %d)", r.Seed)
	}
	given := ""
	if r.Before > 0 {
		given = ", if the state is true"
	}
	s := fmt.Sprintf("remade         %d of %d parts of %s with %d nodes, and the checker accepts each%s%s\n",
		len(r.Made), r.Parts, r.File, r.Nodes, given, seed)
	for _, claim := range r.Proved {
		s += fmt.Sprintf("proved         %s\n", claim)
	}
	if r.Manifest != "" {
		s += fmt.Sprintf("manifest       %s of the new parts; check it: master evidence fetch %s --from %s, and "+
			"master verify %s\n", r.Manifest, r.Manifest, strings.TrimSuffix(r.Manifest, ".proof"), r.Manifest)
	}
	if r.Before > 0 {
		s += fmt.Sprintf("before         %d of them, as the state says\n", r.Before)
	}
	return s
}

// Run makes parts of a manifest again and has each checked. tell hears of each. Errors: ErrRefuted,
// ErrNodes, checker.ErrState, evidence.ErrPlace, those of reading the manifest and of the folder, ctx's; the report
// then has the parts before.
func Run(ctx context.Context, file string, o Options, tell func(Part)) (r Report, err error) {
	r = Report{File: file, Seed: o.Seed}
	m, err := proof.ReadManifest(file)
	if err != nil {
		return r, err
	}
	r.Parts = len(m.Parts)
	if o.Keep != "" { // a part may take hours, and would then be lost
		if err := mayList(listOf(o.Keep), file, m); err != nil {
			return r, err
		}
		if err := evidence.OpenFolder(o.Keep).Try(); err != nil {
			return r, err
		}
	}
	n, done, err := openNotes(o.Notes, file)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	w, err := newWorkshop(m, o)
	if err != nil {
		return r, err
	}
	defer w.search.Close() // memory of this process: there is nothing to lose
	for _, i := range chosen(len(m.Parts), o) {
		p, before := done[m.Parts[i].ID.Name()]
		if before && w.kept(p) {
			r.Before++
		} else {
			if p, err = w.remake(ctx, m.Parts[i]); err == nil {
				err = n.add(p)
			}
			if err != nil {
				return r, fmt.Errorf("part %s: %w", m.Parts[i].ID.Name(), err)
			}
			tell(p)
		}
		r.Made, r.Nodes = append(r.Made, p), r.Nodes+p.Nodes
	}
	if len(r.Made) < r.Parts {
		return r, nil
	}
	for _, root := range m.Roots {
		at := root.Position(m.Board)
		r.Proved = append(r.Proved, fmt.Sprintf("%v: %s wins", at, root.Claim.Winner(at.ToMove)))
	}
	if w.keep != "" {
		r.Manifest, err = w.list(m, r.Made)
	}
	return r, err
}

// chosen returns the numbers of the parts to make: the same ones for the same seed, and those of the shard among them.
func chosen(n int, o Options) (list []int) {
	all := rand.New(rand.NewPCG(o.Seed, 0)).Perm(n)[:min(n, cmp.Or(o.Sample, n))]
	slices.Sort(all)
	for i, part := range all {
		if o.Shard.Of == 0 || int64(i)%o.Shard.Of == o.Shard.Number-1 {
			list = append(list, part)
		}
	}
	return list
}

// workshop is a search with all that a manifest claims.
type workshop struct {
	board  amazons.Board
	leaves eval.Leaves
	known  []proof.Citation // roots of all parts, those with most arrows first
	claims map[amazons.Key]eval.Verdict
	search *dfpn.Prover
	keep   string // as in Options
}

// newWorkshop reads the claims of a manifest and makes the searches. It refuses a manifest that
// contradicts itself, or whose claims no part proves: nothing could be made of that.
func newWorkshop(m proof.Manifest, o Options) (*workshop, error) {
	w := &workshop{board: m.Board, leaves: m.Leaves, keep: o.Keep, claims: map[amazons.Key]eval.Verdict{}}
	for _, p := range m.Parts {
		for _, q := range p.Roots {
			if v, ok := w.claims[q.Key]; ok && v != q.Claim {
				return nil, fmt.Errorf("%w: the manifest claims that one position is both won and lost", ErrRefuted)
			}
			w.claims[q.Key] = q.Claim
			w.known = append(w.known, q)
		}
	}
	for _, r := range m.Roots {
		if w.claims[r.State.CanonicalKey(m.Board)] != r.Claim {
			return nil, fmt.Errorf("%w: no part proves the claim about %v", ErrRefuted, r.Position(m.Board))
		}
	}
	slices.SortFunc(w.known, func(p, q proof.Citation) int { return proof.Arrows(q.Key) - proof.Arrows(p.Key) })
	table, err := dfpn.NewTable(o.TableBytes)
	if err != nil {
		return nil, err
	}
	w.search, err = dfpn.NewProver(dfpn.Options{Board: m.Board, Table: table, Threads: o.Cores})
	if err != nil {
		return nil, errors.Join(err, table.Close())
	}
	return w, nil
}

// kept reports whether what was made for a part before is where it is to be kept.
func (w *workshop) kept(p Part) bool {
	if w.keep == "" {
		return true
	}
	folder := evidence.OpenFolder(w.keep)
	for _, name := range p.Made {
		id, ok := proof.ParseID(name)
		if _, there, err := folder.Has(id); !ok || err != nil || !there {
			return false
		}
	}
	return true
}

// listOf returns the name of the manifest of all parts that are kept in a folder.
func listOf(folder string) string { return filepath.Clean(folder) + ".proof" }

// mayList returns an error where something else is in the place of the manifest of what is made from m, which is in
// file. One that an earlier run made is no hindrance.
func mayList(name, file string, m proof.Manifest) error {
	err := disk.Free(name)
	if err == nil || same(name, file) {
		return err
	}
	if there, unread := proof.ReadManifest(name); unread != nil || !slices.Equal(there.Roots, m.Roots) {
		return err
	}
	return nil
}

// same reports whether two names are of one file.
func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// list writes a manifest of the parts that were made, under the name of their folder. One that an earlier run made
// stays as it is.
func (w *workshop) list(m proof.Manifest, made []Part) (name string, err error) {
	name = listOf(w.keep)
	if disk.Free(name) != nil {
		return "", nil
	}
	folder, listed := evidence.OpenFolder(w.keep), map[proof.ID]bool{}
	m.Parts = nil
	for _, p := range made {
		for _, text := range p.Made {
			id, _ := proof.ParseID(text)
			if listed[id] {
				continue
			}
			part, err := w.read(folder, id)
			if err != nil {
				return "", err
			}
			m.Parts, listed[id] = append(m.Parts, part), true
		}
	}
	return name, proof.WriteManifest(name, m)
}

// read reads the header of a part that was kept.
func (w *workshop) read(folder *evidence.Folder, id proof.ID) (proof.Part, error) {
	file, err := folder.Open(id)
	if err != nil {
		return proof.Part{}, err
	}
	defer file.Close()
	info, err := proof.ReadInfo(file, file.Size())
	return info.Part(id, file.Size()), err
}

// remake proves the roots of a part again: those of as many arrows together.
func (w *workshop) remake(ctx context.Context, listed proof.Part) (Part, error) {
	p := Part{ID: listed.ID.Name(), Roots: len(listed.Roots), Arrows: 64}
	byArrows := map[int][]proof.Citation{}
	for _, q := range listed.Roots {
		byArrows[proof.Arrows(q.Key)] = append(byArrows[proof.Arrows(q.Key)], q)
		p.Arrows = min(p.Arrows, proof.Arrows(q.Key))
	}
	for arrows := 64; arrows >= 0; arrows-- {
		if roots := byArrows[arrows]; len(roots) > 0 {
			if err := w.prove(ctx, roots, arrows, &p); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// prove makes a part for roots of one number of arrows, and has the checker go over it.
func (w *workshop) prove(ctx context.Context, roots []proof.Citation, arrows int, p *Part) error {
	w.search.Forget()
	for _, q := range w.known {
		if proof.Arrows(q.Key) <= arrows {
			break
		}
		s, err := q.Key.State(w.board)
		if err != nil {
			return fmt.Errorf("%w: %w", proof.ErrCorrupt, err)
		}
		w.search.Insert(s, q.Claim, claimNodes)
	}
	finds := w.search.Witnesses
	// One searcher for each core extracts the proof. They share the table, and the builder shares
	// the work.
	builder := proof.NewBuilder(w.board, proof.BuilderOptions{Leaves: w.leaves, CiteAbove: arrows,
		MaxEntries: proof.OneFilePositions,
		Known:      func(k amazons.Key) eval.Verdict { return w.claims[k] }}, finds...)
	c := proof.Certificate{Board: w.board, Leaves: w.leaves}
	began := finds[0].Nodes()
	for _, q := range roots {
		s, err := q.Key.State(w.board)
		if err != nil {
			return fmt.Errorf("%w: %w", proof.ErrCorrupt, err)
		}
		name := amazons.PositionOf(w.board, s, amazons.White)
		switch r := w.search.Search(ctx, s, MaxNodes); {
		case ctx.Err() != nil:
			return ctx.Err()
		case r.Verdict == eval.Open:
			return fmt.Errorf("%w: %v is open after %d", ErrNodes, name, r.Nodes)
		// A search alone refutes nothing, since it may be wrong. Only if the opposite can be
		// proved, given the other claims, is the manifest wrong.
		case r.Verdict != q.Claim && builder.Prove(ctx, s, r.Verdict) == nil:
			return fmt.Errorf("%w: the manifest claims that %v is %v, and given its other claims it is %v", ErrRefuted,
				name, q.Claim, r.Verdict)
		}
		if err := builder.Prove(ctx, s, q.Claim); err != nil {
			return err
		}
		c.Roots = append(c.Roots, proof.Root{State: s, Claim: q.Claim})
	}
	c.Cited, c.Set = builder.Cited(), builder.Take()
	data, err := proof.Encode(c)
	if err != nil {
		return err
	}
	report, err := checker.Check(ctx, bytes.NewReader(data), int64(len(data)), checker.Options{Part: true,
		RulesOnly: w.leaves == eval.MoveLeaves, Workers: len(finds)})
	if checker.Refutes(err) {
		return fmt.Errorf("%w: %w", ErrRefuted, err)
	}
	if err != nil {
		return err
	}
	p.Nodes += finds[0].Nodes() - began
	p.Positions += int64(c.Set.Len())
	p.Citations += int64(len(c.Cited))
	p.Made = append(p.Made, report.SHA256)
	if w.keep == "" {
		return nil
	}
	return evidence.OpenFolder(w.keep).Put(proof.IDOf(data), int64(len(data)), bytes.NewReader(data))
}
