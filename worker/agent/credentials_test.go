package agent

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"amazonsfarm/shared/identity"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestNameFor(t *testing.T) {
	id := identity.Identity{Role: identity.Worker, Name: "w1"}
	for wish, want := range map[string]string{"w1": "w1", "w1/a": "w1/a", "a": "w1/a", "w1a": "w1/w1a",
		"w2/a": "w1/w2/a"} {
		if got := NameFor(id, wish); got != want {
			t.Errorf("wish %q: %q, want %q", wish, got, want)
		}
	}
	one, two := NameFor(id, ""), NameFor(id, "")
	if one == two || !strings.HasPrefix(one, "w1/") || len(one) < 8 {
		t.Errorf("made up: %q and %q", one, two)
	}
}

func TestRefusedByCredential(t *testing.T) {
	for _, c := range []struct {
		code codes.Code
		text string
		want bool
	}{
		{codes.Unauthenticated, "the certificate of worker w1 is revoked", true},
		{codes.PermissionDenied, "for another role", true},
		{codes.Unavailable, `connection error: desc = "error reading server preface: remote error: tls: bad ` +
			`certificate"`, true},
		{codes.Unavailable, `connection error: desc = "error reading server preface: remote error: tls: ` +
			`certificate required"`, true},
		{codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed ` +
			`to verify certificate: x509: certificate signed by unknown authority"`, false},
		{codes.Unavailable, `connection error: desc = "error reading server preface: remote error: tls: ` +
			`internal error"`, false},
		{codes.Unavailable, "the certificate of worker w1 expired; connect with a new one", false},
		{codes.ResourceExhausted, "too many", false},
	} {
		if got := RefusedByCredential(status.Error(c.code, c.text)); got != c.want {
			t.Errorf("%v %q: %v", c.code, c.text, got)
		}
	}
	if RefusedByCredential(nil) || RefusedByCredential(errors.New("remote error: tls: bad certificate")) {
		t.Error("what is no status of a call is taken for one")
	}
}

// TestExplainHandshake holds that a master of another name or authority is named, also behind gRPC's
// own words, and that other faults stay as they are.
func TestExplainHandshake(t *testing.T) {
	host := x509.HostnameError{Host: "vm", Certificate: &x509.Certificate{DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{host, "the master's credential is for localhost, 127.0.0.1, not for vm; connect under such a name, or " +
			"make one with \"master certs master --host vm\""},
		{fmt.Errorf("tls: %w", x509.UnknownAuthorityError{}), "the master's credential is of another authority " +
			"than ours: both must come from one \"master certs init\""},
	} {
		text := explainHandshake(c.err).Error()
		behind := status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake `+
			`failed: `+strings.ReplaceAll(text, `"`, `\"`)+`"`)
		if text != c.want || !IsWrongMaster(behind) || Reason(behind) != c.want {
			t.Errorf("%q; behind gRPC %q, %v", text, Reason(behind), IsWrongMaster(behind))
		}
	}
	other := errors.New("EOF")
	if explainHandshake(other) != other || explainHandshake(nil) != nil || IsWrongMaster(other) {
		t.Error("another fault is taken for a wrong master")
	}
}

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection ` +
			`refused"`: "dial tcp 127.0.0.1:1: connect: connection refused",
		`connection error: desc = "error reading server preface: ` +
			`EOF"`: "the connection was " +
			"closed at once; a master that serves with --credentials does so where they are missing",
		`connection error: desc = "error reading server preface: remote error: tls: bad ` +
			`certificate"`: "remote error: tls: bad certificate; the " +
			"credential is revoked, or not made for this use",
		`connection error: desc = "transport: authentication handshake failed: tls: first record does not look ` +
			`like a TLS handshake"`: "tls: first record does not look like a TLS handshake; a master that " +
			"serves without --credentials answers so, and so does the port of its pages",
		`connection error: desc = "error reading server preface: http2: failed reading the frame payload: http2: ` +
			`frame too large, note that the frame header looked like an HTTP/1.1 header"`: "what answers there does " +
			"not speak gRPC; perhaps it is the port of the pages (--http)",
		`connection error: desc = "error reading server preface: raw-read tcp 127.0.0.1:2->127.0.0.1:1: use of ` +
			`closed network connection"`: "a connection was made, and nothing came over it in time",
		`connection error: desc = "transport: authentication handshake failed: x509: certificate is valid for ` +
			`localhost, not farm.local"`: "x509: certificate is valid for localhost, not farm.local",
	} {
		if got := Reason(status.Error(codes.Unavailable, text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
