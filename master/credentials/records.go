package credentials

import (
	"cmp"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"amazonsfarm/shared/identity"
)

// Record is what the authority knows of a credential that it has made. All times are in UTC.
type Record struct {
	identity.Identity
	Serial    string    `json:"serial"` // hexadecimal digits
	Hosts     []string  `json:"hosts,omitempty"`
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	Revoked   time.Time `json:"revoked,omitzero"` // zero: it is not
}

// Good reports whether the credential is neither expired nor revoked.
func (r Record) Good(now time.Time) bool { return r.Revoked.IsZero() && !now.After(r.NotAfter) }

// State says in words whether the credential is good.
func (r Record) State(now time.Time) string {
	switch {
	case !r.Revoked.IsZero():
		return "revoked on " + r.Revoked.UTC().Format(time.DateOnly)
	case now.After(r.NotAfter):
		return "expired on " + r.NotAfter.UTC().Format(time.DateOnly)
	}
	return "good until " + r.NotAfter.UTC().Format(time.DateOnly)
}

// recordOf reads a record from the credential itself, so that there is no second list that could
// differ.
func recordOf(c *x509.Certificate, id identity.Identity) Record {
	r := Record{Identity: id, Serial: serialText(c.SerialNumber), NotBefore: c.NotBefore, NotAfter: c.NotAfter}
	r.Hosts = append(r.Hosts, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		r.Hosts = append(r.Hosts, ip.String())
	}
	return r
}

// serialText writes a serial number.
func serialText(n *big.Int) string { return hex.EncodeToString(n.Bytes()) }

// List returns the records of all credentials ever made, by name and then by age.
func (a *Authority) List() ([]Record, error) {
	folder := filepath.Join(a.folder, IssuedFolder)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	_, revoked, err := a.readRevoked()
	if err != nil {
		return nil, err
	}
	var list []Record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".crt") || strings.HasPrefix(e.Name(), ".") {
			continue // left by a crash while it was written
		}
		name := filepath.Join(folder, e.Name())
		c, err := readCertificate(name)
		if err != nil {
			return nil, err
		}
		id, err := identity.Of(c)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
		r := recordOf(c, id)
		for _, entry := range revoked {
			if entry.SerialNumber.Cmp(c.SerialNumber) == 0 {
				r.Revoked = entry.RevocationTime
			}
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y Record) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), x.NotBefore.Compare(y.NotBefore),
			strings.Compare(x.Serial, y.Serial))
	})
	return list, nil
}

// Hosts returns the hosts of the master's credential in the folder of an authority; nil where there is none.
func Hosts(folder string) []string {
	c, err := readCertificate(filepath.Join(folder, identity.MasterFile))
	if err != nil {
		return nil
	}
	return recordOf(c, identity.Identity{}).Hosts
}

// Revoke puts all good credentials of a name, or the credential with a serial number, on the
// revocation list, and returns them. A master refuses them from its next reading of the list.
// Errors: ErrUnknown.
func (a *Authority) Revoke(nameOrSerial string) ([]Record, error) {
	list, err := a.List()
	if err != nil {
		return nil, err
	}
	now := a.now().UTC()
	var chosen []Record
	known := ""
	for _, r := range list {
		if r.Name != nameOrSerial && !strings.EqualFold(r.Serial, nameOrSerial) {
			continue
		}
		if r.Good(now) {
			r.Revoked = now
			chosen = append(chosen, r)
		} else {
			known = fmt.Sprintf("; %s of %v is %s", r.Serial, r.Identity, r.State(now))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: no valid credential has the name or serial number %q%s", ErrUnknown, nameOrSerial,
			known)
	}
	// The list is written anew with all entries so far: one that was left out would be good again.
	number, entries, err := a.readRevoked()
	if err != nil {
		return nil, err
	}
	for _, r := range chosen {
		serial, ok := new(big.Int).SetString(r.Serial, 16)
		if !ok {
			return nil, fmt.Errorf("%w: serial number %q", ErrDamaged, r.Serial)
		}
		entries = append(entries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: now})
	}
	if err := a.writeRevoked(entries, number.Add(number, big.NewInt(1))); err != nil {
		return nil, err
	}
	return chosen, nil
}

// readRevoked returns the number and the entries of the revocation list.
// It verifies the signature. Otherwise Revoke would sign the entries of a forged list, or the lack of some.
func (a *Authority) readRevoked() (*big.Int, []x509.RevocationListEntry, error) {
	name := filepath.Join(a.folder, identity.RevokedFile)
	list, err := readPEM(name, "the revocation list", identity.PEMRevoked, "a revocation list",
		x509.ParseRevocationList)
	if err == nil {
		if err = list.CheckSignatureFrom(a.cert); err == nil && list.Number == nil {
			err = errors.New("it has no number")
		}
		if err != nil {
			err = fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
		}
	}
	if err != nil { // nobody else knows what was revoked
		return nil, nil, fmt.Errorf("%w; put back a copy of it, or make a new authority in another folder", err)
	}
	return list.Number, list.RevokedCertificateEntries, nil
}

// writeRevoked replaces the revocation list. The list is good as long as the authority: nobody would
// renew it in time, and an outdated list would stop the cluster. A master refuses a list with a
// smaller number than the one in use.
func (a *Authority) writeRevoked(entries []x509.RevocationListEntry, number *big.Int) error {
	template := &x509.RevocationList{Number: number, ThisUpdate: a.now(), NextUpdate: a.cert.NotAfter,
		RevokedCertificateEntries: entries}
	der, err := x509.CreateRevocationList(rand.Reader, template, a.cert, a.key)
	if err != nil {
		return fmt.Errorf("sign the revocation list: %w", err)
	}
	return writeFile(filepath.Join(a.folder, identity.RevokedFile),
		pem.EncodeToMemory(&pem.Block{Type: identity.PEMRevoked, Bytes: der}), 0o644)
}
