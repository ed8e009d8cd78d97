package credentials

import (
	"bytes"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"amazonsfarm/shared/identity"
)

func worker(name string) identity.Identity {
	return identity.Identity{Role: identity.Worker, Name: name}
}

func operator(name string) identity.Identity {
	return identity.Identity{Role: identity.Operator, Name: name}
}

var master = identity.Identity{Role: identity.Master, Name: "master"}

// authority makes an authority with a master's credential.
func authority(t testing.TB) *Authority { return authorityAt(t, time.Now) }

func authorityAt(t testing.TB, now func() time.Time) *Authority {
	t.Helper()
	a, err := Init(filepath.Join(t.TempDir(), "certs"), Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	issue(t, a, Request{Identity: master, Hosts: []string{"localhost", "127.0.0.1"}})
	return a
}

func issue(t testing.TB, a *Authority, r Request) Issued {
	t.Helper()
	out, err := a.Issue(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestIssued holds that what is made is what the other side asks for: chain, purpose, role, hosts,
// lifetime, who may read it.
func TestIssued(t *testing.T) {
	a := authority(t)
	for _, r := range []Request{
		{Identity: worker("w1"), Lifetime: time.Hour},
		{Identity: operator("me"), Lifetime: 100 * 365 * 24 * time.Hour},
	} {
		out := issue(t, a, r)
		files, err := identity.Open(out.Folder, r.Identity.Role)
		if err != nil {
			t.Fatal(err)
		}
		m := files.Current()
		if m.Identity != r.Identity || m.Revision != 1 {
			t.Errorf("%v: got %+v", r.Identity, m)
		}
		leaf := m.Certificate.Leaf
		for purpose, want := range map[x509.ExtKeyUsage]bool{x509.ExtKeyUsageClientAuth: true,
			x509.ExtKeyUsageServerAuth: false} {
			_, err := leaf.Verify(x509.VerifyOptions{Roots: m.Roots, KeyUsages: []x509.ExtKeyUsage{purpose}})
			if (err == nil) != want {
				t.Errorf("%v, purpose %v: %v", r.Identity, purpose, err)
			}
		}
		want := slices.MinFunc([]time.Time{time.Now().Add(r.Lifetime), a.NotAfter()}, time.Time.Compare)
		if leaf.NotAfter.Sub(want).Abs() > time.Minute {
			t.Errorf("%v: good until %v, want %v", r.Identity, leaf.NotAfter, want)
		}
		if out.Serial != serialText(leaf.SerialNumber) || leaf.SerialNumber.BitLen() < 64 {
			t.Errorf("%v: serial number %s", r.Identity, out.Serial)
		}
	}
	files, err := identity.Open(a.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	leaf := files.Current().Certificate.Leaf
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: files.Current().Roots, DNSName: host}); err != nil {
			t.Error(err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: files.Current().Roots, DNSName: "elsewhere"}); err == nil {
		t.Error("the master's credential is good for any host")
	}
	err = filepath.WalkDir(a.folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if secret := bytes.Contains(data, []byte(identity.PEMKey)); secret && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has a private key and the mode %v", name, info.Mode())
		}
		if strings.HasPrefix(d.Name(), ".") {
			t.Errorf("%s is left over", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRefusedRequests(t *testing.T) {
	a := authority(t)
	issue(t, a, Request{Identity: worker("w1")})
	for name, c := range map[string]struct {
		request Request
		want    error
	}{
		"taken":               {Request{Identity: worker("w1")}, ErrExists},
		"taken by a role":     {Request{Identity: operator("w1"), Renew: true}, ErrExists},
		"name":                {Request{Identity: worker("../w")}, ErrRequest},
		"lifetime":            {Request{Identity: worker("w2"), Lifetime: -time.Hour}, ErrRequest},
		"hosts of a worker":   {Request{Identity: worker("w2"), Hosts: []string{"h"}}, ErrRequest},
		"master without":      {Request{Identity: master, Renew: true}, ErrRequest},
		"no host":             {Request{Identity: master, Renew: true, Hosts: []string{"a b"}}, ErrRequest},
		"host with port":      {Request{Identity: master, Renew: true, Hosts: []string{"a:1"}}, ErrRequest},
		"mistyped address":    {Request{Identity: master, Renew: true, Hosts: []string{"10.0.0.300"}}, ErrRequest},
		"host with wild card": {Request{Identity: master, Renew: true, Hosts: []string{"*"}}, ErrRequest},
	} {
		if _, err := a.Issue(c.request); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := Init(a.folder, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); !errors.Is(err, ErrMissing) {
		t.Errorf("an empty folder: %v", err)
	}
	late := *a
	late.now = func() time.Time { return a.NotAfter().Add(time.Second) }
	if _, err := late.Issue(Request{Identity: worker("w3")}); !errors.Is(err, ErrRequest) {
		t.Errorf("after the authority's end: %v", err)
	}
	list, err := a.List()
	if err != nil || len(list) != 2 {
		t.Errorf("refused requests left credentials: %v, %v", list, err)
	}
}

func TestRenewAndRevoke(t *testing.T) {
	a := authority(t)
	first := issue(t, a, Request{Identity: worker("w1")})
	second := issue(t, a, Request{Identity: worker("w1"), Renew: true})
	other := issue(t, a, Request{Identity: worker("w2")})
	files, err := identity.Open(a.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	revoked := func(serial string) bool {
		t.Helper()
		if _, err := files.Reload(); err != nil {
			t.Fatal(err)
		}
		c, err := readCertificate(filepath.Join(a.folder, IssuedFolder, serial+".crt"))
		if err != nil {
			t.Fatal(err)
		}
		return files.Current().Revoked(c)
	}
	if revoked(first.Serial) || revoked(second.Serial) {
		t.Fatal("renewing revokes")
	}
	// By serial number, in any case: only that one.
	list, err := a.Revoke(strings.ToUpper(first.Serial))
	if err != nil || len(list) != 1 || list[0].Serial != first.Serial {
		t.Fatalf("revoked %v, %v", list, err)
	}
	if !revoked(first.Serial) || revoked(second.Serial) {
		t.Error("another credential than the one named is revoked")
	}
	// By name: all that are good.
	list, err = a.Revoke("w1")
	if err != nil || len(list) != 1 || list[0].Serial != second.Serial {
		t.Fatalf("revoked %v, %v", list, err)
	}
	if !revoked(first.Serial) || !revoked(second.Serial) || revoked(other.Serial) {
		t.Error("revoking by name takes the wrong ones")
	}
	for _, what := range []string{"w1", first.Serial, "nobody", ""} {
		if _, err := a.Revoke(what); !errors.Is(err, ErrUnknown) {
			t.Errorf("revoke %q: %v, want %v", what, err, ErrUnknown)
		}
	}
	// A name lives on with a new credential.
	third := issue(t, a, Request{Identity: worker("w1"), Renew: true})
	if revoked(third.Serial) {
		t.Error("the new credential is revoked")
	}
	records, err := a.List()
	if err != nil {
		t.Fatal(err)
	}
	good := map[string]bool{first.Serial: false, second.Serial: false, third.Serial: true, other.Serial: true}
	for _, r := range records {
		if want, ok := good[r.Serial]; ok && r.Good(time.Now()) != want {
			t.Errorf("%v: %s", r.Identity, r.State(time.Now()))
		}
	}
	if len(records) != 5 {
		t.Errorf("%d records, want 5", len(records))
	}
}

// TestConcurrentRevocations holds that of revocations at one time none is lost.
func TestConcurrentRevocations(t *testing.T) {
	a := authority(t)
	names := []string{"a", "b", "c", "d", "e"}
	for _, name := range names {
		issue(t, a, Request{Identity: worker(name)})
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			b, err := Open(a.folder, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if _, err := b.Revoke(name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b, err := Open(a.folder, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	list, err := b.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Role == identity.Worker && r.Revoked.IsZero() {
			t.Errorf("the revocation of %s is lost", r.Name)
		}
	}
}

// TestReload changes each file of a master's folder for the worse: what was there stays in use, and
// the error comes once.
func TestReload(t *testing.T) {
	a := authority(t)
	issue(t, a, Request{Identity: worker("w1")})
	if _, err := a.Revoke("w1"); err != nil {
		t.Fatal(err)
	}
	stranger := authority(t)
	bundle := issue(t, a, Request{Identity: worker("w2")}).Folder
	read := func(folder, name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	good := map[string][]byte{}
	for _, name := range []string{identity.AuthorityFile, identity.MasterFile, identity.RevokedFile} {
		good[name] = read(a.folder, name)
	}
	older := read(stranger.folder, identity.RevokedFile)
	files, err := identity.Open(a.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	before := files.Current()
	cut := func(name string) []byte { return good[name][:len(good[name])/2] }
	for name, c := range map[string]struct {
		file string
		data []byte // nil: the file is gone
		want string
	}{
		"authority gone":  {identity.AuthorityFile, nil, "no such file"},
		"authority cut":   {identity.AuthorityFile, cut(identity.AuthorityFile), "PEM"},
		"authority empty": {identity.AuthorityFile, []byte{}, "no PEM block"},
		"authority of others": {identity.AuthorityFile, read(stranger.folder, identity.AuthorityFile),
			"not signed by"},
		"no authority": {identity.AuthorityFile, certificatePEM(leafOf(t, good[identity.MasterFile])),
			"not the credential of an authority"},
		"second without a list": {identity.AuthorityFile, append(read(stranger.folder, identity.AuthorityFile),
			good[identity.AuthorityFile]...), "lacks the list"},
		"credential gone":      {identity.MasterFile, nil, "no such file"},
		"credential cut":       {identity.MasterFile, cut(identity.MasterFile), identity.MasterFile},
		"credential of others": {identity.MasterFile, read(stranger.folder, identity.MasterFile), "not signed by"},
		"credential of a role": {identity.MasterFile, read(bundle, identity.ClientFile), "another role"},
		"key of others": {identity.MasterFile, append(certificatePEM(leafOf(t, good[identity.MasterFile])),
			read(a.folder, KeyFile)...), identity.MasterFile},
		"list gone":              {identity.RevokedFile, nil, "no such file"},
		"list cut":               {identity.RevokedFile, cut(identity.RevokedFile), "PEM"},
		"list of others":         {identity.RevokedFile, older, "no authority"},
		"list without signature": {identity.RevokedFile, tampered(good[identity.RevokedFile]), identity.RevokedFile},
		"large":                  {identity.RevokedFile, make([]byte, 9<<20), "at most"},
	} {
		name, path := name, filepath.Join(a.folder, c.file)
		if c.data == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, c.data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if changed, err := files.Reload(); changed || !errors.Is(err, identity.ErrFiles) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: changed %v, %v, want %q", name, changed, err, c.want)
		}
		if changed, err := files.Reload(); changed || err != nil {
			t.Errorf("%s, once more: changed %v, %v", name, changed, err)
		}
		if files.Current() != before {
			t.Errorf("%s: taken", name)
		}
		if _, err := identity.Open(a.folder, identity.Master); !errors.Is(err, identity.ErrFiles) {
			t.Errorf("%s: a master starts with it: %v", name, err)
		}
		if err := os.WriteFile(path, good[c.file], 0o600); err != nil {
			t.Fatal(err)
		}
		if changed, err := files.Reload(); !changed || err != nil {
			t.Errorf("%s, repaired: changed %v, %v", name, changed, err)
		}
		before = files.Current()
	}
}

// TestOlderList holds that a revocation list from a backup does not make revoked credentials good
// again.
func TestOlderList(t *testing.T) {
	a := authority(t)
	issue(t, a, Request{Identity: worker("w1")})
	path := filepath.Join(a.folder, identity.RevokedFile)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Revoke("w1"); err != nil {
		t.Fatal(err)
	}
	files, err := identity.Open(a.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := files.Reload(); changed || err == nil || !strings.Contains(err.Error(), "older") {
		t.Errorf("changed %v, %v", changed, err)
	}
}

// TestNextAuthority holds that one authority can follow another: both are in the files for a while.
func TestNextAuthority(t *testing.T) {
	a, next := authority(t), authority(t)
	for _, name := range []string{identity.AuthorityFile, identity.RevokedFile} {
		var both []byte
		for _, folder := range []string{a.folder, next.folder} {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			both = append(both, data...)
		}
		if err := os.WriteFile(filepath.Join(a.folder, name), both, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := identity.Open(a.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	bundle := issue(t, next, Request{Identity: worker("w1")})
	client, err := identity.Open(bundle.Folder, identity.Worker)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Current().Certificate.Leaf.Verify(x509.VerifyOptions{Roots: files.Current().Roots,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
}

func TestDamagedAuthority(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		data string
	}{
		"key":        {KeyFile, "nothing"},
		"credential": {identity.AuthorityFile, "nothing"},
		"list":       {identity.RevokedFile, "nothing"},
		"record":     {filepath.Join(IssuedFolder, "ff.crt"), "nothing"},
	} {
		a := authority(t)
		if err := os.WriteFile(filepath.Join(a.folder, c.file), []byte(c.data), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := Open(a.folder, Options{})
		if err == nil {
			_, err = b.List()
			b.Close()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want %v", name, err, ErrDamaged)
		}
	}
	// The key of another authority.
	a, b := authority(t), authority(t)
	data, err := os.ReadFile(filepath.Join(b.folder, KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.folder, KeyFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a.Close()
	if _, err := Open(a.folder, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("the key of another authority: %v", err)
	}
}

func TestExpiredBundle(t *testing.T) {
	a := authorityAt(t, func() time.Time { return time.Now().Add(-2 * time.Hour) })
	for _, id := range []identity.Identity{worker("w1"), operator("me")} {
		out := issue(t, a, Request{Identity: id, Lifetime: time.Hour})
		if _, err := identity.Open(out.Folder, id.Role); !errors.Is(err, identity.ErrFiles) ||
			!strings.Contains(err.Error(), "expired on") {
			t.Errorf("%v: %v", id, err)
		}
	}
}

// TestDates: a running master keeps its good credential where one comes that has expired or is not good yet, and takes
// the latter once it is. It takes revocations meanwhile. No program begins with one that has expired.
func TestDates(t *testing.T) {
	shift := -3 * time.Hour // the authority is that old
	a := authorityAt(t, func() time.Time { return time.Now().Add(shift) })
	files, err := identity.Open(a.folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	comes := func(by, lifetime time.Duration, want string) {
		t.Helper()
		shift = by
		issue(t, a, Request{Identity: master, Hosts: []string{"localhost"}, Lifetime: lifetime, Renew: true})
		was := files.Current()
		if changed, err := files.Reload(); !changed || !errors.Is(err, identity.ErrFiles) ||
			!strings.Contains(err.Error(), want) || files.Current().Certificate.Leaf != was.Certificate.Leaf {
			t.Errorf("%v, %v, want %q", changed, err, want)
		}
		if changed, err := files.Reload(); changed || err != nil {
			t.Errorf("told twice: %v, %v", changed, err)
		}
	}
	bad := issue(t, a, Request{Identity: worker("bad")})
	comes(-2*time.Hour, time.Hour, "expired on")
	if _, err := identity.Open(a.folder, identity.Master); !errors.Is(err, identity.ErrFiles) {
		t.Errorf("a program begins with it: %v", err)
	}
	if _, err := a.Revoke("bad"); err != nil {
		t.Fatal(err)
	}
	_, _ = files.Reload() // its word is the same
	revoked, err := os.ReadFile(filepath.Join(bad.Folder, identity.ClientFile))
	if err != nil || !files.Current().Revoked(leafOf(t, revoked)) {
		t.Error("the revocation is not taken", err)
	}
	comes(skew+1500*time.Millisecond, time.Hour, "good from")
	for range 50 {
		if changed, err := files.Reload(); err != nil {
			t.Fatal(err)
		} else if changed {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("a credential is not taken when its time has come")
}

func leafOf(t testing.TB, data []byte) *x509.Certificate {
	t.Helper()
	name := filepath.Join(t.TempDir(), "leaf")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := readCertificate(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tampered changes a character in the middle of the signature.
func tampered(data []byte) []byte {
	out := bytes.Clone(data)
	at := bytes.LastIndex(out, []byte("\n-----END")) - 30
	if out[at] == 'A' {
		out[at] = 'B'
	} else {
		out[at] = 'A'
	}
	return out
}
