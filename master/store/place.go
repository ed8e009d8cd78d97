package store

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// A place of parts belongs to one store. Another store there would not know the parts, and would remove them as
// strays. Two names of stores may have one folder (x and x.db), and a place may be given in the settings.

// EvidenceFolder returns the folder with the parts of the store in a file: NAME.evidence beside NAME.db.
// A store that Compact has kept as NAME.db.old shares the folder of NAME.db, the store that replaced it.
func EvidenceFolder(file string) string {
	if path, err := filepath.EvalSymlinks(file); err == nil {
		file = path
	}
	return strings.TrimSuffix(strings.TrimSuffix(file, OldSuffix), ".db") + ".evidence"
}

// Unused returns an error that wraps disk.ErrExists if the EvidenceFolder of path belongs to another store (Apart), or
// has parts already.
func Unused(path string) error {
	return cmp.Or(Apart(path), evidence.Empty(evidence.OpenFolder(EvidenceFolder(path))))
}

// Apart returns an error that wraps disk.ErrExists if there is a store beside path whose parts lie in the same folder
// as those of a store at path would: two names may have one EvidenceFolder.
func Apart(path string) error {
	base := strings.TrimSuffix(EvidenceFolder(path), ".evidence")
	for _, other := range []string{base, base + ".db"} {
		if other == path {
			continue
		}
		s, err := Open(other, Options{ReadOnly: true})
		if err == nil {
			s.Close()
		}
		if err == nil || errors.Is(err, ErrLocked) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) {
			return fmt.Errorf("%w: the parts of %s would lie in %s, the folder of the store %s; choose another name",
				disk.ErrExists, path, EvidenceFolder(path), other)
		}
	}
	return nil
}

// absolute returns a place that means the same in every folder; empty stays empty.
func absolute(place string) (string, error) {
	if place == "" || strings.HasPrefix(place, evidence.Scheme) {
		return place, nil
	}
	return filepath.Abs(place)
}

// openEvidence opens the place where the parts lie.
func (s *Store) openEvidence() error {
	asked, err := absolute(s.options.Evidence)
	if err != nil {
		return err
	}
	given := s.campaigns[0].Evidence
	place, err := absolute(given)
	if err != nil {
		return err
	}
	// Older stores have recorded a place as it was given. It may be meant from the folder of the store.
	beside := filepath.Join(filepath.Dir(s.path), given)
	if given != place && disk.Free(place) == nil && disk.Free(beside) != nil {
		place = beside
	}
	if asked != "" && asked != place {
		return fmt.Errorf("%w: the parts of %s lie in %s, not in %s; leave out evidence-store, or begin another store",
			ErrInvalid, s.path, cmp.Or(place, EvidenceFolder(s.path)), asked)
	}
	s.evidence, err = evidence.Open(cmp.Or(place, EvidenceFolder(s.path)))
	if err != nil {
		return err
	}
	s.cache = evidence.NewCache(s.evidence)
	if s.options.ReadOnly {
		return nil
	}
	switch e := s.evidence.(type) {
	case *evidence.S3:
		return e.Ready()
	case *evidence.Folder:
		// A folder that should have parts and is away, with its disk perhaps, is not made anew.
		if parts, _ := s.Certificates(); parts > 0 && place == "" && disk.Free(e.String()) == nil {
			return nil
		}
		if s.held, err = e.Hold(); errors.Is(err, disk.ErrLocked) {
			err = fmt.Errorf("%w: another process has its parts in %s; stop it, or use another place", ErrLocked, e)
		}
	}
	return err
}

// Place says where the parts lie.
func (s *Store) Place() string { return s.evidence.String() }

// Bucket returns where the parts lie if that is a bucket, otherwise nil.
func (s *Store) Bucket() evidence.Bucket {
	b, _ := s.evidence.(evidence.Bucket)
	return b
}

// OwnsParts returns an error that wraps ErrCorrupt if the store has parts, and in their place lie only parts that it
// does not know: then these are another store's.
func (s *Store) OwnsParts() error {
	known, others := map[proof.ID]bool{}, 0
	if err := s.eachCertificate(func(id proof.ID, _ record.Certificate) { known[id] = true }); err != nil {
		return err
	}
	for p, err := range s.evidence.List() {
		if err == nil && known[p.ID] {
			return nil
		} else if err == nil {
			others++
		} else if !errors.Is(err, evidence.ErrForeign) {
			return err
		}
	}
	if len(known) == 0 || others == 0 {
		return nil
	}
	return fmt.Errorf("%w: no part of %s (of %d) lies in %s, and parts of another store (%d) do: put its own there",
		ErrCorrupt, s.path, len(known), s.Place(), others)
}
