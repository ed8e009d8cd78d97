package identity

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"amazonsfarm/shared/disk"
)

// Names of the files in a folder.
const (
	AuthorityFile = "ca.crt"
	MasterFile    = "master.pem"
	ClientFile    = "client.pem"
	RevokedFile   = "revoked.crl"
)

// PEM types.
const (
	PEMCertificate = "CERTIFICATE"
	PEMKey         = "PRIVATE KEY"
	PEMRevoked     = "X509 CRL"
)

// maxFileBytes bounds each file. A revocation list of a hundred thousand credentials is smaller.
const maxFileBytes = 8 << 20

// ErrFiles means that files of a folder are missing, damaged, expired, or do not fit each other.
var ErrFiles = errors.New("bad folder of credentials")

// Material is the content of a folder at one moment. It does not change.
type Material struct {
	Identity    Identity
	Certificate tls.Certificate // the program's own credential; Leaf is set
	Roots       *x509.CertPool  // the authorities
	Revision    uint64          // numbers the good contents, from 1

	revoked map[string]bool     // serial numbers
	numbers map[string]*big.Int // of the revocation lists, by authority
}

// Revoked reports whether a credential is on the revocation list.
func (m *Material) Revoked(c *x509.Certificate) bool { return m.revoked[c.SerialNumber.String()] }

// Files is a folder of credentials. Reload reads it again. Methods may be called at the same time.
type Files struct {
	folder  string
	role    Role // Master: the folder of a master; otherwise of a worker or an operator
	current atomic.Pointer[Material]

	mu    sync.Mutex
	seen  [sha256.Size]byte // digest of what was read last, good or not
	again time.Time         // the credential read last is good from then on; zero: it is, or never will be
}

// Open reads the folder of a program with a role for the first time. Errors wrap ErrFiles, and ErrRole as well if the
// credential is for another role. Here an expired credential is an error, because a program that starts with one would
// be refused by everybody. One that is not good yet is none: the clock of a machine may be set after its programs have
// started. A credential that expires while the program runs is none either: a new one may come into the folder at any
// time.
func Open(folder string, role Role) (*Files, error) {
	f := &Files{folder: folder, role: role}
	if _, err := f.Reload(); err != nil {
		return nil, err
	}
	if time.Now().After(f.Current().Certificate.Leaf.NotAfter) {
		return nil, f.Dated()
	}
	return f, nil
}

// Dated returns an error if the program's own credential has expired, or is not good yet. It wraps ErrFiles.
func (f *Files) Dated() error { return f.dated(f.Current(), time.Now()) }

// dated is Dated for a content at a moment.
func (f *Files) dated(m *Material, now time.Time) error {
	switch leaf := m.Certificate.Leaf; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("%w: %s expired on %s", ErrFiles, f.own(), leaf.NotAfter.Format(time.DateTime))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("%w: %s is good from %s on, and here it is %s: see whether the clock is right", ErrFiles,
			f.own(), leaf.NotBefore.Format(time.DateTime), now.UTC().Format(time.DateTime))
	}
	return nil
}

// hint names the command that makes the folder.
func (f *Files) hint() string {
	if f.role == Master {
		return `a master's folder is made by "master certs init"`
	}
	return fmt.Sprintf(`the folder for the role %s is made by "master certs %s NAME"`, f.role, f.role)
}

// own returns the path of the program's own credential.
func (f *Files) own() string {
	if f.role == Master {
		return filepath.Join(f.folder, MasterFile)
	}
	return filepath.Join(f.folder, ClientFile)
}

// Current returns the last good content of the folder.
func (f *Files) Current() *Material { return f.current.Load() }

// Reload reads the folder. It reports whether the content is new and good; Current then returns it.
// New content that is not good is an error, once, and Current stays as it was. If only the program's own credential has
// expired, or is not good yet, and the one before is good, that is an error as well: the one before stays, and the rest
// is taken. Errors wrap ErrFiles.
func (f *Files) Reload() (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := []string{filepath.Join(f.folder, AuthorityFile), f.own()}
	if f.role == Master {
		names = append(names, filepath.Join(f.folder, RevokedFile))
	}
	contents := make([][]byte, len(names))
	hash := sha256.New()
	var missing error
	for i, name := range names {
		data, err := ReadFile(name)
		missing = cmp.Or(missing, err)
		contents[i] = data
		fmt.Fprintf(hash, "%d %v\n", len(data), err)
		hash.Write(data)
	}
	// Errors of reading are part of the digest: a folder that stays broken is reported once, and a
	// folder that is mended is read.
	digest := [sha256.Size]byte(hash.Sum(nil))
	now := time.Now()
	if digest == f.seen && (f.again.IsZero() || now.Before(f.again)) {
		return false, nil
	}
	f.seen, f.again = digest, time.Time{}
	if errors.Is(missing, fs.ErrPermission) {
		return false, fmt.Errorf("%w: %w; the user who runs this program has to read the folder", ErrFiles, missing)
	} else if missing != nil {
		return false, fmt.Errorf("%w: %w; %s", ErrFiles, missing, f.hint())
	}
	m, err := f.parse(names, contents)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	m.Revision = 1
	if old := f.Current(); old != nil {
		// A list with a smaller number is an old one, perhaps put back by somebody whose credential
		// the newer one revokes.
		for authority, number := range m.numbers {
			if before := old.numbers[authority]; before != nil && number.Cmp(before) < 0 {
				return false, fmt.Errorf("%w: %s has the number %v and is older than number %v, which is in use",
					ErrFiles, names[2], number, before)
			}
		}
		if f.dated(old, now) == nil {
			err = f.dated(m, now)
		}
		if err != nil {
			if from := m.Certificate.Leaf.NotBefore; now.Before(from) {
				f.again = from
			}
			m.Identity, m.Certificate = old.Identity, old.Certificate
		}
		m.Revision = old.Revision + 1
	}
	f.current.Store(m)
	return true, err
}

