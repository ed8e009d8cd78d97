package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"

	"amazonsfarm/shared/identity"
)

// tlsInfo is what gRPC wants to know of a secured connection.
type tlsInfo = credentials.TLSInfo

// guardedCredentials make the connections of a server: with the files as they are at that moment.
type guardedCredentials struct {
	credentials.TransportCredentials
	guard *Guard
}

// Credentials returns the transport of a guarded server.
func (g *Guard) Credentials() credentials.TransportCredentials {
	return guardedCredentials{credentials.NewTLS(g.files.ServerTLS()), g}
}

// ServerHandshake makes a connection or refuses it.
func (c guardedCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	g := c.guard
	conn := &guardedConn{Conn: raw}
	// Read before the handshake: if the files change during it, judge compares anew.
	revision := g.files.Current().Revision
	secured, info, err := credentials.NewTLS(g.files.ServerTLS()).ServerHandshake(conn)
	if err != nil {
		reason, who := handshakeReason(err)
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) { // somebody looked whether the port is open
			g.refused.WithLabelValues(reason).Inc()
			g.log.Debug("no handshake", "address", raw.RemoteAddr().String(), "error", err)
		} else {
			g.refuse(reason, who, raw.RemoteAddr().String(), err)
		}
		linger(raw)
		return nil, nil, err
	}
	state := info.(tlsInfo).State
	p := &caller{tlsInfo: info.(tlsInfo), guard: g, leaf: state.PeerCertificates[0], chain: state.PeerCertificates,
		conn: conn, calls: map[*guardedCall]struct{}{}}
	if p.identity, err = identity.Of(p.leaf); err != nil {
		return nil, nil, errors.Join(err, raw.Close()) // it was looked at in the handshake
	}
	p.revision.Store(revision)
	if v := visitorOf(raw); v != nil {
		v.meet()
	}
	// From here on Close closes the connection, and takes the caller out of the guard.
	conn.made.Store(true)
	conn.forget = func() { g.leave(p) }
	g.enter(p)
	// The files may have changed during the handshake.
	if r := p.judge(); r != nil {
		p.expel(r)
		return nil, nil, r.err
	}
	return secured, p, nil
}

// PagesTLS returns how the pages of a guarded master are served: see identity.Files.
func (g *Guard) PagesTLS() *tls.Config { return g.files.PagesTLS() }

// Hosts returns the names of this master in its credential.
func (g *Guard) Hosts() []string { return g.files.Current().Certificate.Leaf.DNSNames }

// Operator returns the name of the operator whose credential came with a connection to the pages,
// empty if there is none that is good now.
func (g *Guard) Operator(s *tls.ConnectionState) string {
	if len(s.PeerCertificates) == 0 {
		return ""
	}
	id, err := g.files.Judge(s)
	if err == nil && id.Role == identity.Operator {
		return id.Name
	}
	return ""
}

func (g *Guard) enter(p *caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.account = g.accounts[p.identity]
	if p.account == nil {
		p.account = newAccount(g.limits)
		g.accounts[p.identity] = p.account
	}
	p.account.connections.Add(1)
	g.callers[p] = struct{}{}
}

func (g *Guard) leave(p *caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.callers, p)
	p.account.connections.Add(-1)
}

// handshakeReason says why a handshake failed, and who the other side said it was.
func handshakeReason(err error) (reason, who string) {
	verify, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	if unverified && len(verify.UnverifiedCertificates) > 0 {
		if id, err := identity.Of(verify.UnverifiedCertificates[0]); err == nil {
			who = "said to be " + id.String()
		}
	}
	if rejected, ok := errors.AsType[*identity.RejectedError](err); ok {
		who = rejected.Identity.String()
	}
	_, foreign := errors.AsType[x509.UnknownAuthorityError](err)
	invalid, refused := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case errors.Is(err, identity.ErrRevoked):
		return ReasonRevoked, who
	case foreign:
		return ReasonUnknownAuthority, who
	case refused && invalid.Reason == x509.Expired:
		return ReasonExpired, who
	case unverified, errors.Is(err, identity.ErrNoIdentity):
		return ReasonBadCredential, who
	case strings.Contains(err.Error(), "didn't provide a certificate"): // crypto/tls has no value for it
		return ReasonNoCredential, who
	}
	return ReasonHandshake, who
}

// Clone returns the credentials, which have no state of their own.
func (c guardedCredentials) Clone() credentials.TransportCredentials { return c }

// guardedConn is the network connection below TLS.
type guardedConn struct {
	net.Conn
	made     atomic.Bool // the handshake is done
	expelled atomic.Bool
	once     sync.Once
	err      error
	forget   func() // nil until the handshake is done
}

// Close closes the connection, once. While the handshake is going on it does nothing:
// ServerHandshake closes what has failed.
func (c *guardedConn) Close() error {
	if !c.made.Load() {
		return nil
	}
	c.once.Do(func() {
		c.err = c.Conn.Close()
		c.forget()
	})
	return c.err
}

// Time and bytes for which a refused connection is kept so that the other side gets to read why.
const (
	lingerTime  = time.Second
	lingerBytes = 64 << 10
)

// linger closes a refused connection, after the other side has read why and closed it. Closing it
// with unread data in it would throw away what was said last.
func linger(c net.Conn) {
	if c.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c, lingerBytes) // ends with the other side, or with the deadline
	}
	_ = c.Close() // it is of no more use
}
