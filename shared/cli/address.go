package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Loopback reports whether HOST:PORT is an address of this machine only. It is true for what is no
// such text: who listens or dials there will say what is wrong with it.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Address reads HOST:PORT of a flag; usual is the flag's usual address. A host alone gets the usual
// port. A port alone is refused: it does not say who may connect. Errors are usage errors that name the
// flag.
func Address(flag, text, usual string) (string, error) {
	_, port, _ := net.SplitHostPort(usual)
	host, given, err := net.SplitHostPort(text)
	if ip, e := netip.ParseAddr(text); e == nil {
		host, given, err = ip.String(), port, nil
	} else if err != nil && !strings.ContainsAny(text, ":[] /") && strings.Trim(text, "0123456789") != "" {
		host, given, err = text, port, nil
	}
	n, e := strconv.ParseUint(given, 10, 16)
	switch {
	case err != nil && text != "" && strings.Trim(text, "0123456789") == "":
		return "", Usagef("--%s %s: write HOST:PORT, such as 127.0.0.1:%s", flag, text, text)
	case err != nil || strings.ContainsAny(text, " /"):
		return "", Usagef("--%s %q: write HOST:PORT, such as %s", flag, text, usual)
	case e != nil:
		return "", Usagef("--%s %s: the port must be a number from 1 to 65535, such as %s", flag, text, port)
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// DialAddress is Address for a program that connects: without a host it connects to this machine, and
// port 0 is none.
func DialAddress(flag, text, usual string) (string, error) {
	address, err := Address(flag, text, usual)
	if err != nil {
		return "", err
	}
	host, port, _ := net.SplitHostPort(address)
	if port == "0" {
		return "", Usagef("--%s %s: the port must be a number from 1 to 65535", flag, text)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // what listens everywhere listens here
	}
	return net.JoinHostPort(host, port), nil
}

// Listen listens at the address of a flag, as [Address] reads it. An error names the flag and says what
// helps.
func Listen(flag, text, usual string) (net.Listener, error) {
	address, err := Address(flag, text, usual)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return nil, Usagef("--%s %s: no machine is called %s", flag, text, name.Name)
	case errors.Is(err, syscall.EADDRINUSE):
		host, port, _ := net.SplitHostPort(address)
		n, _ := strconv.Atoi(port)
		return nil, fmt.Errorf("--%s %s: this or another program listens there; choose another port, such as %s", flag,
			text, net.JoinHostPort(host, strconv.Itoa(max(1024, (n+10)%65536))))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("--%s %s: ports below 1024 are for the system; choose a higher one", flag, text)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("--%s %s: this machine has no such address; 0.0.0.0 stands for all of its addresses",
			flag, text)
	case err != nil:
		return nil, fmt.Errorf("--%s %s: %w", flag, text, err)
	}
	return l, nil
}

// ServeHTTP has a server answer on all listeners until ctx ends, then lets requests in flight end for at most
// a second. It returns nil after such an end, and otherwise why a listener failed. No goroutine is left behind.
func ServeHTTP(ctx context.Context, server *http.Server, listeners ...net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		group.Go(func() error { return server.Serve(l) })
	}
	<-ctx.Done() // or one of them has failed
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(late) != nil {
		server.Close()
	}
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
