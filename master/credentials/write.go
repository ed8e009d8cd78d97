package credentials

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/identity"
)

// writeFile gives a file new content, whole and durable or not at all.
func writeFile(name string, data []byte, mode os.FileMode) error {
	if err := disk.ReplaceFrom(name, mode, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// sign makes a credential with a key of its own, in the name of a parent and with the key of that one.
func sign(template, parent *x509.Certificate, own, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, own.Public(), by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// certificatePEM writes a credential without its key, as text.
func certificatePEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: identity.PEMCertificate, Bytes: c.Raw})
}

// keyPEM writes a private key as text. Whoever writes it to a file gives the file the mode 0600.
func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: identity.PEMKey, Bytes: der}), nil
}

// readCertificate reads the first credential of a file. A file of something else is ErrDamaged; one
// that is not there keeps the error of the file system, which Provide tells apart.
func readCertificate(name string) (*x509.Certificate, error) {
	return readPEM(name, "a credential", identity.PEMCertificate, "a credential", x509.ParseCertificate)
}

// readPEM reads the first block of a file, which has to be of a kind. what and is name it in errors: what is read, and
// what the file is to be. Errors: ErrDamaged, those of the file system.
func readPEM[T any](name, what, kind, is string, parse func([]byte) (T, error)) (t T, err error) {
	data, err := identity.ReadFile(name)
	if err != nil {
		return t, fmt.Errorf("read %s: %w", what, err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != kind {
		return t, fmt.Errorf("%w: %s is not %s", ErrDamaged, name, is)
	}
	if t, err = parse(block.Bytes); err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return t, err
}
