package proof_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"amazonsfarm/shared/proof"
)

// TestOutline has the outline of each part say what the part says, in fewer bytes; cut short or with more
// bytes it is refused.
func TestOutline(t *testing.T) {
	whole, _ := sample(t)
	cited := int64(0)
	err := proof.Split(t.Context(), whole, 300, func(c proof.Certificate) error {
		data, err := proof.Encode(c)
		if err != nil {
			return err
		}
		outline, err := proof.Outline(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		if len(outline) >= len(data) {
			t.Errorf("an outline of %d bytes for a part of %d", len(outline), len(data))
		}
		info, list, err := proof.ReadCited(bytes.NewReader(data), int64(len(data)))
		again, same, err2 := proof.ReadOutline(outline)
		if err := errors.Join(err, err2); err != nil || !reflect.DeepEqual(info, again) ||
			!reflect.DeepEqual(list, same) {
			t.Errorf("the outline says other things than the part: %v", err)
		}
		cited += info.Citations
		for _, bad := range [][]byte{outline[:len(outline)-1], append(bytes.Clone(outline), 0), data, nil} {
			if _, _, err := proof.ReadOutline(bad); err == nil {
				t.Errorf("%d bytes were read as an outline of %d", len(bad), len(outline))
			}
		}
		return nil
	})
	if err != nil || cited == 0 {
		t.Fatal(cited, err)
	}
}
