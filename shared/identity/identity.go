// Package identity says who is who in a cluster. It reads the role and the name in a credential,
// keeps the files of a program's own credential, and makes both ends of a connection check each
// other (TLS 1.3, a credential on both sides). A credential is an X.509 certificate of the cluster's
// own authority, with its private key.
//
// A credential carries one URI as subject alternative name, amazonsfarm://ROLE/NAME. The files of
// a folder are
//
//	ca.crt       the authority's certificate; several where one authority follows another
//	master.pem   credential of a master: certificate and private key
//	revoked.crl  the authority's list of revoked credentials (only in a master's folder)
//	client.pem   credential of a worker or an operator
//
// all of them PEM. Certificate and key are in one file, so that one rename replaces both. [Files]
// reads the folder again when it changes. Package master/credentials makes it.
//
// # What is compared
//
// A credential is taken only if all of this holds: an authority in ca.crt has signed it; it is in
// time; it is for this end of the connection (a master's for servers, all others for clients); it
// carries exactly one role and name; and the master's list of revoked credentials does not have it.
// A master looks at the list again while a connection lasts, since a stolen credential would
// otherwise be good for days.
package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Role says what the owner of a credential may do.
type Role string

// The roles. A credential has exactly one.
const (
	Master   Role = "master"   // serves a campaign
	Worker   Role = "worker"   // joins it and delivers results
	Operator Role = "operator" // asks for its status, explores, pauses, resumes and drains it
)

// Scheme is the scheme of the URI in a credential.
const Scheme = "amazonsfarm"

// MaxNameBytes is the length of the longest name. The name of a worker in the farm begins with the
// name in its credential and has at most 128 bytes.
const MaxNameBytes = 48

// goodName is what a name looks like, but for its length.
var goodName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// Errors about credentials. Every error about a presented credential wraps one of these or is an
// error of crypto/x509.
var (
	// ErrName means that a name cannot stand in a credential.
	ErrName = errors.New("not a name")
	// ErrNoIdentity means that a credential lacks a role and a name.
	ErrNoIdentity = errors.New("the credential names no role")
	// ErrRevoked means that a credential is on the revocation list.
	ErrRevoked = errors.New("the credential is revoked")
	// ErrRole means that a good credential has another role.
	ErrRole = errors.New("the credential is for another role")
)

// RejectedError names the owner of a refused credential. The authority has signed the credential, so
// the identity is right.
type RejectedError struct {
	Identity Identity
	Err      error
}

// Error names both.
func (e *RejectedError) Error() string { return fmt.Sprintf("%v: %v", e.Identity, e.Err) }

// Unwrap returns the reason.
func (e *RejectedError) Unwrap() error { return e.Err }

// Identity is the owner of a credential: role and name.
type Identity struct {
	Role Role   `json:"role"`
	Name string `json:"name"`
}

// String returns the role and the name, such as "worker w1".
func (id Identity) String() string { return string(id.Role) + " " + id.Name }

// URI returns the URI in the credential.
func (id Identity) URI() *url.URL {
	return &url.URL{Scheme: Scheme, Host: string(id.Role), Path: "/" + id.Name}
}

// CheckName returns an error that wraps ErrName unless name has 1 to MaxNameBytes characters, all
// of them small letters, digits, '.', '_' or '-', and begins with a letter or digit. So it can be a
// file's name everywhere and stand in a URI as it is.
func CheckName(name string) error {
	if !goodName.MatchString(name) || len(name) > MaxNameBytes {
		return fmt.Errorf("%w: %q: use 1 to %d small letters, digits, '.', '_' and '-', beginning with a "+
			"letter or digit", ErrName, name, MaxNameBytes)
	}
	return nil
}

// Of reads the identity in a credential. It does not check the signature. Errors wrap ErrNoIdentity.
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
