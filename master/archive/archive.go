// Package archive carries a campaign from one store to another through a small file.
//
// A store and its parts take gigabytes. An archive holds what makes the campaign go on elsewhere: the
// question, the numbers of the tree, and what was claimed of positions, in some megabytes of text.
// FORMATS.md describes it. [Import] makes a store of it. Nothing in an archive is evidence: a claim
// becomes a fact of the new store only with a part that proves it ([Import] takes a folder of parts).
// A claim without a part steers the search, and proves nothing.
//
// # What a claim without a part does
//
// An archive may travel without its parts, which are thousands of times as large. Then most of its
// claims have no evidence in the new store. Such a claim changes the first numbers of its position:
//
//   - A claimed loss gets the smallest disproof number, so it is tried first. It likely solves its
//     parent with the least work.
//   - A claimed win gets a large proof number, so it is tried after all open positions. If the
//     claim is true, search there would be wasted.
//
// Both are proved again when their turn comes. A false claim costs time and never correctness.
//
// # What a claim with a part does
//
// [Import] reads a folder of parts, those that prove positions with the most arrows first. A part
// is taken when everything that it cites is proved by a part that was taken before. Citations lead
// to more arrows only, so one pass in that order finds all parts that can be taken. Their roots are
// facts of the new store at once, and count for an answer after a check, like those of any worker.
package archive

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// Format is the version of archives that this package writes and reads.
const Format = 1

// The kinds of error; judge with errors.Is.
var (
	// ErrForeign: the file is no archive, or is damaged.
	ErrForeign = errors.New("not a whole archive of a campaign")
	// ErrVersion: the archive has another format.
	ErrVersion = errors.New("the archive has another format")
)

// Limits of what [Read] takes. A record of a tree position has a mebibyte of numbers at most, as text
// a third more. A tree of the default size has two million positions.
const (
	maxLine    = 2 << 20
	maxRecords = 16 << 20
	maxMemory  = 64 << 20 // of the decoder
	// A tree in text is packed to a sixth of its size or so. A file that opens to more than maxOpened, and to more
	// than maxRatio times its size, was made to fill the memory.
	maxOpened = 64 << 20
	maxRatio  = 100
)

// Archive is the content of a file.
type Archive struct {
	Campaign store.Campaign
	Nodes    uint64            // searched by the campaign
	Claims   []proof.Fact      // without certificates
	Tree     []tree.NodeRecord // of the campaign's tree
}

// header is the first line.
type header struct {
	Archive int            `json:"archive"` // Format
	About   store.Campaign `json:"campaign"`
	Nodes   uint64         `json:"nodes"`
	Claims  int            `json:"claims"`
	Tree    int            `json:"tree"`
}

// line is each further one: a claim has a verdict, a tree position has numbers.
type line struct {
	Position  string `json:"position"`
	Verdict   string `json:"verdict,omitempty"` // won or lost, for the side to move
	Nodes     uint64 `json:"nodes,omitempty"`
	Phi       uint32 `json:"proof_number,omitempty"`
	Delta     uint32 `json:"disproof_number,omitempty"`
	Budget    uint64 `json:"budget,omitempty"`
	Expanded  bool   `json:"expanded,omitempty"`
	Expansion uint64 `json:"expansion,omitempty"`
	Children  []byte `json:"children,omitempty"` // as package numbers writes them, in base 64
}

// Write writes an archive to a new or replaced file.
func Write(name string, a Archive) error {
	_, err := a.Campaign.Check()
	if err == nil {
		err = disk.Replace(name, 0o644, func(f *os.File) error { return a.write(f) })
	}
	if err != nil {
		return fmt.Errorf("write archive %s: %w", name, err)
	}
	return nil
}

// write writes the header with all counts, then the claims and then the tree, a line each. A reader
// knows from the counts whether it has seen the end. Positions are written as people read them,
// with their colours: so an archive can be looked at with a text editor, and compared line by line
// with the one of an hour before.
func (a *Archive) write(f io.Writer) error {
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	root, err := amazons.ParsePosition(a.Campaign.Root)
	if err != nil {
		return err
	}
	out := json.NewEncoder(z)
	err = out.Encode(header{Format, a.Campaign, a.Nodes, len(a.Claims), len(a.Tree)})
	put := func(k amazons.Key, l line) {
		if err == nil {
			l.Position, err = graph.TextOf(root, k)
		}
		if err == nil {
			err = out.Encode(l)
		}
	}
	for _, c := range a.Claims {
		put(c.Key, line{Verdict: c.Verdict.String(), Nodes: c.Nodes})
	}
	for _, n := range a.Tree {
		put(n.Key, line{Nodes: n.Nodes, Phi: n.Phi, Delta: n.Delta, Budget: n.Budget, Expanded: n.Expanded,
			Expansion: n.Expansion, Children: []byte(n.Children)})
	}
	return errors.Join(err, z.Close())
}

