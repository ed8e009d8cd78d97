package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/master/tree/reach"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Imported says what a new store has of an archive, also to programs. Fields may be added, never renamed.
type Imported struct {
	MessageType string `json:"message_type"` // "import"
	Store       string `json:"store"`
	Board       string `json:"board"`
	Nodes       uint64 `json:"nodes"`   // searched by the campaign before
	Tree        int    `json:"tree"`    // tree positions
	Claims      int    `json:"claims"`  // of the archive
	Facts       int    `json:"facts"`   // proved by the parts that were at hand
	Parts       int    `json:"parts"`   // taken into the store; nobody has checked them yet
	Refused     int    `json:"refused"` // files of the folder that are no part, or cite what no part at hand proves
	Guiding     int    `json:"guiding"` // claims without a part: they steer the search and prove nothing

	RefusedFiles []string `json:"refused_files,omitempty"` // the first 20 of them, each with the reason
}

// String returns the report in a few lines for people.
func (r Imported) String() string {
	text := fmt.Sprintf("store          %s: %s, %s, %d nodes searched before\n"+
		"facts          %d, by %s to be checked; %s refused\n"+
		"claims         %d of %d without a part: to guide the search, and to be proved again\n",
		r.Store, r.Board, cli.Counted(r.Tree, "tree position"), r.Nodes, r.Facts, cli.Counted(r.Parts, "part"),
		cli.Counted(r.Refused, "file"), r.Guiding, r.Claims)
	for _, file := range r.RefusedFiles {
		text += "refused        " + file + "\n"
	}
	if more := r.Refused - len(r.RefusedFiles); more > 0 {
		text += fmt.Sprintf("refused        and %d more\n", more)
	}
	return text
}

// maxRefusedFiles is how many refused files a report names.
const maxRefusedFiles = 20

// batch is how many records Import commits at once.
const batch = 10_000

// Import makes a store from an archive and a folder of parts, "" for none. The parts may lie in the
// folder or in folders of it, under any names. A part is taken if it belongs to the board and all that
// it cites is proved by other parts that are taken. None counts for an answer before it was checked,
// as any part of the store. Errors: those of Read, ErrForeign too for records that no tree has; those of the store,
// ctx's; disk.ErrExists where the store is there, or parts lie where its parts would. Nothing of the new store is then
// left.
func Import(ctx context.Context, file, storeFile, parts string) (r Imported, err error) {
	a, err := Read(ctx, file)
	if err != nil {
		return r, err
	}
	if _, err := os.Lstat(storeFile); err == nil {
		return r, fmt.Errorf("%w: %s; import into a new store", disk.ErrExists, storeFile)
	}
	root, err := amazons.ParsePosition(a.Campaign.Root)
	if err != nil {
		return r, err
	}
	g, err := grow(a, root)
	if err != nil {
		return r, fmt.Errorf("read archive %s: %w: %w", file, ErrForeign, err)
	}
	l := &library{board: root.Board, rulesOnly: a.Campaign.RulesOnly}
	if parts != "" {
		if err := l.read(ctx, parts); err != nil {
			return r, err
		}
	}
	if err := store.Unused(storeFile); err != nil {
		return r, err
	}
	// The store and its parts get their names once they are whole: a store without a part of the archive looks whole.
	draft := filepath.Join(filepath.Dir(storeFile), "."+filepath.Base(storeFile)+".import")
	if s, err := store.Open(draft, store.Options{}); errors.Is(err, store.ErrLocked) {
		return r, err // another import writes it
	} else if err == nil {
		s.Close()
	}
	if err := errors.Join(os.RemoveAll(draft), os.RemoveAll(store.EvidenceFolder(draft))); err != nil {
		return r, err
	}
	s, err := store.Create(draft, a.Campaign, store.Options{})
	if err != nil {
		return r, err
	}
	defer func() {
		if err = errors.Join(err, s.Close()); err == nil {
			err = give(draft, storeFile)
		}
		err = errors.Join(err, os.RemoveAll(draft), os.RemoveAll(store.EvidenceFolder(draft)))
	}()
	// A part says what it proves but not what the proof cost. The archive knows that, and the
	// numbers decide which facts are offered to workers first.
	nodes := map[amazons.Key]uint64{}
	for _, c := range a.Claims {
		nodes[c.Key] = c.Nodes
	}
	below := reach.Below(root.Board, root.State().CanonicalKey(root.Board))
	var facts []proof.Fact
	proved := map[amazons.Key]bool{}
	for _, p := range l.taken {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if err := l.put(s, p); err != nil {
			return r, err
		}
		for _, q := range p.roots {
			if below.Has(q.Key) && !proved[q.Key] {
				proved[q.Key] = true
				facts = append(facts, proof.Fact{Key: q.Key, Verdict: q.Claim, Nodes: nodes[q.Key], Certificate: p.id})
			}
		}
	}
	r = Imported{MessageType: "import", Store: storeFile, Board: a.Campaign.Board, Nodes: a.Nodes,
		Claims: len(a.Claims), Facts: len(facts), Parts: len(l.taken), Refused: l.refused,
		RefusedFiles: l.files}
	records, guiding := guided(g, a, proved)
	r.Tree, r.Guiding = len(records), guiding
	// Facts go in before the tree: a tree position that a fact decides is then decided from the
	// start.
	var steps []tree.Persist
	for list := range slices.Chunk(facts, batch) {
		steps = append(steps, tree.Persist{Campaign: 1, Facts: list})
	}
	for list := range slices.Chunk(records, batch) {
		steps = append(steps, tree.Persist{Campaign: 1, Nodes: list})
	}
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		err := s.Commit([]tree.Persist{step}, nil)
		if errors.Is(err, store.ErrInvalid) && len(step.Nodes) > 0 { // no tree has such a record
			err = fmt.Errorf("read archive %s: %w: %w", file, ErrForeign, err)
		}
		if err != nil {
			return r, err
		}
	}
	return r, s.Commit([]tree.Persist{{Campaign: 1, Spent: a.Nodes}}, nil)
}

