package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"strings"

	"amazonsfarm/shared/identity"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// Credentials return the transport of a connection to a master that asks for certificates. The
// files are read again for each connection that is made, so a renewed certificate needs no restart;
// what is damaged is logged and those before stay in use.
func Credentials(f *identity.Files, log *slog.Logger) credentials.TransportCredentials {
	return &clientCredentials{files: f, log: log}
}

type clientCredentials struct {
	files *identity.Files
	log   *slog.Logger
	name  string // that the master must have instead of the one that was dialled; empty: that one
}

func (c *clientCredentials) now() credentials.TransportCredentials {
	config := c.files.ClientTLS()
	config.ServerName = c.name
	return credentials.NewTLS(config)
}

// ClientHandshake makes a connection.
func (c *clientCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn,
	credentials.AuthInfo, error) {
	if _, err := c.files.Reload(); err != nil {
		c.log.Error("changed certificates are not taken; those before stay in use", "error", err)
	}
	return c.now().ClientHandshake(ctx, authority, raw)
}

// ServerHandshake is not for clients.
func (c *clientCredentials) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("a worker's credentials do not serve")
}

// Info describes the transport.
func (c *clientCredentials) Info() credentials.ProtocolInfo { return c.now().Info() }

// Clone returns a copy.
func (c *clientCredentials) Clone() credentials.TransportCredentials {
	clone := *c
	return &clone
}

// OverrideServerName sets the name that the master must have.
func (c *clientCredentials) OverrideServerName(name string) error {
	c.name = name
	return nil
}

// NameFor returns the name with which a worker joins that has a certificate: a master takes its
// name, alone or with a slash and something after it. The wish is what goes there; if it is empty,
// something random, so that processes can share a certificate.
func NameFor(id identity.Identity, wish string) string {
	switch {
	case wish == id.Name || strings.HasPrefix(wish, id.Name+"/"):
		return wish
	case wish == "":
		wish = strings.ToLower(rand.Text()[:6])
	}
	return id.Name + "/" + wish
}

// RefusedByCertificate says whether an error means that a master does not take a certificate, so
// that there is no use in trying again.
func RefusedByCertificate(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return true
	case codes.Unavailable:
		// The alerts of TLS (RFC 8446, section 6.2) with which a master refuses a connection. gRPC
		// hands them on as text only.
		for _, alert := range []string{"bad certificate", "unknown certificate authority", "certificate required",
			"expired certificate", "revoked certificate"} {
			if strings.Contains(status.Convert(err).Message(), "remote error: tls: "+alert) {
				return true
			}
		}
	}
	return false
}
