package cli

import "net"

// Loopback reports whether HOST:PORT is an address of this machine only. It is true for what is no
// such text: who listens or dials there will say what is wrong with it.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
