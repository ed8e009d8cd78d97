package cgt

import "math/bits"

// Walls are computed in integers: values and temperatures of one computation are
// counted in units of 1/2^scale, with a scale that fits all of its inputs and its
// result. Their magnitudes stay below 2^60 units, so that sums of a few do not wrap.
const (
	maxScale = 55
	maxUnits = 1 << 60
)

// A point is a corner of a wall, in units.
type point struct{ t, v int64 }

// A climb is a function of the temperature from -1 up which rises with slope 0 or 1 and at
// last stays constant: the right wall of a game, or the left wall of one negated (its
// negative's right wall). Its points begin at temperature -1; it is constant from the last
// one on. Three points in a row never lie on one line, and the last piece
// before the constant rises.
type climb []point

// higher appends to dst the pointwise maximum of two climbs of the same scale. It walks along both at
// once, from corner to corner of either. Between two corners both are straight, with slopes 0 or 1.
// So they cross there at most once: where the flat one was ahead and the rising one overtakes it. The
// crossing is a whole number of units, since the slopes differ by 1.
func higher(dst, a, b climb) climb {
	i, j := 0, 0 // the pieces that hold the interval from t up
	t, va, vb := a[0].t, a[0].v, b[0].v
	base := len(dst)
	dst = append(dst, point{t, max(va, vb)})
	for {
		endA, sa := a.piece(i)
		endB, sb := b.piece(j)
		next := min(endA, endB)
		if next == endless {
			return settle(dst, base)
		}
		// They cross inside exactly where the flat one is ahead by less than the way to go.
		if d := va - vb; sa != sb && d*(sb-sa) > 0 && d*(sb-sa) < next-t {
			d *= sb - sa
			dst = corner(dst, base, point{t + d, max(va+d*sa, vb+d*sb)})
		}
		va, vb, t = va+sa*(next-t), vb+sb*(next-t), next
		dst = corner(dst, base, point{t, max(va, vb)})
		if endA == t {
			i++
		}
		if endB == t {
			j++
		}
	}
}

// endless is above every temperature: the end of the last piece of a climb, which is constant.
const endless = 1 << 62

// piece returns where the piece of a climb that begins at point i ends, and its slope. The last piece
// ends nowhere, so a walk along two climbs goes on to the lesser of two ends and stops at endless.
func (c climb) piece(i int) (end, slope int64) {
	switch {
	case i+1 == len(c):
		return endless, 0
	case c[i+1].v > c[i].v:
		return c[i+1].t, 1
	}
	return c[i+1].t, 0
}

// corner appends p to the points from base on, and drops the point before it where the line
// goes straight on.
func corner(dst climb, base int, p point) climb {
	if n := len(dst); n-base >= 2 {
		a, b := dst[n-2], dst[n-1]
		// Slopes are 0 or +-1 throughout: equal where they are both flat or both not.
		if (a.v == b.v) == (b.v == p.v) {
			dst[n-1] = p
			return dst
		}
	}
	return append(dst, p)
}

// settle drops the last of the points from base on where the wall is already constant before
// it.
func settle(dst climb, base int) climb {
	if n := len(dst); n-base >= 2 && dst[n-1].v == dst[n-2].v {
		dst = dst[:n-1]
	}
	return dst
}

// mast cools the scaffolds of a game that is no integer. l holds the maximum of the right walls of
// the left options, r that of the negated left walls of the right options. It appends the left wall
// to dl and the right wall negated to dr; both end at the foot of the mast or
// below it. l and r have a sum above 2 at temperature -1 in their first points,
// and even units only.
func mast(dl, dr, l, r climb) (left, right climb) {
	i, j := 0, 0
	t := l[0].t
	p, q := l[0].v-t, r[0].v-t // the scaffolds; q is negated
	dl = append(dl, point{t, p})
	dr = append(dr, point{t, q})
	bl, br := len(dl)-1, len(dr)-1
	for {
		endL, sl := l.piece(i)
		endR, sr := r.piece(j)
		next := min(endL, endR)
		sp, sq := sl-1, sr-1 // the slopes of the scaffolds, which the tax lowers
		// The scaffolds are lowered by the tax until they meet. From there on the walls are one:
		// that is the mast.
		// The gap is p + q; it closes at 0, 1 or 2 units for a unit of temperature.
		met := false
		if rate := -sp - sq; rate > 0 {
			if way := (p + q) / rate; way <= next-t {
				next, met = t+way, true
			}
		}
		p, q, t = p+sp*(next-t), q+sq*(next-t), next
		dl = corner(dl, bl, point{t, p})
		dr = corner(dr, br, point{t, q})
		if met {
			return settle(dl, bl), settle(dr, br)
		}
		if endL == t {
			i++
		}
		if endR == t {
			j++
		}
	}
}

// at returns the value at temperature t of the points of a wall (of any slopes 0, +-1).
func (c climb) at(t int64) int64 {
	for i := 1; i < len(c); i++ {
		if t < c[i].t {
			a, b := c[i-1], c[i]
			switch {
			case b.v > a.v:
				return a.v + (t - a.t)
			case b.v < a.v:
				return a.v - (t - a.t)
			}
			return a.v
		}
	}
	return c[len(c)-1].v
}

// fits reports whether n units at a scale, shifted up by k, stay in range.
func fits(n int64, k int) bool { return n == 0 || bits.Len64(abs(n))+k <= 60 }
