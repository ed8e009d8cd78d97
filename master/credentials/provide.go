package credentials

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"amazonsfarm/shared/identity"
)

// Provide returns the credential of an identity if it is in place, names the requested hosts, and
// has a third of its lifetime left. Otherwise it makes one, as Issue with Request.Renew does. It is
// for starts without a person.
func (a *Authority) Provide(r Request) (Issued, error) {
	list, err := a.List()
	if err != nil {
		return Issued{}, err
	}
	for _, known := range list {
		if known.Identity != r.Identity || !known.lasts(a.now()) ||
			!slices.Equal(hostSet(known.Hosts), hostSet(r.Hosts)) {
			continue
		}
		inPlace, err := a.inPlace(known)
		if err != nil {
			return Issued{}, err
		}
		if inPlace {
			return Issued{Record: known, Folder: a.ownerFolder(known.Identity)}, nil
		}
	}
	r.Renew = true
	return a.Issue(r)
}

// HandOver copies the files of a worker or an operator to another folder, which it makes if it is
// missing.
func (a *Authority) HandOver(id identity.Identity, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make a folder to hand over: %w", err)
	}
	for name, mode := range map[string]os.FileMode{identity.AuthorityFile: 0o644, identity.ClientFile: 0o600} {
		data, err := os.ReadFile(filepath.Join(a.ownerFolder(id), name))
		if err != nil {
			return fmt.Errorf("hand over a credential: %w", err)
		}
		there := filepath.Join(folder, name)
		// A file that is right stays as it is, so that no program finds it changed and reads it again.
		if old, err := os.ReadFile(there); err == nil && bytes.Equal(old, data) {
			continue
		}
		if err := writeFile(there, data, mode); err != nil {
			return err
		}
	}
	return nil
}

// lasts reports whether a credential is good and has a third of its lifetime left.
func (r Record) lasts(now time.Time) bool {
	return r.Good(now) && r.NotAfter.Sub(now) >= r.NotAfter.Sub(r.NotBefore)/3
}

// inPlace reports whether the folder of a credential's owner holds that credential.
func (a *Authority) inPlace(r Record) (bool, error) {
	own := identity.ClientFile
	if r.Role == identity.Master {
		own = identity.MasterFile
	}
	for _, name := range []string{identity.AuthorityFile, own} {
		c, err := readCertificate(filepath.Join(a.ownerFolder(r.Identity), name))
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrDamaged):
			return false, nil
		case err != nil:
			return false, err
		case name == own && serialText(c.SerialNumber) != r.Serial, name != own && !c.Equal(a.cert):
			return false, nil
		}
	}
	return true, nil
}

// ownerFolder returns the folder that the owner of a credential needs: a master that of the authority, a worker
// or an operator one of its own, which is handed over.
func (a *Authority) ownerFolder(id identity.Identity) string {
	switch id.Role {
	case identity.Master:
		return a.folder
	case identity.Operator:
		return filepath.Join(a.folder, OperatorsFolder, id.Name)
	}
	return filepath.Join(a.folder, WorkersFolder, id.Name)
}

// hostSet returns each host once, in one form and order.
func hostSet(hosts []string) []string {
	var set []string
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			h = ip.String()
		}
		set = append(set, h)
	}
	slices.Sort(set)
	return slices.Compact(set)
}
