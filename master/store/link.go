package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

// LinkCertificate gives the file of a certificate another name on the same disk, or copies it there.
// A file of that name stays as it is.
func (s *Store) LinkCertificate(id proof.ID, name string) error {
	if err := os.Link(filepath.Join(EvidenceFolder(s.path), id.Name()[:2], id.Name()), name); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	r, size, err := s.OpenCertificate(id)
	if err != nil {
		return err
	}
	return disk.Replace(name, 0o644, func(f *os.File) error {
		_, err := io.Copy(f, io.NewSectionReader(r, 0, size))
		return err
	})
}
