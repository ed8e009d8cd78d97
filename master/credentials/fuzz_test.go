package credentials

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"amazonsfarm/shared/identity"
	"amazonsfarm/shared/testkit/fuzzing"
)

// FuzzFolder puts changed files into the folders of a master, of a worker and of an authority, and
// reads them in the ways there are. Nothing panics; whoever is read has the role that was asked for
// and a name that can be one, and a list of revocations that nobody of the authority has signed is
// not taken.
func FuzzFolder(f *testing.F) {
	a := authority(f)
	issue(f, a, Request{Identity: worker("w1")})
	issue(f, a, Request{Identity: worker("w2")})
	if _, err := a.Revoke("w2"); err != nil {
		f.Fatal(err)
	}
	files := []string{identity.AuthorityFile, identity.MasterFile, identity.RevokedFile}
	var whole [4][]byte
	for i, name := range files {
		data, err := os.ReadFile(filepath.Join(a.folder, name))
		if err != nil {
			f.Fatal(err)
		}
		whole[i] = data
		f.Add(uint8(i), uint16(100), []byte("x"))
		f.Add(uint8(i), uint16(0), data[:20])
	}
	files = append(files, identity.ClientFile)
	client, err := os.ReadFile(filepath.Join(a.folder, WorkersFolder, "w1", identity.ClientFile))
	if err != nil {
		f.Fatal(err)
	}
	whole[3] = client
	f.Add(uint8(3), uint16(60), []byte("AAAA"))
	f.Add(uint8(2), uint16(9999), client)
	f.Add(uint8(0), uint16(9999), client)
	f.Add(uint8(1), uint16(9999), whole[0])
	folder := f.TempDir()
	for i, name := range files {
		if err := os.WriteFile(filepath.Join(folder, name), whole[i], 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		i := int(which) % len(files)
		// Written over what is there, or, with the position 9999, in its place.
		changed := append([]byte(nil), data...)
		if at != 9999 {
			changed = append([]byte(nil), whole[i]...)
			copy(changed[int(at)%len(changed):], data)
		}
		path := filepath.Join(folder, files[i])
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := os.WriteFile(path, whole[i], 0o600); err != nil {
				t.Fatal(err)
			}
		}()
		fuzzing.Within(t, 10*time.Second, 64<<20, func() {
			for _, role := range []identity.Role{identity.Master, identity.Worker, identity.Operator} {
				got, err := identity.Open(folder, role)
				if err != nil {
					if !errors.Is(err, identity.ErrFiles) {
						t.Fatalf("an error of another kind: %v", err)
					}
					continue
				}
				if m := got.Current(); m.Identity.Role != role || identity.CheckName(m.Identity.Name) != nil ||
					m.Certificate.Leaf == nil {
					t.Fatalf("%v was read for the role %s", m.Identity, role)
				}
			}
		})
	})
}
