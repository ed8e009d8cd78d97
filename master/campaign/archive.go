package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"amazonsfarm/master/archive"
	"amazonsfarm/master/checks"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Exported says what [Export] wrote, also to programs. Fields may be added, never renamed.
type Exported struct {
	MessageType string `json:"message_type"` // "store_export"
	Archive     string `json:"archive"`
	Manifest    string `json:"manifest,omitempty"` // empty: nothing is settled yet
	Board       string `json:"board"`
	Nodes       uint64 `json:"nodes"`
	Tree        int    `json:"tree"`   // tree positions
	Claims      int    `json:"claims"` // in the archive, of Facts in the store and Kept ones
	Kept        int    `json:"kept"`   // claims of an older archive in this place, about positions without a fact
	Facts       int    `json:"facts"`
	Settled     int    `json:"settled"` // positions at the top of the tree that the manifest claims
	Replies     int    `json:"replies"` // positions after given first moves and one reply, mirror images once
	Refuted     int    `json:"refuted"` // of them, those settled for the side that made the first move
	Parts       int    `json:"parts"`   // of the manifest
	Bytes       int64  `json:"bytes"`   // of these parts
	Positions   int64  `json:"positions"`
	Unchecked   int    `json:"unchecked"` // parts that nobody has checked yet
}

// String returns the report in a few lines for people.
func (r Exported) String() string {
	s := fmt.Sprintf("archive        %s: %s, %s, %s of %s, %d nodes\n", r.Archive, r.Board,
		cli.Counted(r.Tree, "tree position"), cli.Counted(r.Claims-r.Kept, "claim"), cli.Counted(r.Facts, "fact"),
		r.Nodes)
	if r.Kept > 0 {
		s += fmt.Sprintf("kept           %s of the archive that was there\n", cli.Counted(r.Kept, "claim"))
	}
	if r.Replies > 0 {
		s += fmt.Sprintf("replies        %d of %d refuted\n", r.Refuted, r.Replies)
	}
	if r.Manifest == "" {
		return s + "manifest       none: nothing at the top of the tree is settled\n"
	}
	return s + fmt.Sprintf("manifest       %s: %s, %s, %s, %d bytes; %s not checked yet\n", r.Manifest,
		cli.Counted(r.Settled, "settled position"), cli.Counted(r.Parts, "part"), cli.Counted(r.Positions, "position"),
		r.Bytes, cli.Counted(r.Unchecked, "part"))
}

// mostClaims is the largest number of claims of a manifest (shared/proof/FORMAT.md, "The manifest").
const mostClaims = 1 << 16

// Export writes an archive of a campaign, by its name or the first, of a store that no master has open:
// its question, its tree, and its facts of at least so many nodes. Beside it, it writes the manifest
// NAME.proof of NAME.archive: the settled positions at the top of the tree, and the parts that prove
// them. What the tree itself adds goes to the folder NAME.parts; the other parts stay where they are.
// If an archive of the same campaign is there already, the new one keeps its claims, except for positions with
// facts in the store. A store that was made of an archive without parts proves its claims again little by little.
// Errors: those of opening a store; cli.ErrUsage where the manifest would take the place of a certificate, or the
// archive the place of another file; ErrVerification where a part is missing.
func Export(ctx context.Context, storeFile, name, file string, minNodes uint64) (r Exported, err error) {
	from, err := OpenReader(storeFile, name)
	if err != nil {
		return r, err
	}
	defer from.Close()
	c, t := from.campaign, from.Tree
	s, about := c.farm.store, c.about
	if err := spare(s, ProofFile(file), file); err != nil {
		return r, err
	}
	snap, err := snapshot(s, about, c.root)
	if err != nil {
		return r, err
	}
	// Small facts are quickly proved again. They are most of the facts, so leaving them out keeps the
	// archive small.
	claims := slices.DeleteFunc(slices.Clone(snap.Facts), func(f proof.Fact) bool { return f.Nodes < minNodes })
	older, err := unproved(ctx, file, about, snap.Facts)
	if err != nil {
		return r, err
	}
	claims = append(claims, older...)
	slices.SortFunc(claims, func(a, b proof.Fact) int { return a.Key.Compare(b.Key) })
	if err := archive.Write(file, archive.Archive{Campaign: about, Nodes: snap.Spent, Claims: claims,
		Tree: snap.Nodes}); err != nil {
		return r, err
	}
	r = Exported{MessageType: "store_export", Archive: file, Board: about.Board, Nodes: snap.Spent,
		Tree: len(snap.Nodes), Claims: len(claims), Facts: len(snap.Facts), Kept: len(older)}
	top := c.top(t)
	r.Settled, r.Replies, r.Refuted = len(top.roots), top.replies, top.refuted
	if len(top.roots) == 0 {
		return r, nil
	}
	r.Manifest = ProofFile(file)
	m := proof.Manifest{Board: c.root.Board, Leaves: eval.LeavesOf(about.RulesOnly), Roots: top.roots}
	known := map[proof.ID]bool{}
	won := slices.Collect(t.WonNodes())
	// A part cites positions with more arrows than all of its roots, so what the tree adds is a part for
	// each number of arrows.
	for _, roots := range top.byArrows(c.root.Board) {
		p, err := c.gather(ctx, roots, won)
		if err != nil {
			return r, cmp.Or(ctx.Err(), fmt.Errorf("%w: settled positions are not proved: %w", ErrVerification, err))
		}
		if len(p.top.Roots) > 0 {
			folder := proof.PartsFolder(r.Manifest)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return r, fmt.Errorf("folder of the parts: %w", err)
			}
			part, err := proof.SavePart(folder, p.top)
			if err != nil {
				return r, err
			}
			p.parts = append(p.parts, part)
			p.unchecked = append(p.unchecked, checks.Part{Campaign: c.about.Number, ID: part.ID, Size: part.Bytes})
		}
		// Positions with other numbers of arrows may need the same parts. known has those of earlier
		// rounds, and the loop after this one adds those of this round. So the unchecked ones are
		// counted first.
		for _, n := range p.unchecked {
			if !known[n.ID] {
				r.Unchecked++
			}
		}
		for _, part := range p.parts {
			if !known[part.ID] {
				known[part.ID] = true
				m.Parts = append(m.Parts, part)
				r.Bytes += part.Bytes
				r.Positions += part.Positions
			}
		}
	}
	r.Parts = len(m.Parts)
	return r, proof.WriteManifest(r.Manifest, m)
}

