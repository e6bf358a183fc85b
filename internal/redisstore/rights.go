package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// neededCommands are the commands that a user must be allowed, as docs/redis.md lists them, each with the fewest
// arguments that a server takes. K is a key of ours and C a channel.
const neededCommands = `
select 0
ping
client|setname x
info
time
unwatch
eval x 0
evalsha x 0
script|load x
subscribe C
publish C x
pubsub|numsub C
scan 0
exists K
del K
unlink K
expire K 1
pexpire K 1
get K
mget K
set K x
setnx K x
incr K
hget K x
hset K x x
hsetnx K x x
hdel K x
hlen K
hexists K x
hmget K x
hgetall K
hkeys K
hvals K
hincrby K x 1
hscan K 0
lindex K 0
llen K
lrange K 0 1
rpush K x
lpush K x
lrem K 0 x
ltrim K 0 1
sadd K x
srem K x
scard K
smembers K
zadd K 1 x
zrem K x
zcard K
zscore K x
zlexcount K - +
zrange K 0 1
zrangebylex K - +
zrevrangebylex K + -
zrangebyscore K 0 1
zremrangebyscore K 0 1
xadd K * x x
xlen K
xrange K - +
xtrim K maxlen 1
`

// missingRights are the rights that the store's user lacks, as ACL SETUSER grants them: "+zadd". A server checks the
// rights to a command when it queues it in a transaction, so all are queued in one that runs none of them, because its
// first command is wrong. A user who may not run MULTI and EXEC is asked no further: commands would run at once.
func missingRights(ctx context.Context, s *server) ([]string, error) {
	for _, lines := range []string{"exec", "watch K\nmulti\nexec", "multi\nget\n" + neededCommands + "\nexec"} {
		missing, err := refusedCommands(ctx, s, lines)
		if err != nil || len(missing) > 0 {
			return missing, err
		}
	}
	return nil, nil
}

// askRights are the missing rights, asked within the store's timeout.
func askRights(ctx context.Context, s *server) ([]string, error) {
	return ask(ctx, s, func(ctx context.Context) ([]string, error) { return missingRights(ctx, s) })
}

// refusedCommands sends commands, one a line, and returns the rights whose lack the server answers.
func refusedCommands(ctx context.Context, s *server, lines string) (missing []string, err error) {
	fill := strings.NewReplacer(" K", " "+s.root("rights"), " C", " "+s.channel("rights"))
	var names []string
	sent, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for line := range strings.Lines(lines) {
			name, args, _ := strings.Cut(strings.TrimSpace(line), " ")
			if name == "" {
				continue
			}
			names = append(names, name)
			var words []any
			for _, word := range append(strings.Split(name, "|"), strings.Fields(fill.Replace(" "+args))...) {
				words = append(words, word)
			}
			p.Do(ctx, words...)
		}
		return nil
	})
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		return nil, err
	}
	for i, c := range sent {
		right := lackedRight(names[i], s.set.prefix, c.Err())
		if right != "" && !slices.Contains(missing, right) {
			missing = append(missing, right)
		}
	}
	return missing, nil
}

// lackedRight is the right without which a server refuses a command; empty where it refuses none. For EXEC it puts
// EXECABORT before its refusal.
func lackedRight(name, prefix string, reply error) string {
	switch {
	case reply == nil || !strings.Contains(reply.Error(), "NOPERM "):
		return ""
	case strings.Contains(reply.Error(), " to run "):
		return "+" + name
	case strings.Contains(reply.Error(), "channel"):
		return "&" + prefix + "*"
	}
	return "~" + prefix + "*"
}

// requireRights fails as memory.ErrUnwritable while the user is found to lack a right: what is bought or said could
// not be kept.
func requireRights(ctx context.Context, s *server) error {
	if !s.limited.Load() {
		return nil
	}
	missing, err := askRights(ctx, s)
	if err == nil {
		s.limited.Store(len(missing) > 0)
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	return &memory.UnwritableError{Why: memory.Forbidden, Err: lackOf(missing)}
}

// explainRefusal marks the reply of a server that takes no writes as memory.ErrUnwritable, and names the rights that
// are missing where it is for one.
func explainRefusal(ctx context.Context, s *server, err error) error {
	if why, _ := whyRefused(err); why != memory.Forbidden {
		return unwritable(err)
	}
	s.limited.Store(true)
	missing, failed := missingRights(ctx, s)
	if failed != nil || len(missing) == 0 {
		return unwritable(fmt.Errorf("%w; docs/redis.md lists the rights that the user needs", err))
	}
	return unwritable(fmt.Errorf("%w: %w", lackOf(missing), err))
}

func lackOf(rights []string) error {
	return fmt.Errorf("its user lacks %s; docs/redis.md lists the rights that it needs", strings.Join(rights, " "))
}
