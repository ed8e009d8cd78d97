package proof

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
)

// OneFilePositions is the largest proof, in positions, that is kept in one file: it is read in half
// a gibibyte of memory and checked in a minute. Larger ones are parts with a manifest.
const OneFilePositions = 16 << 20

// ManifestFormat is the version of the manifest that this package writes and reads.
const ManifestFormat = 1

// ErrTooLarge is wrapped by errors of [Pack] about a proof that does not fit its limit.
var ErrTooLarge = errors.New("the proof is too large for one file")

// ErrNotWhole is wrapped by errors about parts of a proof that are not in its folder.
var ErrNotWhole = errors.New("the proof is not whole")

// ErrMissing is wrapped by errors of [Pack] and [Split] about a proof that lacks evidence.
var ErrMissing = errors.New("evidence is missing")

// The numbers of FORMAT.md, "The manifest".
const (
	manifestMagic = "AMZLIST\n"
	manifestFixed = 64
	recordBytes   = 64
	provedBytes   = 24
	maxClaims     = 1 << 16
)

// Part is what a manifest says of one part.
type Part struct {
	ID                          ID // SHA-256 of its file
	Bytes, Positions, Citations int64
	Roots                       []Citation // what it proves: canonical, in order, each once
}

// Manifest is a proof in parts: what it claims, and which parts prove it.
type Manifest struct {
	Board  amazons.Board
	Leaves eval.Leaves // the leaf rules that the parts may use
	Roots  []Root      // the claims of the proof; each is a root of a part
	Parts  []Part      // each once, in any order
}

// Name returns all hexadecimal digits of an ID: the name of a part's file.
func (id ID) Name() string { return hex.EncodeToString(id[:]) }

// ParseID returns the ID of a name, and whether it is one.
func ParseID(name string) (id ID, ok bool) {
	_, err := hex.Decode(id[:], []byte(name[:min(len(name), 2*len(id))]))
	return id, err == nil && id.Name() == name
}

// PartsFolder is the folder beside the manifest of this name that has its parts.
func PartsFolder(manifest string) string { return strings.TrimSuffix(manifest, ".proof") + ".parts" }

// SavePart writes c into a folder of parts, under the name of its ID.
func SavePart(folder string, c Certificate) (Part, error) {
	data, err := Encode(c)
	if err != nil {
		return Part{}, err
	}
	p := PartOf(c, data)
	return p, WriteEncoded(filepath.Join(folder, p.ID.Name()), data)
}

// PartOf returns what a manifest says of the part c, which was encoded as data.
func PartOf(c Certificate, data []byte) Part {
	return Info{Board: c.Board, Roots: c.Roots, Entries: int64(c.Set.Len()),
		Citations: int64(len(c.Cited))}.Part(IDOf(data), int64(len(data)))
}

// Part returns what a manifest says of the part with this header, in so many bytes.
func (i Info) Part(id ID, bytes int64) Part {
	p := Part{ID: id, Bytes: bytes, Positions: i.Entries, Citations: i.Citations}
	for _, r := range i.Roots {
		p.Roots = append(p.Roots, r.Citation(i.Board))
	}
	slices.SortFunc(p.Roots, Citation.compare)
	p.Roots = slices.Compact(p.Roots)
	return p
}

// Citation returns the claim of a root as others cite it.
func (r Root) Citation(b amazons.Board) Citation { return Citation{r.State.CanonicalKey(b), r.Claim} }

// WriteManifest writes m to the named file, in the way of [WriteFile]. The same content gives the
// same bytes, whatever the order of the parts. Errors wrap ErrInvalid: no claim or part, a part
// twice, a claim that no part proves.
func WriteManifest(name string, m Manifest) error {
	data, err := m.encode()
	if err != nil {
		return fmt.Errorf("write manifest %s: %w", name, err)
	}
	return WriteEncoded(name, data)
}

