package endgame

import (
	"fmt"
	"runtime/debug"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
)

// Defect is a row of the table of defective territories, about regions of one number of squares with one queen. A
// region is an 8-connected set of squares. The defect is the number of empty squares that the queen cannot use.
type Defect struct {
	Squares int   `json:"squares"`
	Shapes  int   `json:"shapes"`  // regions up to symmetry
	Fixed   int   `json:"fixed"`   // regions up to shifts alone
	Largest int   `json:"largest"` // largest defect
	Regions int   `json:"regions"` // regions with a defect for some place of the queen
	Places  []int `json:"places"`  // places of the queen by defect
}

// Defects returns the table for all numbers of squares of the database. Errors wrap ErrDamaged.
func (db *DB) Defects() (out []Defect, err error) {
	defer db.fault(debug.SetPanicOnFault(true), &err)
	out = make([]Defect, 0, db.squares)
	for n := 1; n <= db.squares; n++ {
		l := &db.layers[n]
		d := Defect{Squares: n, Shapes: len(l.shapes)}
		for i, s := range l.shapes {
			d.Fixed += images(s)
			worst := 0
			// The queen stands on square k. The rank of one normal queen is 3^k.
			for k := range n {
				at := i*l.territoryRows + l.territoryRow(powers3[k])
				if !db.ok(l.territoryAt + at) {
					return nil, fmt.Errorf("read defects: %w", db.Damaged())
				}
				code := int(l.codes[at])
				if code >= len(codes) || int(codes[code].moves) >= n {
					return nil, fmt.Errorf("read defects: %s: %w: a territory of %d squares has the code %d", db.name,
						ErrDamaged, n, code)
				}
				defect := n - 1 - int(codes[code].moves)
				for len(d.Places) <= defect {
					d.Places = append(d.Places, 0)
				}
				d.Places[defect]++
				worst = max(worst, defect)
			}
			d.Largest = max(d.Largest, worst)
			if worst > 0 {
				d.Regions++
			}
		}
		out = append(out, d)
	}
	return out, nil
}

// images returns the number of different images of a shape under the symmetries.
func images(s Set) int {
	seen := map[Set]bool{}
	for sym := range amazons.Symmetry(8) {
		x := grid8.Apply(sym, s)
		shift, _, _ := area.Frame(x)
		seen[x>>shift] = true
	}
	return len(seen)
}

// Layer counts what a database holds of areas of one number of squares.
type Layer struct {
	Squares     int    `json:"squares"`
	Limit       int    `json:"queens_a_side"` // 0: no limit
	Shapes      int    `json:"shapes"`
	Active      uint64 `json:"active_entries"`    // placements of queens of both sides, up to the exchange of colours
	Territories uint64 `json:"territory_entries"` // placements of normal queens and blockers
	Bytes       uint64 `json:"bytes"`
}

// Layers returns the table for all numbers of squares of the database.
func (db *DB) Layers() []Layer {
	out := make([]Layer, 0, db.squares)
	for n := 1; n <= db.squares; n++ {
		l := &db.layers[n]
		out = append(out, Layer{
			Squares: n, Limit: l.limit, Shapes: len(l.shapes), Active: uint64(len(l.active)),
			Territories: uint64(len(l.codes)),
			Bytes:       uint64(2*len(l.active) + len(l.codes)),
		})
	}
	return out
}

// Escapes returns the number of entries whose values have too large a number for 16 bits.
func (db *DB) Escapes() int { return len(db.keys) }
