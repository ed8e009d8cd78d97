package endgame

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// ErrSize is wrapped by every error about a Config or its text.
var ErrSize = errors.New("not a database size")

// Version is the version of the file format and of the meaning of entries. Files of another version
// are refused.
//
//	1  first version
const Version = 1

// maxSquares is the largest area a database can hold. The codes of territories are made for it.
const maxSquares = 10

// shapeCounts[n] is the number of canonical shapes of n squares that fit on the 8x8 grid.
// Open compares the lengths of sections with these numbers, so no file can say how many shapes there are.
var shapeCounts = [maxSquares + 1]int{0, 1, 2, 5, 22, 94, 524, 3031, 18770, 116452, 715981}

// Config says which areas a database holds: every 8-connected area of up to Full squares with all
// placements of queens, and areas of Full+1+i squares with at most Limits[i] queens a side. Limits
// never rise, since a move leads to one square less with the same queens: each layer needs the one
// before.
type Config struct {
	Full   int   // squares, 1..9; others make Validate fail
	Limits []int // queens a side, 1..5 each, not rising; Full+len(Limits) is at most 10
}

// The sizes with a name.
var sizes = []struct {
	name   string
	config Config
}{
	{"small", Config{Full: 7}},
	{"medium", Config{Full: 8, Limits: []int{2}}},
	{"large", Config{Full: 8, Limits: []int{3, 1}}},
}

// Small returns the size that programs build on first use.
func Small() Config { return Config{Full: 7} }

// ParseSize reads the name of a size (small, medium, large) or a SPEC: the number of squares
// up to which all areas are held, then, each after a comma, a larger number of squares and, after a
// colon, the most queens a side, such as "8,9:2,10:1". Errors wrap ErrSize.
func ParseSize(text string) (Config, error) {
	for _, s := range sizes {
		if strings.EqualFold(strings.TrimSpace(text), s.name) {
			return s.config, nil
		}
	}
	bad := func(why string) (Config, error) {
		return Config{}, fmt.Errorf("%w: %q: %s; write small, medium, large or, for example, 8,9:2", ErrSize, text, why)
	}
	var c Config
	for i, part := range strings.Split(strings.TrimSpace(text), ",") {
		squares, queens, limited := strings.Cut(part, ":")
		n, err := strconv.Atoi(squares)
		switch {
		case err != nil || n < 1 || n > maxSquares:
			return bad(fmt.Sprintf("%q is no number of squares from 1 to %d", squares, maxSquares))
		case i == 0 && limited:
			return bad("the first number has no limit of queens")
		case i == 0:
			c.Full = n
			continue
		case !limited:
			return bad(fmt.Sprintf("say how many queens a side areas of %d squares may have", n))
		// A layer without the one before could not be built.
		case n != c.Squares()+1:
			return bad(fmt.Sprintf("%d squares do not follow %d", n, c.Squares()))
		}
		q, err := strconv.Atoi(queens)
		if err != nil {
			return bad(fmt.Sprintf("%q is no number of queens", queens))
		}
		c.Limits = append(c.Limits, q)
	}
	return c, c.Validate()
}

// String returns the SPEC that ParseSize reads.
func (c Config) String() string {
	s := strconv.Itoa(c.Full)
	for i, q := range c.Limits {
		s += fmt.Sprintf(",%d:%d", c.Full+1+i, q)
	}
	return s
}

// Name returns the name of the size where it has one, else the SPEC.
func (c Config) Name() string {
	for _, s := range sizes {
		if s.config.String() == c.String() {
			return s.name
		}
	}
	return c.String()
}

// FileName returns the name of the file of this size in its folder.
func (c Config) FileName() string {
	return "areas-" + strings.NewReplacer(",", "_", ":", "q").Replace(c.Name()) + ".db"
}

// Squares returns the number of squares of the largest areas.
func (c Config) Squares() int { return c.Full + len(c.Limits) }

// limit returns the most queens a side on areas of n squares, 0 for no limit.
func (c Config) limit(n int) int {
	if n <= c.Full {
		return 0
	}
	return c.Limits[n-c.Full-1]
}

// maxMemory bounds the bytes of a build in memory: the values of all layers but the last.
// The largest size with a name, large, holds 2.4 GB at most (FORMAT.md).
const maxMemory = 3 << 30

// Validate says what is wrong with c. Errors wrap ErrSize.
func (c Config) Validate() error {
	if c.Full < 1 || c.Full > maxSquares-1 || c.Squares() > maxSquares {
		return fmt.Errorf("%w: %d squares: areas may have up to %d squares, and up to %d with all placements of queens",
			ErrSize, c.Squares(), maxSquares, maxSquares-1)
	}
	last := maxSquares
	for i, q := range c.Limits {
		if q < 1 || q > 5 {
			return fmt.Errorf("%w: %d queens a side on areas of %d squares: write 1 to 5", ErrSize, q, c.Full+1+i)
		}
		if q > last {
			return fmt.Errorf("%w: %d queens a side on areas of %d squares, but only %d on smaller ones, which "+
				"they lead to", ErrSize, q, c.Full+1+i, last)
		}
		last = q
	}
	if m := c.memory(); m > maxMemory {
		return fmt.Errorf("%w: building %v would hold %d MiB in memory; the limit is %d MiB", ErrSize, c, m>>20,
			maxMemory>>20)
	}
	return nil
}

