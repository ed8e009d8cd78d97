package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// ServerTLS returns how a master secures connections now: TLS 1.3, the other side with a
// certificate of the authority that is neither expired nor revoked, has a role, and is for clients.
// Nothing of a connection is remembered for the next one, so each is checked.
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

// PagesTLS returns how a master secures the connections of browsers: TLS 1.3, each with the files
// as they are when it is made. The other side may do without a certificate; one that it shows is
// checked as in ServerTLS, and has to be judged with Judge whenever it matters.
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

// Judge returns whose certificate came with a connection that was made some time ago. The error
// says why it is not good now: it expired, was revoked, its authority is not known any more, or
// there is none.
func (f *Files) Judge(s *tls.ConnectionState) (Identity, error) {
	if len(s.PeerCertificates) == 0 {
		return Identity{}, errors.New("no certificate came")
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
	options := x509.VerifyOptions{Roots: m.Roots, Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range s.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(options); err != nil {
		return Identity{}, &RejectedError{id, err}
	}
	return id, nil
}

// ClientTLS returns how a worker or an operator secures connections now: TLS 1.3, with a master
// whose certificate is of the authority and names the host that was asked for.
func (f *Files) ClientTLS() *tls.Config {
	m := f.Current()
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		RootCAs:    m.Roots,
		// The certificate is presented to every master. One that does not know its authority can
		// then say so.
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