// encode returns the bytes of FORMAT.md.
func (m *Manifest) encode() ([]byte, error) {
	if err := (&Certificate{Board: m.Board, Roots: m.Roots}).validate(); err != nil {
		return nil, err
	}
	if len(m.Parts) == 0 || len(m.Roots) > maxClaims || int64(len(m.Parts)) >= 1<<32 {
		return nil, fmt.Errorf("%w: %d claims and %d parts", ErrInvalid, len(m.Roots), len(m.Parts))
	}
	type proved struct {
		Citation
		part uint32
	}
	var roots []proved
	// Parts and their roots are sorted, so that the bytes depend on the content alone, and so that
	// a reader finds a root by halving.
	parts := slices.Clone(m.Parts)
	slices.SortFunc(parts, func(p, q Part) int { return bytes.Compare(p.ID[:], q.ID[:]) })
	le := binary.LittleEndian
	var records []byte
	for i, p := range parts {
		if i > 0 && p.ID == parts[i-1].ID || len(p.Roots) == 0 {
			return nil, fmt.Errorf("%w: part %s is listed twice or has no root", ErrInvalid, p.ID.Name())
		}
		records = append(records, p.ID[:]...)
		records, _ = binary.Append(records, le, []int64{p.Bytes, p.Positions, p.Citations, int64(len(p.Roots))})
		for _, q := range p.Roots {
			roots = append(roots, proved{q, uint32(i)})
		}
	}
	slices.SortFunc(roots, func(p, q proved) int { return cmp.Or(p.compare(q.Citation), cmp.Compare(p.part, q.part)) })
	for _, r := range m.Roots {
		if _, ok := slices.BinarySearchFunc(roots, r.Citation(m.Board), func(p proved, c Citation) int {
			return p.compare(c)
		}); !ok {
			return nil, fmt.Errorf("%w: no part proves the claim about %v", ErrInvalid, r.Position(m.Board))
		}
	}
	data := make([]byte, preamble, manifestFixed+len(m.Roots)*rootBytes+len(records)+len(roots)*provedBytes)
	copy(data, manifestMagic)
	le.PutUint32(data[8:], ManifestFormat)
	le.PutUint32(data[12:], uint32(len(m.Roots)))
	data = append(data, m.Board.Width, m.Board.Height, flagsOf[m.Leaves], 0)
	data = le.AppendUint32(data, uint32(len(parts)))
	data = le.AppendUint64(data, uint64(len(roots)))
	data = append(appendRoots(data, m.Board, m.Roots), records...)
	for _, r := range roots {
		data = le.AppendUint64(le.AppendUint64(data, r.Key.A), r.Key.B)
		data = append(le.AppendUint32(data, r.part), byte(r.Claim), 0, 0, 0)
	}
	Seal(data)
	return data, nil
}

// Seal writes the hash of a certificate or a manifest, which covers all its other bytes, into its place.
func Seal(data []byte) {
	h := sha256.New()
	h.Write(data[:16])
	h.Write(data[preamble:])
	h.Sum(data[16:16:preamble])
}

// ReadManifest reads the named manifest. It believes what the checker looks at. Errors are those of
// [ReadFile].
func ReadManifest(name string) (Manifest, error) {
	m, err := readManifest(name)
	if err != nil {
		return m, fmt.Errorf("read manifest %s: %w", name, err)
	}
	return m, nil
}