// unproved returns the claims of an archive of the same question, without claims about positions of the facts. Without
// a file there are none. The error says that the file is no such archive: an export must not replace it.
func unproved(ctx context.Context, file string, about store.Campaign, facts []proof.Fact) ([]proof.Fact, error) {
	old, err := archive.Read(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err == nil && about.Same(old.Campaign) != nil {
		err = errors.New("it is one of another question")
	}
	if err != nil {
		return nil, cli.Usagef("%s is there and is no archive of this campaign (%v): move it, or give another name",
			file, err)
	}
	known := make(map[amazons.Key]bool, len(facts))
	for _, f := range facts {
		known[f.Key] = true
	}
	return slices.DeleteFunc(old.Claims, func(f proof.Fact) bool { return known[f.Key] }), nil
}

// spare returns an error where the manifest of an archive would take the place of another file: of the certificate
// that a campaign of the store has or will have, or of one beside which there is no archive yet; and where the archive
// could not be written.
func spare(s *store.Store, manifest, file string) error {
	other := cli.Usagef("the manifest of %s is %s, which would take the place of a certificate; give the archive "+
		"another name", file, manifest)
	path, err := filepath.Abs(manifest)
	if err != nil {
		return err
	}
	for _, about := range s.Campaigns() {
		r, _, err := s.Result(about.Number)
		if err != nil {
			return err
		}
		own, err := filepath.Abs(ProofFileOf(s.Path(), about))
		if err != nil || path == own || path == r.Certificate.Path {
			return cmp.Or(err, other)
		}
	}
	_, missing := os.Lstat(file)
	if _, err := os.Lstat(manifest); err == nil && missing != nil {
		return other
	}
	return cli.CheckOutput("", file)
}

// summit is the settled positions at the top of a tree: settled, below positions that are not.
type summit struct {
	roots            []proof.Root
	replies, refuted int
}

// byArrows returns the positions, those of as many arrows together.
func (s *summit) byArrows(b amazons.Board) (all [][]proof.Root) {
	last := -1
	for _, r := range s.roots { // in the order of their arrows, as top found them
		if arrows := r.State.Arrows(b); arrows != last {
			all, last = append(all, nil), arrows
		}
		all[len(all)-1] = append(all[len(all)-1], r)
	}
	return all
}

// top finds the settled positions at the top of the tree.
// It goes breadth first, so positions come in the order of their arrows, as byArrows needs them. It
// stops at a settled position, whose proof has all that is below, and at mostClaims roots. The key of a
// position is canonical, so mirror images and transpositions count once. The moves of a position after a
// given first move are the replies. After a refuted reply the side that made the first move wins.
func (c *campaign) top(t *tree.Tree) (top summit) {
	met := map[amazons.Key]bool{}
	for todo := []amazons.Position{c.root}; len(todo) > 0 && len(top.roots) < mostClaims; todo = todo[1:] {
		p := todo[0]
		at, moves := t.Explore(p.State())
		if at.Verdict != eval.Open {
			top.roots = append(top.roots, proof.RootOf(p, at.Verdict))
			continue
		}
		if !at.Expanded {
			continue
		}
		reply := len(c.firstMoves) > 0 && p.Arrows() == c.root.Arrows()+1
		for _, m := range moves {
			if met[m.After.Key] || !m.After.InTree {
				continue
			}
			met[m.After.Key] = true
			todo = append(todo, p.After(m.Move))
			if reply {
				top.replies++
			}
			if reply && m.After.Verdict == eval.Won {
				top.refuted++
			}
		}
	}
	return top
}
