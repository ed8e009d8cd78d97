package credentials

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"amazonsfarm/shared/identity"
)

// TestProvide holds when a credential stays and when a new one comes in its place.
func TestProvide(t *testing.T) {
	now := time.Now()
	a := authorityAt(t, func() time.Time { return now })
	provide := func(r Request) string {
		t.Helper()
		out, err := a.Provide(r)
		if err != nil {
			t.Fatal(err)
		}
		if inPlace, err := a.inPlace(out.Record); err != nil || !inPlace {
			t.Fatalf("the folder of %v does not hold %s: %v", r.Identity, out.Serial, err)
		}
		return out.Serial
	}
	both := Request{Identity: master, Hosts: []string{"localhost", "127.0.0.1"}, Lifetime: 90 * time.Hour}
	clients := Request{Identity: worker("worker"), Lifetime: 90 * time.Hour}
	for _, c := range []struct {
		name    string
		request Request
		change  func()
		anew    bool
	}{
		{"the first of its name", clients, func() {}, true},
		{"again", clients, func() {}, false},
		{"a master that is there", both, func() {}, false},
		{"hosts in another form", Request{Identity: master, Hosts: []string{"::ffff:127.0.0.1", "localhost",
			"localhost"}}, func() {}, false},
		{"another host", Request{Identity: master, Hosts: []string{"localhost", "farm"}}, func() {}, true},
		{"two thirds of the lifetime are over", clients, func() { now = now.Add(59 * time.Hour) }, false},
		{"and a little more", clients, func() { now = now.Add(2 * time.Hour) }, true},
		{"expired", clients, func() { now = now.Add(1000 * time.Hour) }, true},
		{"a file is gone", clients, func() { remove(t, a.ownerFolder(clients.Identity), identity.ClientFile) }, true},
		{"the authority's credential is gone", clients,
			func() { remove(t, a.ownerFolder(clients.Identity), identity.AuthorityFile) }, true},
		{"a file is damaged", clients,
			func() { write(t, "text", a.ownerFolder(clients.Identity), identity.ClientFile) }, true},
		{"revoked", clients, func() {
			if _, err := a.Revoke("worker"); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"in the end", clients, func() {}, false},
	} {
		before := placed(t, a, c.request.Identity)
		c.change()
		if got := provide(c.request); (got != before) != c.anew {
			t.Errorf("%s: credential %s after %s, want a new one: %t", c.name, got, before, c.anew)
		}
	}
	if _, err := a.Provide(Request{Identity: operator("worker")}); err == nil {
		t.Error("a name was given to two roles")
	}
	if _, err := a.Provide(Request{Identity: worker("W")}); err == nil {
		t.Error("a name with a capital letter was taken")
	}
}

// TestHandOver holds that what is handed over can be used, and follows a renewal.
func TestHandOver(t *testing.T) {
	a := authority(t)
	request := Request{Identity: worker("worker")}
	folder := filepath.Join(t.TempDir(), "volume")
	if err := a.HandOver(request.Identity, folder); err == nil {
		t.Error("what was never made was handed over")
	}
	for range 2 {
		issued := issue(t, a, request)
		for range 2 {
			if err := a.HandOver(request.Identity, folder); err != nil {
				t.Fatal(err)
			}
		}
		files, err := identity.Open(folder, identity.Worker)
		if err != nil {
			t.Fatal(err)
		}
		if got := serialText(files.Current().Certificate.Leaf.SerialNumber); got != issued.Serial {
			t.Errorf("credential %s was handed over, want %s", got, issued.Serial)
		}
		request.Renew = true
	}
	if info, err := os.Stat(filepath.Join(folder, identity.ClientFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key can be read by others: %v, %v", info, err)
	}
}

// placed returns the serial number of the credential of an identity that is in place, or nothing.
func placed(t *testing.T, a *Authority, id identity.Identity) string {
	t.Helper()
	list, err := a.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Identity != id {
			continue
		}
		if inPlace, err := a.inPlace(r); err != nil {
			t.Fatal(err)
		} else if inPlace {
			return r.Serial
		}
	}
	return ""
}

func remove(t *testing.T, folder, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, text, folder, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