// readManifest keeps 64 bytes a part and 24 a root in memory, so a proof of a terabyte has a manifest of some hundred
// megabytes at most. It reads the file twice. Nothing is kept before its length and its hash are right, and what is
// kept is in order: so a small file that seems to be huge, as one with holes does, takes no memory.
func readManifest(name string) (m Manifest, err error) {
	f, err := open(name)
	if err != nil {
		return m, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	switch first, err := in.Peek(len(magic)); {
	case err != nil && !errors.Is(err, io.EOF):
		return m, err
	case string(first) == magic:
		return m, ErrOneFile
	case string(first) != manifestMagic:
		return m, fmt.Errorf("%w: it is not the manifest of a proof in parts", ErrNotCertificate)
	}
	h := make([]byte, manifestFixed)
	if _, err := io.ReadFull(in, h); errors.Is(err, io.ErrUnexpectedEOF) {
		return m, ErrTruncated
	} else if err != nil {
		return m, err
	}
	le := binary.LittleEndian
	if v := le.Uint32(h[8:]); v != ManifestFormat {
		return m, fmt.Errorf("%w: it is version %d, this program reads version %d", ErrVersion, v, ManifestFormat)
	}
	claims, parts, roots := le.Uint32(h[12:]), le.Uint32(h[preamble+4:]), le.Uint64(h[preamble+8:])
	size := rootBytes*int64(claims) + recordBytes*int64(parts) + provedBytes*int64(roots&(1<<40-1))
	// Of a file that goes on behind that size, one byte is enough to see it.
	sum := sha256.New()
	sum.Write(h[:16])
	sum.Write(h[preamble:])
	n, err := io.Copy(sum, io.LimitReader(in, size+1))
	if err != nil {
		return m, err
	}
	if n < size {
		return m, fmt.Errorf("%w: by its header it has %d bytes, there are %d", ErrTruncated, manifestFixed+size,
			manifestFixed+n)
	}
	if [sha256.Size]byte(sum.Sum(nil)) != [sha256.Size]byte(h[16:]) {
		return m, ErrChecksum
	}
	board, flags := amazons.Board{Width: h[preamble], Height: h[preamble+1]}, h[preamble+2]
	leaves, known := leavesOf[flags]
	if !known || h[preamble+3] != 0 {
		return m, corrupt("unknown flags %#x %#x", flags, h[preamble+3])
	}
	if !board.Valid() || claims < 1 || claims > maxClaims || parts < 1 || roots>>40 > 0 || n != size {
		return m, corrupt("%d bytes cannot be %d claims, %d parts and %d roots", manifestFixed+n, claims, parts, roots)
	}
	m.Board, m.Leaves = board, leaves
	if _, err := f.Seek(manifestFixed, io.SeekStart); err != nil {
		return m, err
	}
	in.Reset(f)
	if err = m.lists(in, claims, parts, roots); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrTruncated // it was changed meanwhile
	}
	return m, err
}

// lists reads the claims, the parts and their roots. Each part is listed once, and each of its roots; a part has as
// many roots as its record says. So a walk through the parts meets every root.
func (m *Manifest) lists(in io.Reader, claims, parts uint32, roots uint64) (err error) {
	le, h := binary.LittleEndian, make([]byte, rootBytes*claims)
	if _, err := io.ReadFull(in, h); err != nil {
		return err
	}
	if m.Roots, err = parseRoots(m.Board, h); err != nil {
		return err
	}
	var listed []uint64 // roots of each part
	h = make([]byte, recordBytes)
	for i := range int(parts) {
		if _, err := io.ReadFull(in, h); err != nil {
			return err
		}
		p := Part{ID: ID(h), Bytes: int64(le.Uint64(h[32:])), Positions: int64(le.Uint64(h[40:])),
			Citations: int64(le.Uint64(h[48:]))}
		if i > 0 && bytes.Compare(m.Parts[i-1].ID[:], p.ID[:]) >= 0 {
			return corrupt("part %s does not follow the part before it by its SHA-256", p.ID.Name())
		}
		m.Parts, listed = append(m.Parts, p), append(listed, le.Uint64(h[56:]))
	}
	h = h[:provedBytes]
	var before Citation
	for i, last := uint64(0), uint32(0); i < roots; i++ {
		if _, err := io.ReadFull(in, h); err != nil {
			return err
		}
		part, q := le.Uint32(h[16:]), Citation{amazons.Key{A: le.Uint64(h), B: le.Uint64(h[8:])}, eval.Verdict(h[20])}
		if part >= parts || q.Claim != eval.Won && q.Claim != eval.Lost {
			return corrupt("a root of part %d with the claim %d", part, q.Claim)
		}
		if i > 0 && cmp.Or(before.compare(q), cmp.Compare(last, part)) >= 0 {
			return corrupt("root %d does not follow the root before it", i)
		}
		m.Parts[part].Roots = append(m.Parts[part].Roots, q)
		before, last = q, part
	}
	for i, p := range m.Parts {
		if n := uint64(len(p.Roots)); n == 0 || n != listed[i] {
			return corrupt("part %s has %d roots in the list, its record says %d", p.ID.Name(), n, listed[i])
		}
	}
	return nil
}

