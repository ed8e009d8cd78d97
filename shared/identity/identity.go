// Package identity says who is who in a cluster, by certificates of its own certificate authority:
// which role a certificate gives and to whom, in which files a program finds its own, and how both
// ends of a connection check each other (TLS 1.3, both sides with a certificate).
//
// A certificate carries one URI as subject alternative name, amazonsfarm://ROLE/NAME. The files of
// a folder are
//
//	ca.crt       the authority's certificate; several where one authority follows another
//	master.pem   certificate and private key of a master
//	revoked.crl  what the authority has revoked (a master's folder only)
//	client.pem   certificate and private key of a worker or an operator
//
// all of them PEM. Certificate and key are in one file so that one rename replaces both. [Files]
// reads them again when they change. Package master/credentials makes them.
package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Role is what a certificate entitles to.
type Role string

// The roles. A certificate has exactly one.
const (
	Master   Role = "master"   // serves a campaign
	Worker   Role = "worker"   // joins it and delivers results
	Operator Role = "operator" // asks for its status, explores, pauses, resumes and drains it
)

// Scheme is that of the URI in a certificate.
const Scheme = "amazonsfarm"

// MaxNameBytes is the length of the longest name. A worker's name in the farm is at most 128 bytes
// and begins with it.
const MaxNameBytes = 48

// Errors about certificates. Whatever is wrong with one that was presented wraps one of them or is
// an error of crypto/x509.
var (
	// ErrName says that a name cannot stand in a certificate.
	ErrName = errors.New("not a name")
	// ErrNoIdentity says that a certificate does not carry one role and name.
	ErrNoIdentity = errors.New("the certificate names no role")
	// ErrRevoked says that a certificate is on the revocation list.
	ErrRevoked = errors.New("the certificate is revoked")
	// ErrRole says that a certificate is good but for another role.
	ErrRole = errors.New("the certificate is for another role")
)

// RejectedError says whose certificate was refused when a connection was made. The certificate is
// of the authority, so the identity is right.
type RejectedError struct {
	Identity Identity
	Err      error
}

// Error names both.
func (e *RejectedError) Error() string { return fmt.Sprintf("%v: %v", e.Identity, e.Err) }

// Unwrap returns the reason.
func (e *RejectedError) Unwrap() error { return e.Err }

// Identity is who a certificate is for.
type Identity struct {
	Role Role
	Name string
}

// String returns the role and the name, such as "worker w1".
func (id Identity) String() string { return string(id.Role) + " " + id.Name }

// URI returns what the certificate carries.
func (id Identity) URI() *url.URL {
	return &url.URL{Scheme: Scheme, Host: string(id.Role), Path: "/" + id.Name}
}

// CheckName returns an error that wraps ErrName unless name has 1 to MaxNameBytes characters, all
// of them small letters, digits, '.', '_' or '-', and begins with a letter or digit. So it can be a
// file's name everywhere and stand in a URI as it is.
func CheckName(name string) error {
	plain := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	good := len(name) >= 1 && len(name) <= MaxNameBytes && plain(name[0])
	for i := 0; good && i < len(name); i++ {
		good = plain(name[i]) || strings.IndexByte("._-", name[i]) >= 0
	}
	if !good {
		return fmt.Errorf("%w: %q: use 1 to %d small letters, digits, '.', '_' and '-', beginning with a letter or digit", ErrName, name, MaxNameBytes)
	}
	return nil
}

// Of reads who a certificate is for. It does not check who signed it. Errors wrap ErrNoIdentity.
func Of(c *x509.Certificate) (Identity, error) {
	if len(c.URIs) != 1 {
		return Identity{}, fmt.Errorf("%w: it has %d URIs instead of one", ErrNoIdentity, len(c.URIs))
	}
	u := c.URIs[0]
	id := Identity{Role: Role(u.Host), Name: strings.TrimPrefix(u.Path, "/")}
	known := id.Role == Master || id.Role == Worker || id.Role == Operator
	if !known || CheckName(id.Name) != nil || u.String() != id.URI().String() {
		return Identity{}, fmt.Errorf("%w: its URI is %q", ErrNoIdentity, u)
	}
	return id, nil
}
