package credentials

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"

	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/identity"
)

// writeFile gives a file new content, whole and durable or not at all.
func writeFile(name string, data []byte, mode os.FileMode) error {
	err := disk.Replace(name, mode, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// certificatePEM writes a credential without its key, as text.
func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: identity.PEMCertificate, Bytes: der})
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
	data, err := disk.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read a credential: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != identity.PEMCertificate {
		return nil, fmt.Errorf("%w: %s is not a credential", ErrDamaged, name)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return c, nil
}