// readPart reads a part of a proof. Errors: ErrNotWhole if it is not there, ErrCorrupt if it is not as listed,
// otherwise those of ReadFile.
func (m Manifest) readPart(manifest string, p Part) (Certificate, error) {
	file := filepath.Join(PartsFolder(manifest), p.ID.Name())
	c, err := ReadFile(file)
	var sum string
	if err == nil {
		_, sum, err = disk.SHA256(file)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: %w; \"master evidence fetch\" copies parts", ErrNotWhole, err)
	case err == nil && (sum != p.ID.Name() || int64(c.Set.Len()) > p.Positions || c.Board != m.Board):
		err = fmt.Errorf("%s: %w: part %s is not as listed", manifest, ErrCorrupt, p.ID.Name())
	}
	return c, err
}

// Pack reads a proof in parts and returns it as one certificate, with what its claims need. Errors:
// those of reading, of ctx, ErrNotWhole, ErrTooLarge for more than limit positions, ErrMissing.
func Pack(ctx context.Context, manifest string, limit int64) (Certificate, error) {
	m, err := ReadManifest(manifest)
	if err != nil {
		return Certificate{}, err
	}
	// The manifest says how large each part is. It is believed only so far as to refuse early: a
	// part that turns out larger is an error below.
	left := limit
	for _, p := range m.Parts {
		if p.Positions < 0 || p.Positions > left {
			return Certificate{}, fmt.Errorf("pack %s: %w of %d positions", manifest, ErrTooLarge, limit)
		}
		left -= p.Positions
	}
	all := Certificate{Board: m.Board, Leaves: m.Leaves, Roots: m.Roots, Set: new(Set)}
	for _, p := range m.Parts {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		c, err := m.readPart(manifest, p)
		if err != nil {
			return all, err
		}
		all.Set.Merge(c.Set)
	}
	packed, missing, err := Prune(ctx, all, nil)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("pack %s: %w for %d positions", manifest, ErrMissing, len(missing))
	}
	return packed, err
}

// ReadAround reads the parts of a named manifest that prove one of the given positions, to look at a proof that is too
// large to be read whole. The result is not a proof: of all other parts it has what they are said to prove, which
// [Certificate.Look] believes. Parts that are not there are passed over. read is how many were read. Errors: those of
// reading, of ctx, ErrTooLarge for more than limit positions.
func (m Manifest) ReadAround(ctx context.Context, manifest string, way []amazons.Position, limit int64) (
	around Certificate, read int, err error) {
	around = Certificate{Board: m.Board, Leaves: m.Leaves, Roots: m.Roots, Set: new(Set),
		claimed: map[amazons.Key]eval.Verdict{}}
	near := map[amazons.Key]bool{}
	for _, p := range way {
		near[p.State().CanonicalKey(m.Board)] = true
	}
	for _, p := range m.Parts {
		if err := ctx.Err(); err != nil {
			return around, read, err
		}
		for _, r := range p.Roots {
			around.claimed[r.Key] = r.Claim
		}
		if !slices.ContainsFunc(p.Roots, func(r Citation) bool { return near[r.Key] }) {
			continue
		}
		if limit -= p.Positions; p.Positions < 0 || limit < 0 {
			return around, read, fmt.Errorf("read %s: %w", manifest, ErrTooLarge)
		}
		switch c, err := m.readPart(manifest, p); {
		case errors.Is(err, ErrNotWhole):
		case err != nil:
			return around, read, err
		default:
			around.Set.Merge(c.Set)
			read++
		}
	}
	return around, read, nil
}