// Read reads the named archive. Errors: ErrForeign, ErrVersion, those of ctx and of the file system.
func Read(ctx context.Context, name string) (Archive, error) {
	f, err := disk.Open(name)
	if errors.Is(err, disk.ErrIrregular) {
		return Archive{}, fmt.Errorf("%w: %w", ErrForeign, err)
	} else if err != nil {
		return Archive{}, fmt.Errorf("read archive: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Archive{}, fmt.Errorf("read archive: %w", err)
	}
	a, err := Decode(ctx, f, info.Size())
	if err != nil {
		return a, fmt.Errorf("read archive %s: %w", name, err)
	}
	return a, nil
}

// Decode reads the bytes of an archive, of which there are so many. Errors: ErrForeign, ErrVersion, those of ctx.
func Decode(ctx context.Context, r io.Reader, size int64) (a Archive, err error) {
	// A few packed bytes may open into terabytes. So the memory of the decoder, the length of a line, the
	// number of lines and what they take together all have bounds.
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxMemory))
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	defer z.Close()
	most := max(maxOpened, maxRatio*size)
	opened := &io.LimitedReader{R: z, N: most + 1}
	lines := bufio.NewScanner(opened)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() {
		if errors.Is(lines.Err(), zstd.ErrMagicMismatch) {
			return a, fmt.Errorf("%w: it is a file of another kind; \"master store export\" makes archives", ErrForeign)
		}
		return a, fmt.Errorf("%w: it is empty, cut short or damaged: %w", ErrForeign, cmp.Or(lines.Err(), io.EOF))
	}
	var h header
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Archive == 0 {
		return a, fmt.Errorf("%w: its first line does not say which campaign it holds, or not as an archive does",
			ErrForeign)
	}
	if h.Archive != Format {
		return a, fmt.Errorf("%w: it is %d, this build reads %d", ErrVersion, h.Archive, Format)
	}
	board, err := h.About.Check()
	if err != nil {
		return a, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if h.Claims < 0 || h.Tree < 0 || h.Claims > maxRecords || h.Tree > maxRecords {
		return a, fmt.Errorf("%w: its first line announces %d claims and %d tree positions; 0 to %d are possible",
			ErrForeign, h.Claims, h.Tree, maxRecords)
	}
	a.Campaign, a.Nodes = h.About, h.Nodes
	for n := 2; lines.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return a, err
		}
		if n > h.Claims+h.Tree+1 {
			return a, fmt.Errorf("%w: it goes on after the %d lines that it announces", ErrForeign, n-1)
		}
		if err := a.add(board, lines.Bytes()); err != nil {
			return a, fmt.Errorf("%w: line %d: %w", ErrForeign, n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return a, fmt.Errorf("%w: a line has more than %d bytes", ErrForeign, maxLine)
	case errors.Is(err, zstd.ErrMagicMismatch):
		return a, fmt.Errorf("%w: something else follows its end", ErrForeign)
	case err != nil:
		return a, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if opened.N == 0 {
		return a, fmt.Errorf("%w: its %d bytes open to more than %d", ErrForeign, size, most)
	}
	if len(a.Claims) != h.Claims || len(a.Tree) != h.Tree {
		return a, fmt.Errorf("%w: it has %d claims and %d tree positions of %d and %d", ErrForeign, len(a.Claims),
			len(a.Tree), h.Claims, h.Tree)
	}
	return a, nil
}

// add takes a line. What numbers a store may hold, the store checks.
func (a *Archive) add(board amazons.Board, data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	p, err := amazons.ParsePosition(l.Position)
	if err != nil {
		return err
	}
	if p.Board != board {
		return fmt.Errorf("a position of board %v in a campaign of board %v", p.Board, board)
	}
	key := p.State().CanonicalKey(board)
	switch l.Verdict {
	case "":
		a.Tree = append(a.Tree, tree.NodeRecord{Key: key, Phi: l.Phi, Delta: l.Delta, Nodes: l.Nodes, Budget: l.Budget,
			Expanded: l.Expanded, Expansion: l.Expansion, Children: string(l.Children)})
	case eval.Won.String(), eval.Lost.String():
		v := eval.Won
		if l.Verdict == eval.Lost.String() {
			v = eval.Lost
		}
		a.Claims = append(a.Claims, proof.Fact{Key: key, Verdict: v, Nodes: l.Nodes})
	default:
		return fmt.Errorf("%q is no verdict: won and lost are", l.Verdict)
	}
	return nil
}
