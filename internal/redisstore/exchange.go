package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// After a lost connection the next try waits for the first of these, then twice as long each time, up to the second.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// repeat says what to do after a try whose reply was lost: the server may have carried it out.
type repeat bool

const (
	once  repeat = false // it must not run twice: the caller learns that the outcome is unknown
	again repeat = true  // it may run twice, because it is idempotent or has a token
)

// exchange talks to the server within the store's timeout. A try that certainly did not run is repeated until then. One
// whose reply was lost is repeated only if r allows it; lost is then true.
func (s *Store) exchange(ctx context.Context, r repeat, try func(ctx context.Context, lost bool) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.set.timeout, s.late)
	defer cancel()
	lost := false
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case <-s.closed:
			return ErrClosed
		default:
		}
		if ctx.Err() != nil {
			return asAway(context.Cause(ctx))
		}
		err := try(ctx, lost)
		switch outcomeOf(err) {
		case ran:
			return err
		case unknown:
			if r == once {
				return asAway(
					fmt.Errorf("the server's reply was lost, and the outcome is unknown: %w", err))
			}
			lost = true
		case notRun:
		}
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return asAway(fmt.Errorf("%w: %w", context.Cause(ctx), err))
		case <-s.closed:
			wait.Stop()
			return ErrClosed
		case <-wait.C:
		}
	}
}

// outcome is what an error says about a command.
type outcome int

const (
	ran     outcome = iota // it ran, or was refused for good
	notRun                 // it did not run; a later try may
	unknown                // it may have run
)

// notYet are prefixes of the replies of a server that cannot run commands now but will later: it loads its file after a
// restart, is busy with a script, has no connection left, or is a replica that waits to be promoted.
var notYet = []string{"LOADING ", "BUSY ", "MASTERDOWN ", "READONLY ", "TRYAGAIN ", "max number of clients"}

func outcomeOf(err error) outcome {
	var reply redis.Error
	if err == nil || errors.Is(err, redis.Nil) {
		return ran
	}
	if errors.As(err, &reply) {
		for _, prefix := range notYet {
			if redis.HasErrorPrefix(err, prefix) {
				return notRun
			}
		}
		return ran
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" || errors.Is(err, redis.ErrPoolTimeout) ||
		errors.Is(err, redis.ErrPoolExhausted) {
		return notRun
	}
	if errors.Is(err, redis.ErrClosed) {
		return ran
	}
	return unknown
}

// run executes a script as one atomic step. args[0] of every script is the store's prefix.
func (s *Store) run(ctx context.Context, r repeat, script *redis.Script, keys []string, args ...any) (any, error) {
	var reply any
	err := s.exchange(ctx, r, func(ctx context.Context, _ bool) error {
		var err error
		reply, err = script.Run(ctx, s.client, keys, append([]any{s.set.prefix}, args...)...).Result()
		return err
	})
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// texts reads a reply that is a list of strings and integers.
func texts(reply any) ([]string, error) {
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("the server replied with %T; expected a list", reply)
	}
	out := make([]string, len(list))
	for i, v := range list {
		switch v := v.(type) {
		case string:
			out[i] = v
		case int64:
			out[i] = fmt.Sprint(v)
		case nil:
		default:
			return nil, fmt.Errorf("the server replied with a list that contains %T; expected text", v)
		}
	}
	return out, nil
}

func wrap(err error, what ...string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.Join(what, ""), err)
}
