package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// ServerTLS returns how a master secures connections now. It asks for TLS 1.3 and for a client's
// credential of the authority, with a role, neither expired nor revoked. Connections share no
// session, so each one is checked.
func (f *Files) ServerTLS() *tls.Config {
	m := f.Current()
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{m.Certificate},
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ClientCAs:              m.Roots,
		SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			leaf := s.PeerCertificates[0]
			id, err := Of(leaf)
			if err == nil && m.Revoked(leaf) {
				err = &RejectedError{id, ErrRevoked}
			}
			return err
		},
	}
}

// PagesTLS returns how a master secures the connections of browsers: TLS 1.3, with the current files
// for each new connection. A browser may come without a credential. A shown credential is checked as
// in ServerTLS; Judge says later whether it is still good.
func (f *Files) PagesTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := f.ServerTLS()
			c.ClientAuth = tls.VerifyClientCertIfGiven
			c.NextProtos = []string{"http/1.1"}
			verify := c.VerifyConnection
			c.VerifyConnection = func(s tls.ConnectionState) error {
				if len(s.PeerCertificates) == 0 {
					return nil
				}
				return verify(s)
			}
			return c, nil
		},
	}
}

// Judge returns the owner of the credential of an older connection. The error says why the
// credential is not good now: missing, expired, revoked, or of an unknown authority.
func (f *Files) Judge(s *tls.ConnectionState) (Identity, error) {
	if len(s.PeerCertificates) == 0 {
		return Identity{}, errors.New("no credential came")
	}
	leaf := s.PeerCertificates[0]
	id, err := Of(leaf)
	if err != nil {
		return Identity{}, err
	}
	m := f.Current()
	if m.Revoked(leaf) {
		return Identity{}, &RejectedError{id, ErrRevoked}
	}
	if err := m.VerifyClient(s.PeerCertificates); err != nil {
		return Identity{}, &RejectedError{id, err}
	}
	return id, nil
}

// VerifyClient returns nil if an authority has signed a client's credential, which comes first in its chain, and it is
// in time. It does not look whether the credential is revoked.
func (m *Material) VerifyClient(chain []*x509.Certificate) error {
	options := x509.VerifyOptions{Roots: m.Roots, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	_, err := chain[0].Verify(options)
	return err
}

// ClientTLS returns how a worker or an operator secures connections now: TLS 1.3. The master's
// credential must be of the authority and name the dialled host.
func (f *Files) ClientTLS() *tls.Config {
	m := f.Current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    m.Roots,
		// The client shows its credential to every master. A master that does not know the authority
		// can then say so.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &m.Certificate, f.dated(m, time.Now())
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("no credential came")
			}
			id, err := Of(s.PeerCertificates[0])
			if err == nil && id.Role != Master {
				err = fmt.Errorf("%w: %v is not a master", ErrRole, id)
			}
			return err
		},
	}
}