// Split cuts a whole certificate into parts of at most that many positions each, and gives each one
// to put. Parts may share positions. Each has roots of one layer. Errors: those of put, of ctx,
// ErrMissing.
func Split(ctx context.Context, c Certificate, positions int, put func(Certificate) error) error {
	if err := c.validate(); err != nil {
		return fmt.Errorf("split certificate: %w", err)
	}
	var todo [maxLayers][]Root
	seen := map[Citation]bool{}
	add := func(r Root) {
		if k := r.Citation(c.Board); !seen[k] {
			seen[k] = true
			todo[layerOf(k.Key)] = append(todo[layerOf(k.Key)], r)
		}
	}
	for _, r := range c.Roots {
		add(r)
	}
	first := c.Roots[0]
	for arrows := range maxLayers {
		for roots := todo[arrows]; len(roots) > 0; {
			part, err := nextPart(ctx, c, roots, positions)
			if err == nil {
				err = put(part)
			}
			if err != nil {
				return fmt.Errorf("split certificate: %w", err)
			}
			roots = roots[len(part.Roots):]
			for _, q := range part.Cited {
				s, err := q.Key.State(c.Board)
				if err != nil {
					return fmt.Errorf("split certificate: %w", err)
				}
				side := first.ToMove
				if (layerOf(q.Key)-layerOf(first.State.Key(c.Board)))&1 != 0 {
					side = side.Other()
				}
				add(Root{State: s, ToMove: side, Claim: q.Claim})
			}
		}
	}
	return nil
}

// nextPart returns a part for the first of the roots, of one layer. It takes more of them as long as
// there is room and the part goes on as deep.
func nextPart(ctx context.Context, c Certificate, roots []Root, positions int) (Certificate, error) {
	c.Roots = roots[:1]
	cut, entries, err := narrowest(ctx, c, positions)
	for n := 2; err == nil && entries <= positions/2 && len(c.Roots) < len(roots); n *= 2 {
		more := c
		more.Roots = roots[:min(n, len(roots))]
		at, all, moreErr := narrowest(ctx, more, positions)
		if err = moreErr; at < cut || all > positions {
			break
		}
		c, cut, entries = more, at, all
	}
	if err != nil {
		return c, err
	}
	part, missing, err := Prune(ctx, c, func(k amazons.Key) eval.Verdict {
		switch {
		case layerOf(k) < cut:
			return eval.Open
		case c.Set.Has(k):
			return eval.Won
		default: // of a whole certificate: a position that is needed and no entry is lost
			return eval.Lost
		}
	})
	if len(missing) > 0 {
		err = fmt.Errorf("%w for %d positions", ErrMissing, len(missing))
	}
	return part, err
}

// narrowest returns from which layer on a part for the roots of c, of one layer, cites the fewest positions without
// having more than the given number of entries, and how many it has. A proof is narrow near its roots and near its
// leaves, so parts are a few plies high or complete.
func narrowest(ctx context.Context, c Certificate, positions int) (cut, entries int, err error) {
	p := newPruner(c, nil)
	all, fewest := 0, int64(math.MaxInt64)
	for at := p.deepest; at < maxLayers-1; at++ {
		if all += p.marked(at); cut > 0 && all > positions {
			break
		}
		before := p.lose.Load()
		if err := p.layer(ctx, at); err != nil {
			return 0, 0, err
		}
		// It cites the lost positions after the moves of this layer, and won ones that it needs anyway.
		cited := p.lose.Load() - before + int64(p.marked(at+1))
		if cited <= fewest {
			cut, entries, fewest = at+1, all, cited
		}
		if cited == 0 {
			return maxLayers, all, nil
		}
	}
	return cut, entries, nil
}

// WriteParts splits c and writes the manifest and its parts. Where that fails, the parts that it has made are gone
// again.
func WriteParts(ctx context.Context, name string, c Certificate, positions int) (m Manifest, err error) {
	m = Manifest{Board: c.Board, Leaves: c.Leaves, Roots: c.Roots}
	folder, known, there := PartsFolder(name), map[ID]bool{}, map[string]bool{}
	entries, absent := os.ReadDir(folder)
	for _, e := range entries {
		there[e.Name()] = true
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return m, fmt.Errorf("write parts: %w", err)
	}
	defer func() {
		if err == nil || disk.Free(name) != nil { // a manifest may have them
			return
		}
		for id := range known {
			if !there[id.Name()] {
				os.Remove(filepath.Join(folder, id.Name()))
			}
		}
		if absent != nil {
			os.Remove(folder)
		}
	}()
	if err := Split(ctx, c, positions, func(c Certificate) error {
		p, err := SavePart(folder, c)
		if err == nil && !known[p.ID] {
			known[p.ID] = true
			m.Parts = append(m.Parts, p)
		}
		return err
	}); err != nil {
		return m, err
	}
	return m, WriteManifest(name, m)
}
