package area

import (
	"errors"
	"math/rand/v2"
	"testing"
)

func TestParse(t *testing.T) {
	b, w, e, err := Parse("B.x/2W")
	if err != nil || b != 1<<8 || w != 1<<2 || e != 1<<9|3 {
		t.Fatalf("%x %x %x %v", b, w, e, err)
	}
	for _, bad := range []string{"", "x", "B.?", "........./W", "././././././././."} {
		if _, _, _, err := Parse(bad); !errors.Is(err, ErrText) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	r := rand.New(rand.NewPCG(7, 1))
	for range 2000 {
		b, w, e := random(r)
		if b|w|e == 0 {
			continue
		}
		b2, w2, e2, err := Parse(Text(b, w, e))
		if err != nil || Canonical(b, w, e).Key() != Canonical(b2, w2, e2).Key() {
			t.Fatalf("%q: %v", Text(b, w, e), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("B.x/2W")
	f.Fuzz(func(t *testing.T, text string) {
		b, w, e, err := Parse(text)
		if err != nil {
			return
		}
		if b&w|b&e|w&e != 0 {
			t.Fatal("sets overlap")
		}
		b2, w2, e2, err := Parse(Text(b, w, e))
		if err != nil || Canonical(b, w, e).Key() != Canonical(b2, w2, e2).Key() {
			t.Fatalf("%q: %v", Text(b, w, e), err)
		}
	})
}
