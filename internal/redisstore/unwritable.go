package redisstore

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// refusedWrites are the replies of a server that takes no writes, with the reason. Redis before version 7 quotes the
// reply in the error of the script that wrote.
var refusedWrites = []struct {
	reply string
	why   memory.Unwritability
}{
	{"OOM ", memory.Full},
	{"READONLY ", memory.ReadOnly},
	{"MISCONF ", memory.DiskFails},
	{"NOREPLICAS ", memory.NoReplicas},
	{"LOADING ", memory.Loading},
	{"NOPERM ", memory.Forbidden},
}

// forbidding are parts of the replies for a command of a script that the user may not run, from Redis 6.2 on.
var forbidding = []string{"The user executing the script can't ", "ACL failure in script: "}

// refused reports whether a server answered that it takes no writes.
func refused(err error) bool {
	_, ok := whyRefused(err)
	return ok
}

func whyRefused(err error) (memory.Unwritability, bool) {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return "", false
	}
	for _, r := range refusedWrites {
		text := reply.Error()
		if strings.HasPrefix(text, r.reply) || strings.Contains(text, ": -"+r.reply) {
			return r.why, true
		}
	}
	for _, part := range forbidding {
		if strings.Contains(reply.Error(), part) {
			return memory.Forbidden, true
		}
	}
	return "", false
}

// aborted reports whether a server refused a transaction because it refused one of its commands.
func aborted(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (redis.HasErrorPrefix(err, "EXECABORT") || refused(err))
}

// unwritable marks the reply of a server that takes no writes as memory.ErrUnwritable.
func unwritable(err error) error {
	if why, ok := whyRefused(err); ok {
		return &memory.UnwritableError{Why: why, Err: err}
	}
	return err
}
