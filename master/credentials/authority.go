// Package credentials is the certificate authority of a cluster. It makes the credentials of
// masters, workers and operators, keeps a record of each, and revokes them. A credential is an
// X.509 certificate with its private key. Package shared/identity reads and checks credentials.
//
// [Init] makes an authority in a folder and [Open] opens it. [Authority.Issue] makes a credential,
// [Authority.Provide] makes it only where it is missing, [Authority.List] and [Authority.Revoke]
// are for operators. A folder holds, beside the files that a master needs (see identity),
//
//	ca.key             the authority's private key
//	issued/SERIAL.crt  every credential ever made, without its key
//	workers/NAME/      ca.crt and client.pem of a worker: what is handed to it
//	operators/NAME/    the same of an operator
//
// Everybody with ca.key can make credentials. A master does not need it: the folder that it serves
// from may lack ca.key, issued, workers and operators. Only the owner can read files with keys. Each
// file is on disk before it gets its name.
//
// # What a crash leaves
//
// The order of writing decides what a crash can leave behind. When an authority is made its key
// comes last: a folder with a key has everything else. When a credential is made, its record in
// issued comes first: a credential that nobody got can be listed and revoked, while one without a
// record could not. Files are replaced whole (package disk), so no reader ever sees half of one.
package credentials

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/identity"
)

// Names in a folder, beside those of identity.
const (
	KeyFile         = "ca.key"
	IssuedFolder    = "issued"
	WorkersFolder   = "workers"
	OperatorsFolder = "operators"
)

// Default lifetimes.
const (
	DefaultAuthorityLifetime = 10 * 365 * 24 * time.Hour
	DefaultLifetime          = 365 * 24 * time.Hour
)

// skew is how far in the past the validity of a credential begins, for machines whose clocks are late.
const skew = 5 * time.Minute

// lockPatience is how long a command waits for another one that has the folder open. Signing takes
// milliseconds.
const lockPatience = 10 * time.Second

// Errors of this package.
var (
	// ErrMissing means that a folder holds no authority.
	ErrMissing = errors.New("no certificate authority")
	// ErrExists means that the authority or the name exists already.
	ErrExists = errors.New("already there")
	// ErrRequest means that the request makes no sense.
	ErrRequest = errors.New("no credential can be made like this")
	// ErrUnknown means that no good credential has the name or serial number.
	ErrUnknown = errors.New("no such credential")
	// ErrDamaged means that a file of the authority has another content than its name says.
	ErrDamaged = errors.New("damaged")
)

// Authority is an open certificate authority. It holds a lock on its folder until Close.
type Authority struct {
	folder string
	now    func() time.Time
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	lock   *os.File
}

// Options are for Init and Open. The zero value is usable.
type Options struct {
	// Lifetime is the lifetime of a new authority. Default ten years. All credentials of the
	// authority end with it.
	Lifetime time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// complete fills in defaults.
func (o *Options) complete() {
	o.Lifetime = cmp.Or(o.Lifetime, DefaultAuthorityLifetime)
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Init makes an authority in a folder, with an empty revocation list. It makes the folder if it is
// missing. It leaves files of another authority alone: ErrExists names one.
func Init(folder string, o Options) (*Authority, error) {
	o.complete()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of an authority: %w", err)
	}
	for _, name := range []string{KeyFile, identity.AuthorityFile, identity.RevokedFile, identity.MasterFile,
		IssuedFolder, WorkersFolder, OperatorsFolder} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return nil, fmt.Errorf("%w: %s; nothing was changed", ErrExists, filepath.Join(folder, name))
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	now := o.Now()
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "amazonsfarm authority " + now.UTC().Format("2006-01-02")},
		NotBefore: now.Add(-skew), NotAfter: now.Add(o.Lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	cert, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority's credential: %w", err)
	}
	a := &Authority{folder: folder, now: o.Now, cert: cert, key: key}
	// An empty list is written at once. Without any list a master could not tell "nothing is
	// revoked" from "the list is lost", and would refuse to start.
	if err := a.writeRevoked(nil, big.NewInt(1)); err != nil {
		return nil, err
	}
	private, err := keyPEM(key)
	if err != nil {
		return nil, err
	}
	// The key comes last: with it, the authority is complete.
	if err := writeFile(filepath.Join(folder, identity.AuthorityFile), certificatePEM(cert), 0o644); err != nil {
		return nil, err
	}
	if err := writeFile(filepath.Join(folder, KeyFile), private, 0o600); err != nil {
		return nil, err
	}
	return a, a.takeLock()
}

