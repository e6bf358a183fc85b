package deploy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
)

// handshakeWithin bounds the second handshake, which only looks for the reason of a failure.
const handshakeWithin = 3 * time.Second

// refused returns what a server objected to in our TLS handshake, after a connection failed. A server refuses a
// client certificate only after the handshake, when gRPC is already writing, so that gRPC reports just a broken pipe.
func refused(ctx context.Context, o client.Options) string {
	if o.ConnectionOptions.TLS == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handshakeWithin)
	defer cancel()
	conf := o.ConnectionOptions.TLS.Clone()
	conf.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", o.HostPort)
	if err == nil {
		defer func() { _ = conn.Close() }()
		until, _ := ctx.Deadline()
		_ = conn.SetReadDeadline(until)
		_, err = conn.Read(make([]byte, 1))
	}
	var network *net.OpError
	switch {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "" // the handshake succeeds
	case errors.As(err, &network) && network.Op == "dial":
		return "" // there was no handshake: the connection itself failed
	case errors.Is(err, io.EOF):
		return "; it closes the connection after the TLS handshake, as a server does that does not accept the client's certificate"
	}
	return "; its TLS says: " + err.Error()
}

// unresolved says that the host of an address has no number, which gRPC leaves out.
func unresolved(ctx context.Context, address string) string {
	host, _, err := net.SplitHostPort(address[strings.LastIndex(address, "/")+1:])
	if err != nil || host == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handshakeWithin)
	defer cancel()
	if _, err := net.DefaultResolver.LookupHost(ctx, host); err != nil {
		return "; " + err.Error()
	}
	return ""
}
