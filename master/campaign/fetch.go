package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"amazonsfarm/master/evidence"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// Fetched says what [Fetch] copied, also to programs. Fields may be added, never renamed.
type Fetched struct {
	MessageType string `json:"message_type"` // "evidence_fetch"
	File        string `json:"file"`         // the manifest
	Folder      string `json:"folder"`       // of the parts
	Parts       int    `json:"fetched"`      // that were copied
	Bytes       int64  `json:"bytes"`        // their size
	Missing     int    `json:"missing"`      // parts that are not at the place either
}

// maxDamaged is how many damaged parts Fetch names. It ends at the next one: with so many the place itself is damaged.
const maxDamaged = 20

// Fetch copies the parts of a manifest from a place, as evidence.Open takes it, into the folder beside the manifest.
// A part that is there and whole is not copied again, so a fetch that was cut off goes on where it was. Damaged parts
// at the place do not keep the others from being copied. The checker judges the parts later. Errors: those of the
// manifest, of the place and of the folder, ctx's; evidence.ErrDamaged with the name of each damaged part, up to
// maxDamaged.
func Fetch(ctx context.Context, manifest, from string) (Fetched, error) {
	done := Fetched{MessageType: "evidence_fetch", File: manifest, Folder: proof.PartsFolder(manifest)}
	m, err := proof.ReadManifest(manifest)
	if err != nil {
		return done, err
	}
	place, err := evidence.Open(from)
	if f, ok := place.(*evidence.Folder); ok {
		if _, err := os.Stat(f.String()); err != nil {
			return done, fmt.Errorf("%w: %w", evidence.ErrPlace, err)
		}
	}
	if err == nil {
		err = os.MkdirAll(done.Folder, 0o755)
	}
	var damaged []error
	for _, p := range m.Parts {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			break
		}
		name := filepath.Join(done.Folder, p.ID.Name())
		if size, sum, err := disk.SHA256(name); err == nil && size == p.Bytes && sum == p.ID.Name() {
			continue
		}
		switch err = evidence.Copy(place, p.ID, p.Bytes, name); {
		case err == nil:
			done.Parts, done.Bytes = done.Parts+1, done.Bytes+p.Bytes
		case errors.Is(err, evidence.ErrMissing):
			done.Missing, err = done.Missing+1, nil
		case errors.Is(err, evidence.ErrDamaged) && len(damaged) < maxDamaged:
			damaged, err = append(damaged, err), nil
		}
	}
	return done, errors.Join(append(damaged, err)...)
}
