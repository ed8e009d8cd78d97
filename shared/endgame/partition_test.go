package endgame

import (
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/area"
)

// guardedArea is an area of a position in which Black guards its territories.
type guardedArea struct {
	area.Area
	blockers Set // queens of Black that keep White out of some territory
}

// size returns the number of squares of the area.
func (a *guardedArea) size() int { return size(&a.Area) }

// guardedAreas finds the improved partition of Black alone (Song and Müller 2014, section II.A.3).
// Black's territories are areas without White; all that White reaches while Black's queens stand
// still makes the other areas. A queen of Black that touches what White reaches is a blocker of each
// territory that it touches.
//
// Black promises that each blocker moves in one territory only, or shoots back at its origin with
// its first move. Then White never enters a territory. So Black is sure of the sum of the
// territories' values, with every blocker counted once, and of the other areas' values under the
// same promise. A blocker that is counted in a territory is a burnt square elsewhere.
func guardedAreas(black, white, empty Set) (out []guardedArea) {
	reach := amazons.Flood(white, empty) | white
	edge := black & amazons.Grow(reach)
	inside := amazons.Flood(black, empty) & empty &^ reach
	component := func(from, open Set) Set { return amazons.Flood(from, open&^from) | from }
	all := Set(0)
	for rest := inside; rest != 0; {
		c := component(rest&-rest, inside|black&^edge)
		rest &^= c
		b := amazons.Grow(c) & edge
		all |= b
		out = append(out, guardedArea{area.Area{Black: c&black | b, Empty: c & inside, Kind: area.Simple}, b})
	}
	for rest := reach & empty; rest != 0; {
		c := component(rest&-rest, reach|edge)
		rest &^= c
		a := area.Area{Black: c & black, White: c & white, Empty: c & empty, Kind: area.Active}
		if a.Black == 0 || a.White == 0 {
			a.Kind = area.Simple
		}
		out = append(out, guardedArea{a, c & all})
	}
	return out
}

// using returns how many moves one side has in a territory with the given blockers only, the
// others standing still for good (as burnt squares do). The territory may fall into parts.
func using(db *DB, normal, blockers, empty, use Set) (moves int, ok bool) {
	use &= blockers
	for rest := normal | use | empty; rest != 0; {
		c := area.Component(rest)
		rest &^= c
		if c&(normal|use) == 0 || c&empty == 0 {
			continue
		}
		m, _, ok := db.Territory(c&normal, c&use, c&empty)
		if !ok {
			return 0, false
		}
		moves += m
	}
	return moves, true
}
