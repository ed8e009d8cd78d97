package remake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/disk"
)

// notes are a file that says which parts were made, so that a run that was stopped goes on. It can only grow: a line
// of JSON for each part, by one write. A line that a kill has cut lacks its end, and counts for nothing.
type notes struct {
	manifest string // its SHA-256
	f        *os.File
}

// note is a line.
type note struct {
	Manifest string `json:"manifest"`
	Part
}

// maxNote bounds a line, in bytes. One has less than 300.
const maxNote = 4096

// openNotes opens the notes in a file, which it makes where there is none, and returns the parts that were made before,
// by their SHA-256. Without a name nothing is noted. Errors wrap checker.ErrState for notes about another manifest.
func openNotes(name, manifest string) (*notes, map[string]Part, error) {
	n, done := new(notes), map[string]Part{}
	if name == "" {
		return n, done, nil
	}
	var err error
	if _, n.manifest, err = disk.SHA256(manifest); err != nil {
		return nil, nil, err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: %s is not a regular file", checker.ErrState, name)
	}
	if n.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644); errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w: %s: there is no folder %s", checker.ErrState, name, filepath.Dir(name))
	} else if err != nil {
		return nil, nil, err
	}
	whole := int64(0)
	begin := fmt.Appendf(nil, `{"manifest":%q`, n.manifest)
	for lines := bufio.NewReaderSize(n.f, maxNote); ; {
		line, err := lines.ReadSlice('\n')
		ours := bytes.HasPrefix(line, begin[:min(len(line), len(begin))])
		var one note
		switch {
		case errors.Is(err, io.EOF) && ours: // what is left has no end: the next line takes its place
			return n, done, n.f.Truncate(whole)
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
		case json.Unmarshal(line, &one) != nil || one.Manifest != n.manifest:
			err = fmt.Errorf("%w: %s has a line that is not about the manifest with the SHA-256 %s; give another file",
				checker.ErrState, name, n.manifest)
		}
		if err != nil {
			return nil, nil, errors.Join(err, n.f.Close())
		}
		whole += int64(len(line))
		done[one.ID] = one.Part
	}
}

// add notes that a part was made.
func (n *notes) add(p Part) error {
	if n.f == nil {
		return nil
	}
	line, err := json.Marshal(note{n.manifest, p})
	if err == nil {
		_, err = n.f.Write(append(line, '\n'))
	}
	return err
}

// close brings the notes to the disk.
func (n *notes) close() error {
	if n.f == nil {
		return nil
	}
	return errors.Join(n.f.Sync(), n.f.Close())
}
