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

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: identity.PEMCertificate, Bytes: der})
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: identity.PEMKey, Bytes: der}), nil
}

func readCertificate(name string) (*x509.Certificate, error) {
	data, err := os.ReadFile(name)
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