// give gives a new store and the folder of its parts their names. The parts come first: a store without them could be
// told that they are lost.
func give(draft, storeFile string) error {
	from, to := store.EvidenceFolder(draft), store.EvidenceFolder(storeFile)
	if _, err := os.Lstat(from); err == nil {
		if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one may be there
			return err
		}
		if err := disk.Rename(from, to); err != nil {
			return err
		}
	}
	return disk.Rename(draft, storeFile)
}

// grow makes the tree of an archive once, as each later start of the campaign does. Each record may be good and yet no
// tree have them all: then nobody could open the campaign.
func grow(a Archive, root amazons.Position) (*graph.Graph, error) {
	moves, err := root.ParseMoves(a.Campaign.FirstMoves)
	if err != nil {
		return nil, err
	}
	g := graph.New(root, moves, 0) // without facts
	return g, g.Restore(a.Tree)
}

// guided returns the records of the tree g, with those of claimed positions that no part proves changed
// to steer the search, and how many claims have no part. A claim about a position that the tree does not know has
// nothing to steer.
func guided(g *graph.Graph, a Archive, proved map[amazons.Key]bool) (records []tree.NodeRecord, claims int) {
	at := map[amazons.Key]int{} // records by position
	for i, n := range a.Tree {
		at[n.Key] = i
	}
	records = slices.Clone(a.Tree)
	for _, c := range a.Claims {
		if proved[c.Key] {
			continue
		}
		claims++
		if g.Get(c.Key) == nil {
			continue
		}
		// A position that the tree has expanded gets its numbers from what is claimed below it.
		phi, delta := graph.ClaimNumbers(c.Verdict == eval.Won)
		if i, ok := at[c.Key]; ok {
			records[i].Phi, records[i].Delta = phi, delta
		} else {
			records = append(records, tree.NodeRecord{Key: c.Key, Phi: phi, Delta: delta})
		}
	}
	return records, claims
}

// library is the parts of a folder.
type library struct {
	board     amazons.Board
	rulesOnly bool
	taken     []found // those that cite come after those that they cite
	refused   int
	files     []string // the first that were refused, with the reasons
}

// refuse counts a file that is not taken.
func (l *library) refuse(path, reason string) {
	l.refused++
	if len(l.files) < maxRefusedFiles {
		l.files = append(l.files, cli.Quoted(path)+": "+reason)
	}
}

// found is a part in the folder.
type found struct {
	path   string
	id     proof.ID
	size   int64
	roots  []proof.Citation
	cited  []proof.Citation
	arrows int // of the root with most
}

// read looks at all files of a folder. A file that is no part of the board is passed over and counted.
func (l *library) read(ctx context.Context, folder string) error {
	var all []found
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if p, err := l.open(path); err != nil {
			l.refuse(path, err.Error())
		} else {
			all = append(all, p)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read parts: %w", err)
	}
	// Most arrows first: what a part may cite comes before the part. Parts of equal rank are in the
	// order of their names, so that two imports of one folder take the same parts.
	slices.SortFunc(all, func(p, q found) int {
		return cmp.Or(cmp.Compare(q.arrows, p.arrows), slices.Compare(p.id[:], q.id[:]))
	})
	proved, met := map[proof.Citation]bool{}, map[proof.ID]bool{}
	for _, p := range all {
		if met[p.id] {
			continue // another file with the same bytes
		}
		// A citation is a position with its verdict, so a part with the other verdict does not serve.
		if slices.ContainsFunc(p.cited, func(q proof.Citation) bool { return !proved[q] }) {
			l.refuse(p.path, "it cites what no other part here proves")
			continue
		}
		met[p.id] = true
		p.cited = nil
		for _, q := range p.roots {
			proved[q] = true
		}
		l.taken = append(l.taken, p)
	}
	return nil
}

// open reads a part. The error says why it is none for this campaign. The checker looks closer later.
func (l *library) open(path string) (p found, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return p, cmp.Or(errors.Unwrap(err), err) // without the path
	}
	defer f.Close()
	there, err := f.Stat()
	if err != nil {
		return p, err
	}
	if _, err := proof.ReadInfo(f, there.Size()); err != nil {
		return p, err // something else may be of any size
	}
	// A file that only begins like a part may be of any size, too. So no more of it than a block is in memory.
	sum := sha256.New()
	if err := proof.Intact(io.TeeReader(f, sum)); err != nil {
		return p, err
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return p, err
	}
	info, cited, err := proof.ReadCited(f, size)
	switch {
	case err != nil:
		return p, err
	case info.Board != l.board:
		return p, fmt.Errorf("a part of the board %s", info.Board)
	case l.rulesOnly && info.Leaves != eval.MoveLeaves:
		return p, errors.New("it rests on more than leaf rule 1, and this campaign is by the rules of the game alone")
	}
	p = found{path: path, id: proof.ID(sum.Sum(nil)), size: size, cited: cited}
	for _, r := range info.Roots {
		q := r.Citation(l.board)
		p.roots = append(p.roots, q)
		p.arrows = max(p.arrows, proof.Arrows(q.Key))
	}
	return p, nil
}

// put copies a part into a store, which reads it whole and compares its SHA-256.
func (l *library) put(s *store.Store, p found) error {
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = s.PutCertificateFrom(1, p.id, p.size, f)
	return err
}
