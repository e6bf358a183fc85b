// Package hostname decides which Host headers are valid for a server that only this machine should reach. A web page
// can make its own name resolve to a loopback address (DNS rebinding); the browser still sends the page's name as Host.
package hostname

import (
	"net"
	"net/netip"
	"strings"
)

// Of returns a Host header without its port and the brackets of an address, in lower case.
func Of(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.ToLower(name)
}

// Loopback reports whether a name, without a port, can only be this machine: localhost or a loopback address.
func Loopback(name string) bool {
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// Allowed is a set of names besides those of loopback. The zero value allows loopback alone.
type Allowed map[string]bool

// Allow makes a set of names without ports. Empty names are left out.
func Allow(names ...string) Allowed {
	set := Allowed{}
	for _, name := range names {
		if name != "" {
			set[strings.ToLower(name)] = true
		}
	}
	return set
}

// Has reports whether a Host header, with or without a port, is loopback or in the set.
func (a Allowed) Has(host string) bool {
	name := Of(host)
	return Loopback(name) || a[name]
}
