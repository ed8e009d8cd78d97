package cgt

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestTable: ids stand for Values, however these are made.
func TestTable(t *testing.T) {
	a, table := NewArena(Limits{}), NewTable(0)
	var c Combiner
	check(t, 3, func(t *rapid.T) {
		f := drawForm(t, a, 3, "f")
		v := must[Value](t)(a.Value(f))
		side := func(fs []Form) (ids []ID) {
			for _, g := range fs {
				ids = append(ids, must[ID](t)(table.Intern(must[Value](t)(a.Value(g)))))
			}
			return ids
		}
		id := must[ID](t)(table.Combine(&c, side(a.Left(f)), side(a.Right(f))))
		if table.Value(id) != v || must[ID](t)(table.Intern(v)) != id || (id == 0) != (f == 0) {
			t.Fatal(v, table.Value(id))
		}
		if found, ok := table.Find(v); !ok || found != id {
			t.Fatal(v)
		}
	})
	sorted := table.Sorted()
	if len(sorted) != table.Len() || sorted[0] != 0 {
		t.Fatal(sorted)
	}
	values := table.Values()
	if !slices.IsSortedFunc(sorted[1:], func(x, y ID) int { return values[x].Compare(values[y]) }) {
		t.Fatal("not sorted")
	}
	if slices.Sort(sorted); len(slices.Compact(sorted)) != table.Len() {
		t.Fatal("an id twice")
	}
}

func TestTableFull(t *testing.T) {
	table := NewTable(2)
	for i, want := range []error{nil, nil, ErrFull, ErrFull} {
		if _, err := table.Intern(IntValue(int64(i))); !errors.Is(err, want) {
			t.Errorf("%d: %v", i, err)
		}
	}
	var c Combiner
	if _, err := table.Combine(&c, []ID{1}, nil); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if id, err := table.Combine(&c, []ID{0}, nil); err != nil || id != 1 {
		t.Error(id, err)
	}
}

// TestTableConcurrent: many goroutines agree on the ids.
func TestTableConcurrent(t *testing.T) {
	table := NewTable(0)
	got := make([][]ID, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var c Combiner
			var ids []ID
			for k := range 200 {
				left := []ID{0}
				if k > 0 {
					left = append(left, ids[k-1])
				}
				id, err := table.Combine(&c, left, []ID{0})
				if err != nil {
					t.Error(err)
				}
				if k%2 == 1 {
					id, err = table.Intern(IntValue(int64(k)))
					if err != nil {
						t.Error(err)
					}
				}
				ids = append(ids, id)
			}
			got[i] = ids
		})
	}
	wg.Wait()
	for _, ids := range got {
		if !slices.Equal(ids, got[0]) {
			t.Fatal("goroutines disagree")
		}
	}
}
