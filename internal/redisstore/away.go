package redisstore

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// asAway marks an error as a failure of the server to respond, unless the caller itself gave up.
func asAway(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return store.Away(err)
}

// distrust says what to do when one side does not trust the other's certificate; empty for another error.
func distrust(err error) string {
	var unknown x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	switch {
	case err == nil:
	case errors.As(err, &unknown):
		return "name the authority that has signed the server's certificate (RootCAs)"
	case errors.As(err, &misnamed):
		return "name what the server's certificate is made out to (ServerName)"
	case strings.Contains(err.Error(), "remote error: tls: "):
		return "the server wants a client certificate that it trusts (Certificates)"
	}
	return ""
}

// explainTLS explains the most frequent reasons why a server does not respond: one side does not trust the other, or
// only one uses TLS.
func explainTLS(err error, options *redis.Options) error {
	switch {
	case err == nil, !errors.Is(err, memory.ErrAway):
		return err
	case distrust(err) != "":
		return fmt.Errorf("%w; %s", err, distrust(err))
	case options.TLSConfig != nil && len(options.TLSConfig.Certificates) == 0 && closedByPeer(err):
		return fmt.Errorf(
			"%w; the server closed the connection: it may want a client certificate that it trusts (Certificates)", err)
	case options.TLSConfig != nil:
		return fmt.Errorf(
			"%w; rediss:// uses TLS: if the server does not at that port, the address must begin with redis://", err)
	case closedByPeer(err):
		return fmt.Errorf("%w; the server closed the connection: if it uses TLS, the address must begin with rediss://", err)
	}
	return err
}

func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
