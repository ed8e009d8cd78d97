package agent

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"amazonsfarm/shared/identity"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// Credentials returns the transport of a connection to a master that asks for credentials. The files
// are read again for each connection, so a renewed credential needs no restart. A damaged credential
// is logged, and the one before stays in use.
func Credentials(f *identity.Files, log *slog.Logger) credentials.TransportCredentials {
	return &clientCredentials{credentials.NewTLS(f.ClientTLS()), f, log}
}

type clientCredentials struct {
	credentials.TransportCredentials // with what was read first
	files                            *identity.Files
	log                              *slog.Logger
}

// ClientHandshake makes a connection.
func (c *clientCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn,
	credentials.AuthInfo, error) {
	if _, err := c.files.Reload(); err != nil {
		c.log.Error("the changed credential cannot be read; the one before stays in use", "error", err)
	}
	conn, info, err := credentials.NewTLS(c.files.ClientTLS()).ClientHandshake(ctx, authority, raw)
	return conn, info, explainHandshake(err)
}

// wrongMaster begins the text of an error about a master whose credential is not the one that ours
// expects. gRPC passes on the text alone.
const wrongMaster = "the master's credential is "

// WrongDates begins the text of an error about a master whose credential is not good now, which may pass.
const WrongDates = "the master's credential has other dates: "

// explainHandshake says whose credential a master has, where that is not the one that was expected.
func explainHandshake(err error) error {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired &&
		!invalid.Cert.IsCA {
		return errors.New(WrongDates + "it is good from " + invalid.Cert.NotBefore.Format(time.DateTime) + " to " +
			invalid.Cert.NotAfter.Format(time.DateTime) + "; set the clock here, or make a new one there with " +
			"\"master certs master --host HOST\"")
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		names := slices.Clone(host.Certificate.DNSNames)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		return errors.New(wrongMaster + "for " + strings.Join(names, ", ") + ", not for " + host.Host +
			"; connect under such a name, or make one with \"master certs master --host " + host.Host + "\"")
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return errors.New(wrongMaster + "of another authority than ours: both must come from one \"master certs init\"")
	}
	return err
}

// IsWrongMaster says whether an error means that the master's address is answered by a server which is not the master
// of our credential. Before the first connection there is no use in trying again.
func IsWrongMaster(err error) bool {
	return err != nil && (errors.Is(err, ErrWrongMaster) || strings.HasPrefix(Reason(err), wrongMaster))
}

// Clone returns a copy.
func (c *clientCredentials) Clone() credentials.TransportCredentials {
	clone := *c
	return &clone
}

// NameFor returns the name with which a worker with a credential joins: the credential's name, a
// slash, and the wish. An empty wish becomes random, so that processes can share a credential. A
// wish that begins with the credential's name is used as it is.
func NameFor(id identity.Identity, wish string) string {
	switch {
	case wish == id.Name || strings.HasPrefix(wish, id.Name+"/"):
		return wish
	case wish == "":
		wish = strings.ToLower(rand.Text()[:6])
	}
	return id.Name + "/" + wish
}

// expired is the alert of a master by whose clock our credential has expired. Its clock may be wrong for a while, and a
// new credential may be on its way.
const expired = "remote error: tls: expired certificate"

// refusedForGood says whether a worker is refused with the credential that its folder has now. A credential that is
// revoked while a connection lasts may have been replaced since: the next connection shows the new one.
func refusedForGood(err error) bool {
	return RefusedByCredential(err) && status.Code(err) != codes.Unauthenticated
}

// RefusedByCredential says whether an error means that the master does not accept the credential.
// Then there is no use in trying again.
func RefusedByCredential(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return true
	case codes.Unavailable:
		// A master refuses a connection with these alerts of TLS (RFC 8446, section 6.2). gRPC reports
		// them as text only.
		for _, alert := range []string{"bad certificate", "unknown certificate authority", "certificate required",
			"expired certificate", "revoked certificate"} {
			if strings.Contains(status.Convert(err).Message(), "remote error: tls: "+alert) {
				return true
			}
		}
	}
	return false
}
