package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// explainTLS explains the most frequent reason why a server does not respond: only one side uses TLS.
func explainTLS(err error, options *redis.Options) error {
	switch {
	case err == nil, !errors.Is(err, memory.ErrAway):
		return err
	case options.TLSConfig != nil:
		return fmt.Errorf(
			"%w; rediss:// uses TLS: if the server does not at that port, the address must begin with redis://", err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%w; the server closed the connection: if it uses TLS, the address must begin with rediss://", err)
	}
	return err
}
