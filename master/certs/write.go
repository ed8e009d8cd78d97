package certs

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"amazonsfarm/shared/identity"
)

// writeFile puts data under a name, all of it or nothing: written beside it, brought to disk, renamed.
func writeFile(name string, data []byte, mode os.FileMode) (err error) {
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, ".new-*") // only the owner can read it
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, errors.Join(err, os.Remove(f.Name())))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err = os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncFolder(folder)
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
		return nil, fmt.Errorf("read a certificate: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != identity.PEMCertificate {
		return nil, fmt.Errorf("%w: %s is not a certificate", ErrDamaged, name)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return c, nil
}
