package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"

	"amazonsfarm/shared/disk"
)

// claimName is the name, among the parts, of a file that says which proof store owns the place. List does not yield it.
const claimName = "owner"

// maxClaim bounds what is read of a claim, in bytes: more than the longest path.
const maxClaim = 8 << 10

// Empty returns an error that wraps disk.ErrExists where something lies among the parts at a place.
func Empty(s Store) error {
	for _, err := range s.List() {
		if err == nil || errors.Is(err, ErrForeign) {
			err = fmt.Errorf("%w: parts of another store lie in %s; give that place another name, or choose another "+
				"path for the new store", disk.ErrExists, s)
		}
		return err
	}
	return nil
}

// Claim notes in a place, as Open takes it, that it has the parts of a new proof store, with the path of the store and
// the name of this machine. A place whose store is gone from this machine may be claimed again. Errors: disk.ErrExists
// where parts lie there, or another store owns the place; those of Open and Hold, ErrAway.
func Claim(at, path string) error {
	s, err := Open(at)
	if err != nil {
		return err
	}
	if f, ok := s.(*Folder); ok {
		lock, err := f.Hold()
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	if err := Empty(s); err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	host, _ := os.Hostname()
	owner := host + ":" + path
	written, err := s.claim(owner, false)
	if file, here := strings.CutPrefix(written, host+":"); err == nil && here && disk.Free(file) == nil {
		written, err = s.claim(owner, true)
	}
	switch {
	case errors.Is(err, ErrAway): // a bucket may take parts and refuse this
		return nil
	case err == nil && written != owner:
		err = fmt.Errorf("%w: %s is for the parts of the store %s; give the new store another evidence-store, or "+
			"remove %s there if that store is gone", disk.ErrExists, s, written, claimName)
	}
	return err
}

// claim implements Store.
func (f *Folder) claim(owner string, again bool) (written string, err error) {
	path := filepath.Join(f.root, claimName)
	if data, err := os.ReadFile(path); !again && !errors.Is(err, fs.ErrNotExist) {
		return string(data[:min(len(data), maxClaim)]), err
	}
	return owner, disk.ReplaceFrom(path, 0o644, strings.NewReader(owner)) // the folder is held
}

// claim implements Store. Two that claim at the same moment may both succeed.
func (s *S3) claim(owner string, again bool) (written string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callPatience)
	defer cancel()
	key := s.prefix + claimName
	if !again {
		in, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
		if err != nil {
			return "", s.failed("owner", err)
		}
		defer in.Close()
		data, err := io.ReadAll(io.LimitReader(in, maxClaim))
		if err == nil {
			return string(data), nil
		} else if err = s.missed("owner", err); !errors.Is(err, ErrMissing) {
			return "", err
		}
	}
	_, err = s.client.PutObject(ctx, s.bucket, key, strings.NewReader(owner), int64(len(owner)),
		minio.PutObjectOptions{DisableMultipart: true})
	return owner, s.failed("owner", err)
}