// ReadFile reads a file with a credential or a list. Of a wrong path to something huge it reads little.
// Errors: those of disk.Open, and one that the file is too large.
func ReadFile(name string) ([]byte, error) {
	f, err := disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if len(data) > maxFileBytes {
		err = fmt.Errorf("%s is too large: at most %d bytes are read", name, maxFileBytes)
	}
	return data, err
}

// parse makes Material of the contents of a folder, in the order in which they rest on each other:
// the authorities, the program's own credential that one of them has signed, and for a master what
// they have revoked. names are for the errors.
func (f *Files) parse(names []string, contents [][]byte) (*Material, error) {
	m := &Material{Roots: x509.NewCertPool(), revoked: map[string]bool{}, numbers: map[string]*big.Int{}}
	authorities, err := authorities(names[0], contents[0])
	if err != nil {
		return nil, err
	}
	for _, c := range authorities {
		m.Roots.AddCert(c)
	}
	if m.Certificate, err = tls.X509KeyPair(contents[1], contents[1]); err != nil {
		return nil, fmt.Errorf("%s: %w; copy the folder again, whole", names[1], err)
	}
	leaf := m.Certificate.Leaf
	if m.Identity, err = Of(leaf); err != nil {
		return nil, fmt.Errorf("%s: %w", names[1], err)
	}
	if m.Identity.Role != f.role {
		return nil, fmt.Errorf("%w: %s is for %v, here the role %s is needed", ErrRole, names[1], m.Identity, f.role)
	}
	// An expired credential is not damaged: Open and ClientTLS refuse it with the date.
	_, err = leaf.Verify(x509.VerifyOptions{Roots: m.Roots, CurrentTime: leaf.NotAfter,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	if err != nil {
		return nil, fmt.Errorf("%s is not signed by %s; copy the folder again, whole", names[1], names[0])
	}
	if f.role == Master {
		if err := m.readRevoked(contents[2], authorities); err != nil {
			return nil, fmt.Errorf("%s: %w", names[2], err)
		}
	}
	return m, nil
}

// authorities reads the credentials of all authorities in a file. There are several while one
// follows another: then credentials of both are good.
func authorities(name string, data []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	err := blocks(data, PEMCertificate, func(der []byte) error {
		c, err := x509.ParseCertificate(der)
		if err == nil && !c.IsCA {
			err = errors.New("not the credential of an authority")
		}
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w; copy the folder again, whole", name, err)
	}
	return list, nil
}

// readRevoked reads the revocation lists: one of each authority, with its signature.
func (m *Material) readRevoked(data []byte, authorities []*x509.Certificate) error {
	err := blocks(data, PEMRevoked, func(der []byte) error {
		list, err := x509.ParseRevocationList(der)
		if err != nil {
			return err
		}
		if list.Number == nil {
			return errors.New("the list has no number")
		}
		for _, c := range authorities {
			if err = list.CheckSignatureFrom(c); err != nil {
				continue
			}
			m.numbers[string(c.SubjectKeyId)] = list.Number
			for _, e := range list.RevokedCertificateEntries {
				m.revoked[e.SerialNumber.String()] = true
			}
			return nil
		}
		return fmt.Errorf("no authority of %s has signed this list: %w", AuthorityFile, err)
	})
	if err == nil && len(m.numbers) < len(authorities) {
		err = fmt.Errorf("it lacks the list of an authority of %s", AuthorityFile)
	}
	return err
}

// blocks calls take for each block of a PEM file. The file has at least one, and all are of one kind.
func blocks(data []byte, kind string, take func(der []byte) error) error {
	n := 0
	for len(bytes.TrimSpace(data)) > 0 {
		var b *pem.Block
		if b, data = pem.Decode(data); b == nil || b.Type != kind {
			return fmt.Errorf("not a PEM file of blocks %q", kind)
		}
		if err := take(b.Bytes); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return fmt.Errorf("no PEM block %q", kind)
	}
	return nil
}
