package identity

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// ServerTLS returns how a master secures connections now: TLS 1.3, the other side with a certificate of the authority that is
// neither expired nor revoked, has a role, and is for clients. Nothing of a connection is remembered for the next one, so each is checked.
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

// ClientTLS returns how a worker or an operator secures connections now: TLS 1.3, with a master whose certificate is
// of the authority and names the host that was asked for.
func (f *Files) ClientTLS() *tls.Config {
	m := f.Current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    m.Roots,
		// The certificate is presented to every master. One that does not know its authority can then say so.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if leaf := m.Certificate.Leaf; time.Now().After(leaf.NotAfter) {
				return nil, fmt.Errorf("%w: %s expired on %s", ErrFiles, f.own(), leaf.NotAfter.Format(time.DateTime))
			}
			return &m.Certificate, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errors.New("no certificate came")
			}
			id, err := Of(s.PeerCertificates[0])
			if err == nil && id.Role != Master {
				err = fmt.Errorf("%w: %v is not a master", ErrRole, id)
			}
			return err
		},
	}
}
