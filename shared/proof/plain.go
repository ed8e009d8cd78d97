package proof

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
)

// WritePlain writes a certificate, or a proof in parts, as the plain text that the machine-checked
// checker reads (deploy/docs/FORMATS.md): a line for each claim, root, citation and entry. That checker
// does not know leaf rule 4: there are entries in its place. WritePlain holds one part in memory at a
// time. Errors are those of [ReadFile], of [ReadManifest], of ctx and of out, and ErrNotWhole.
func WritePlain(ctx context.Context, out io.Writer, name string) error {
	whole, err := ReadFile(name)
	m := Manifest{Board: whole.Board, Leaves: whole.Leaves, Roots: whole.Roots}
	inParts := errors.Is(err, ErrInParts)
	if inParts {
		m, err = ReadManifest(name)
	}
	if err != nil {
		return err
	}
	_, sum, err := disk.SHA256(name)
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "amazons-plain 1\nboard %d %d\nfile %s\nrules %d\n", m.Board.Width, m.Board.Height, sum,
		plainRules(m.Leaves))
	for _, r := range m.Roots {
		plainRoot(w, "claim", m.Board, r)
	}
	if !inParts {
		whole.expanded(ctx).plain(w, sum)
	}
	for _, p := range m.Parts {
		c, err := m.readPart(name, p)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		c.expanded(ctx).plain(w, p.ID.Name())
	}
	if ctx.Err() == nil { // else entries are missing
		fmt.Fprintln(w, "end")
	}
	return errors.Join(ctx.Err(), w.Flush())
}

// plainRules is how many leaf rules may be used, in their order. What rule 4 would decide is written out.
func plainRules(l eval.Leaves) int {
	return map[eval.Leaves]int{eval.MoveLeaves: 1, eval.CountLeaves: 2, eval.SumLeaves: 3, eval.ClosingLeaves: 3}[l]
}

// expanded returns c with an entry for each position that it needs leaf rule 4 for. It holds by rules 1 to
// 3 exactly if c holds. Once ctx is done, entries are left out.
func (c *Certificate) expanded(ctx context.Context) *Certificate {
	if c.Leaves != eval.ClosingLeaves {
		return c
	}
	out := *c
	out.Leaves, out.Set = eval.SumLeaves, new(Set)
	out.Set.Merge(c.Set)
	cited := map[Citation]bool{}
	for _, q := range c.Cited {
		cited[q] = true
	}
	won := func(s amazons.State) {
		s, _ = s.Canonical(c.Board)
		k := s.Key(c.Board)
		if out.Set.Has(k) || eval.Plain(c.Board, s, eval.SumLeaves) != eval.Open || cited[Citation{k, eval.Won}] {
			return
		}
		if m, ok := eval.ClosingMove(c.Board, s); ok {
			out.Set.Add(Entry{k, m})
		}
	}
	lost := func(s amazons.State) {
		canonical, _ := s.Canonical(c.Board)
		if eval.Plain(c.Board, canonical, eval.SumLeaves) == eval.Open &&
			!cited[Citation{canonical.Key(c.Board), eval.Lost}] {
			for m := range s.AllMoves() {
				won(s.After(m))
			}
		}
	}
	for _, r := range c.Roots {
		if r.Claim == eval.Won {
			won(r.State)
		} else {
			lost(r.State)
		}
	}
	for e := range c.Set.All() {
		if s, err := e.Key.State(c.Board); err == nil && ctx.Err() == nil && s.Legal(e.Move) {
			lost(s.After(e.Move))
		}
	}
	return &out
}

func plainRoot(w io.Writer, what string, b amazons.Board, r Root) {
	k := r.State.Key(b)
	fmt.Fprintf(w, "%s %016x %016x %.1s %s\n", what, k.A, k.B, r.ToMove, plainClaim(r.Claim))
}

func plainClaim(v eval.Verdict) string {
	if v == eval.Won {
		return "win"
	}
	return "loss"
}

// plain writes one part, its layers in the order of the file.
func (c *Certificate) plain(w io.Writer, sum string) {
	b := c.Board
	fmt.Fprintf(w, "part %s rules %d entries %d citations %d\n", sum, plainRules(c.Leaves), c.Set.Len(), len(c.Cited))
	for _, r := range c.Roots {
		plainRoot(w, "root", b, r)
	}
	cited := c.citations()
	for arrows := maxLayers - 1; arrows >= 0; arrows-- {
		entries := c.Set.Sorted(arrows)
		if len(entries)+len(cited[arrows]) == 0 {
			continue
		}
		fmt.Fprintf(w, "layer %d\n", arrows)
		for _, q := range cited[arrows] {
			fmt.Fprintf(w, "cite %016x %016x %s\n", q.Key.A, q.Key.B, plainClaim(q.Claim))
		}
		for _, e := range entries {
			m := e.Move
			fmt.Fprintf(w, "entry %016x %016x %d %d %d\n", e.Key.A, e.Key.B, b.PackSquare(m.From),
				b.PackSquare(m.To), b.PackSquare(m.Arrow))
		}
	}
}