// Open opens the authority in a folder. It waits ten seconds for other commands to close it.
func Open(folder string, o Options) (*Authority, error) {
	o.complete()
	a := &Authority{folder: folder, now: o.Now}
	if err := a.takeLock(); err != nil {
		return nil, err
	}
	if err := a.read(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// read reads the authority's own credential and its key, and holds one against the other: signing
// with the key of another authority would make credentials that nobody takes.
func (a *Authority) read() error {
	var err error
	if a.cert, err = readCertificate(filepath.Join(a.folder, identity.AuthorityFile)); err != nil {
		return err
	}
	name := filepath.Join(a.folder, KeyFile)
	parsed, err := readPEM(name, "the authority's key", identity.PEMKey, "a private key", x509.ParsePKCS8PrivateKey)
	if err != nil {
		return err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || !key.PublicKey.Equal(a.cert.PublicKey) {
		return fmt.Errorf("%w: %s is not the key of %s", ErrDamaged, name, identity.AuthorityFile)
	}
	a.key = key
	return nil
}

// takeLock locks the file of the authority's key.
// This file is written once and never replaced. So all commands lock the same file, which the revocation
// list, replaced at each change, would not be.
func (a *Authority) takeLock() error {
	f, err := disk.Open(filepath.Join(a.folder, KeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf(`%w in %s; make one with "master certs init --dir %s"`, ErrMissing, a.folder, a.folder)
	} else if err != nil {
		return fmt.Errorf("open the authority's key: %w", err)
	}
	if err := disk.Lock(f, true, lockPatience); err != nil {
		return errors.Join(fmt.Errorf("lock the authority: %w", err), f.Close())
	}
	a.lock = f
	return nil
}

// Close lets others in.
func (a *Authority) Close() error { return a.lock.Close() }

// NotAfter returns when the authority ends.
func (a *Authority) NotAfter() time.Time { return a.cert.NotAfter }

// Request asks for a credential.
type Request struct {
	Identity identity.Identity
	// Hosts are the names and IP addresses under which others reach the master. A master has at
	// least one, workers and operators none.
	Hosts []string
	// Lifetime is how long the credential is good. Default one year; it ends with the authority at
	// the latest. Short: more renewals. Long: a stolen credential that nobody revokes is good for
	// long.
	Lifetime time.Duration
	// Renew allows a credential for the same identity to exist, and replaces its files. The old
	// credential stays good until it expires or is revoked.
	Renew bool
}

// Check returns an error that wraps ErrRequest if the request makes no sense.
func (r Request) Check() error {
	if err := identity.CheckName(r.Identity.Name); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	switch {
	case r.Lifetime != 0 && r.Lifetime < time.Second:
		return fmt.Errorf("%w: a lifetime of %v", ErrRequest, r.Lifetime)
	case r.Identity.Role == identity.Master && len(r.Hosts) == 0:
		return fmt.Errorf("%w: a master's credential names the hosts under which it is reached", ErrRequest)
	case r.Identity.Role != identity.Master && len(r.Hosts) > 0:
		return fmt.Errorf("%w: only a master's credential names hosts", ErrRequest)
	}
	for _, h := range r.Hosts {
		if net.ParseIP(h) == nil && (len(h) > 253 || !hostName.MatchString(h)) {
			return fmt.Errorf("%w: %q is not a host name or an IP address", ErrRequest, h)
		}
	}
	return nil
}

// hostName is what can stand in a credential as a DNS name. One whose last part is a number is a mistyped IP address.
var hostName = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_-]*\.)*([0-9]+-|[0-9]*[A-Za-z_])[A-Za-z0-9_-]*\.?$`)

// Issued is a new credential.
type Issued struct {
	Record
	// Folder is for its owner: the master's own, or the one that is handed over.
	Folder string `json:"folder,omitempty"`
}

// Issue makes a credential. A name belongs to one role. ErrExists says that another role has the
// name, or that the same role has it and Request.Renew is not set.
func (a *Authority) Issue(r Request) (Issued, error) {
	if err := r.Check(); err != nil {
		return Issued{}, err
	}
	r.Lifetime = cmp.Or(r.Lifetime, DefaultLifetime)
	now := a.now()
	if !now.Before(a.cert.NotAfter) {
		return Issued{}, fmt.Errorf("%w: the authority expired on %s; make a new one in another folder", ErrRequest,
			a.cert.NotAfter.Format(time.DateOnly))
	}
	if err := a.nameIsFree(r); err != nil {
		return Issued{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Issued{}, fmt.Errorf("make a key: %w", err)
	}
	// identity.Of reads name and role from the URI; the subject is for people. No serial number is
	// given, so x509 draws one at random.
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: r.Identity.Name, OrganizationalUnit: []string{string(r.Identity.Role)}},
		NotBefore: now.Add(-skew),
		// No credential may outlive the authority.
		NotAfter: slices.MinFunc([]time.Time{now.Add(r.Lifetime), a.cert.NotAfter}, time.Time.Compare),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		URIs:        []*url.URL{r.Identity.URI()},
	}
	if r.Identity.Role == identity.Master {
		template.ExtKeyUsage[0] = x509.ExtKeyUsageServerAuth
		for _, h := range r.Hosts {
			if ip := net.ParseIP(h); ip != nil {
				template.IPAddresses = append(template.IPAddresses, ip)
			} else {
				template.DNSNames = append(template.DNSNames, h)
			}
		}
	}
	cert, err := sign(template, a.cert, key, a.key)
	if err != nil {
		return Issued{}, fmt.Errorf("sign a credential: %w", err)
	}
	private, err := keyPEM(key)
	if err != nil {
		return Issued{}, err
	}
	out := Issued{Record: recordOf(cert, r.Identity)}
	// The record comes first, so that every credential is listed and can be revoked.
	issued := filepath.Join(a.folder, IssuedFolder)
	if err := os.MkdirAll(issued, 0o700); err != nil {
		return Issued{}, fmt.Errorf("keep a record: %w", err)
	}
	if err := writeFile(filepath.Join(issued, out.Serial+".crt"), certificatePEM(cert), 0o644); err != nil {
		return Issued{}, err
	}
	out.Folder = a.ownerFolder(r.Identity)
	both := append(certificatePEM(cert), private...)
	if r.Identity.Role == identity.Master {
		return out, writeFile(filepath.Join(out.Folder, identity.MasterFile), both, 0o600)
	}
	if err := os.MkdirAll(out.Folder, 0o700); err != nil {
		return Issued{}, fmt.Errorf("make a folder to hand over: %w", err)
	}
	if err := writeFile(filepath.Join(out.Folder, identity.AuthorityFile), certificatePEM(a.cert), 0o644); err != nil {
		return Issued{}, err
	}
	return out, writeFile(filepath.Join(out.Folder, identity.ClientFile), both, 0o600)
}

// nameIsFree refuses a name that another role has had, for ever: who reads a log has to know from
// the name alone what it was. A name with the same role needs Request.Renew.
func (a *Authority) nameIsFree(r Request) error {
	list, err := a.List()
	if err != nil {
		return err
	}
	for _, known := range list {
		if known.Name != r.Identity.Name {
			continue
		}
		if known.Role != r.Identity.Role {
			return fmt.Errorf("%w: the name %s, with the role %s; take another name", ErrExists, known.Name, known.Role)
		}
		if !r.Renew {
			return fmt.Errorf("%w: %v has credential %s, %s; --renew makes a new one in its place", ErrExists,
				r.Identity, known.Serial, known.State(a.now()))
		}
	}
	return nil
}
