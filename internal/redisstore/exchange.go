package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// After a lost connection the next try waits for the first of these, then twice as long each time, up to the second.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// exchange talks to the server within the store's timeout. A try that did not run, or whose reply was lost, is repeated
// until then: every command is idempotent, or has a token.
func (s *server) exchange(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.set.timeout, s.late)
	defer cancel()
	var reply error // the server's last answer that it takes no writes yet
	var last error  // what kept a try from its end, other than the time
	late := func() error {
		if reply != nil && !errors.Is(context.Cause(ctx), context.Canceled) {
			return unwritable(reply)
		}
		if last == nil {
			return asAway(context.Cause(ctx))
		}
		return asAway(fmt.Errorf("%w: %w", context.Cause(ctx), last))
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case <-s.closed:
			return ErrClosed
		default:
		}
		if ctx.Err() != nil {
			return late()
		}
		err := try(ctx)
		if final(err) {
			return explainRefusal(ctx, s, err)
		}
		if distrust(err) != "" { // waiting changes no certificate
			return asAway(err)
		}
		if refused(err) {
			reply = err
		}
		if last == nil || !errors.Is(err, context.DeadlineExceeded) {
			last = err
		}
		switch waited := store.Pause(ctx, pause, s.closed); {
		case errors.Is(waited, ErrClosed):
			return ErrClosed
		case waited != nil:
			return late()
		}
	}
}

// together sends commands that only read in one transaction. A missing key is no error. A full server refuses every
// command of a transaction, also those that read: there they are sent one after another.
func (s *server) together(ctx context.Context, queue func(context.Context, redis.Pipeliner)) error {
	return s.exchange(ctx, func(ctx context.Context) error {
		read := func(p redis.Pipeliner) error {
			queue(ctx, p)
			return nil
		}
		_, err := s.client.TxPipelined(ctx, read)
		if aborted(err) {
			_, err = s.client.Pipelined(ctx, read)
		}
		return ignoreMissing(err)
	})
}

// ask sends a request that may be repeated, and returns its reply.
func ask[T any](ctx context.Context, s *server, send func(context.Context) (T, error)) (T, error) {
	var reply T
	err := s.exchange(ctx, func(ctx context.Context) error {
		var err error
		reply, err = send(ctx)
		return err
	})
	return reply, err
}

// ignoreMissing ignores the error of a missing key.
func ignoreMissing(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// notFound turns the error of a missing key into memory.ErrNotFound.
func notFound(err error) error {
	if errors.Is(err, redis.Nil) {
		return memory.ErrNotFound
	}
	return err
}

// hash reads a hash.
func (s *server) hash(ctx context.Context, key string) (map[string]string, error) {
	return ask(ctx, s, func(ctx context.Context) (map[string]string, error) {
		return s.client.HGetAll(ctx,
			key).Result()
	})
}

// values reads the values of a hash.
func (s *server) values(ctx context.Context, key string) ([]string, error) {
	return ask(ctx, s, func(ctx context.Context) ([]string, error) { return s.client.HVals(ctx, key).Result() })
}

// list decodes the values of a hash, in order.
func list[T any](ctx context.Context, s *server, key string, compare func(a, b T) int) ([]T, error) {
	values, err := s.values(ctx, key)
	if err != nil {
		return nil, err
	}
	all, err := store.Decode[T](values)
	slices.SortFunc(all, compare)
	return all, err
}

// field reads a field of a hash.
func (s *server) field(ctx context.Context, key, field string) (string, error) {
	return ask(ctx, s, func(ctx context.Context) (string, error) { return s.client.HGet(ctx, key, field).Result() })
}

// counter reads a counter of the agent; 0 when it was never set.
func (s *server) counter(ctx context.Context, agent, field string) (int64, error) {
	text, err := s.field(ctx, s.key(agent, countersPart), field)
	p := parser{err: ignoreMissing(err)}
	return p.number(text), p.err
}

// notYet are prefixes of the replies of a server that cannot run commands now but will later: it loads its file after a
// restart, is busy with a script, has no connection left, or is a replica that waits to be promoted.
var notYet = []string{"LOADING ", "BUSY ", "MASTERDOWN ", "READONLY ", "TRYAGAIN ", "max number of clients"}

// final reports whether a command ran, or was refused for good; else it may not have run.
func final(err error) bool {
	if err == nil || errors.Is(err, redis.ErrClosed) {
		return true
	}
	var reply redis.Error
	return errors.As(err, &reply) &&
		!slices.ContainsFunc(notYet, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}

// run executes a script as one atomic step, which may be repeated. args[0] of every script is the store's prefix.
func (s *server) run(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	reply, err := ask(ctx, s, func(ctx context.Context) (any, error) {
		return script.Run(ctx, s.client, keys, append([]any{s.set.prefix}, args...)...).Result()
	})
	return reply, ignoreMissing(err)
}

// runTexts executes a script that replies with a list of strings and integers.
func (s *server) runTexts(ctx context.Context, script *redis.Script, keys []string, args ...any) ([]string, error) {
	reply, err := s.run(ctx, script, keys, args...)
	if err != nil {
		return nil, err
	}
	return texts(reply)
}

// texts reads a reply that is a list of strings and integers.
func texts(reply any) ([]string, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("the server replied with %T; expected a list", reply)
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(list, i)
	}
	return out, nil
}