// memory returns the bytes of values that a build of c holds.
// The last layer goes to disk chunk by chunk, since no other layer needs it. The sum is generous: a
// build releases the values of both sides before it begins with the territories.
func (c Config) memory() (bytes int) {
	for n := 1; n < c.Squares(); n++ {
		l := newLayout(n, c.limit(n))
		bytes += (4*l.rows + l.territoryRows) * shapeCounts[n]
	}
	return bytes
}

// Sum returns the SHA-256 of the configuration and the version, which names what a file holds.
func (c Config) Sum() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "amazons areas, version %d, %v", Version, c))
}

// layout numbers the placements on one shape of n squares.
//
// Active areas have a balanced ternary rank: square i of the shape, from 0 in increasing order, adds
// 3^i for a black queen and subtracts 3^i for a white one. An exchange of colours negates the rank, so
// a value is looked up at |rank| and negated where the rank was negative. Territories have a ternary
// rank with digit 1 for a normal queen and 2 for a blocker. Where the number of queens is limited,
// tables map a rank to its index among the placements in the database.
type layout struct {
	n, limit      int
	rows          int      // placements of queens of both sides, up to the exchange of colours
	territoryRows int      // placements of normal queens and blockers
	index         []uint32 // nil, or index+1 by |rank|
	territory     []uint32 // nil, or index+1 by ternary rank
	powers        []int32  // sum of 3^i over a set of squares
}

// newLayout returns the layout of shapes of n squares with at most limit queens a side; 0: no limit.
func newLayout(n, limit int) *layout {
	l := &layout{n: n, limit: limit, powers: make([]int32, 1<<n)}
	for s := 1; s < len(l.powers); s++ {
		l.powers[s] = l.powers[s&(s-1)] + powers3[bits.TrailingZeros(uint(s))]
	}
	all := int(powers3[n])
	l.rows, l.territoryRows = (all+1)/2, all
	if limit == 0 {
		return l
	}
	l.index, l.territory = make([]uint32, l.rows), make([]uint32, all)
	l.rows, l.territoryRows = 0, 0
	// b goes through the subsets of s downwards, which is the order of FORMAT.md. For values b holds the
	// black queens, and b >= w takes one of each two placements that differ by the exchange of colours.
	// For territories b holds the normal queens and w the blockers.
	for s := range 1 << n {
		if bits.OnesCount(uint(s)) > 2*limit {
			continue
		}
		for b := s; ; b = (b - 1) & s {
			w := s &^ b
			nb, nw := bits.OnesCount(uint(b)), bits.OnesCount(uint(w))
			if nb <= limit && nw <= limit && b >= w {
				l.rows++
				l.index[l.powers[b]-l.powers[w]] = uint32(l.rows)
			}
			if nb+nw <= limit {
				l.territoryRows++
				l.territory[l.powers[b]+2*l.powers[w]] = uint32(l.territoryRows)
			}
			if b == 0 {
				break
			}
		}
	}
	return l
}

// row returns the row of a placement of both sides with this rank, which is not negative.
func (l *layout) row(rank int32) int {
	if l.index != nil {
		// The placement is there: a move adds no queen, and the limits of smaller areas are never lower.
		rank = int32(l.index[rank]) - 1
	}
	return int(rank)
}

// territoryRow returns the row of a placement of normal queens and blockers with this rank.
func (l *layout) territoryRow(rank int32) int {
	if l.territory != nil {
		rank = int32(l.territory[rank]) - 1
	}
	return int(rank)
}

// powers3[i] is 3 to the power i. It has 16 elements so that an index of four bits needs no check.
var powers3 = func() (p [16]int32) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = 3 * p[i-1]
	}
	return p
}()

// A code is one byte that says how many moves a territory is worth and which blockers are needed
// for that: bit i stands for the i-th blocker in the order of the canonical shape. Each needed
// blocker makes a move, and n squares hold moves and blockers, so few pairs are possible.
type code struct {
	moves  uint8
	needed uint16
}

// codes lists all pairs possible with maxSquares squares: v moves and at most v of at most
// maxSquares-v blockers.
// For ten squares the list has 231 pairs, so an index fits one byte.
var codes, codeOf = func() (list []code, of map[code]uint8) {
	list = append(list, code{})
	for v := 1; v < maxSquares; v++ {
		for m := range uint16(1) << (maxSquares - v) {
			if bits.OnesCount16(m) <= v {
				list = append(list, code{uint8(v), m})
			}
		}
	}
	slices.SortFunc(list, func(a, b code) int {
		return cmp.Or(cmp.Compare(a.moves, b.moves), cmp.Compare(a.needed, b.needed))
	})
	of = map[code]uint8{}
	for i, c := range list {
		of[c] = uint8(i)
	}
	return list, of
}()
