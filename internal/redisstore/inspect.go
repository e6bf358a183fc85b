package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
)

// ErrUnsafe is returned by Open for a server that may lose acknowledged writes, or whose configuration is unknown.
// TrustServer accepts it.
var ErrUnsafe = errors.New("the server may lose memories and money")

// schema is the version of the key layout that this program writes; a newer one is refused. In schema 2 the items of
// dreams are packed; since schema 3 stored words are those of the API, such as the cause "connect"; schema 4 has rooms;
// schema 5 folds rows of the ledger; schema 6 sorts records of dreams by their status (sorted.go);
// schema 7 keeps totals by day (daytotals.go); schema 8 sorts unsettled predictions and hypotheses (memory_query.go).
// Keys of older schemas are read as they are, and marked anew when they are opened, so that an older program refuses
// them.
const schema = 8

var raiseScript = script("raise")

// The first version whose Lua, list commands and reply lengths our scripts need.
const (
	oldestMajor = 6
	oldestMinor = 2
)

// trustHint is the end of every refusal of an unsafe server.
const trustHint = "; or trust the server as it is (TrustServer), at your own risk"

// inspect refuses a server on which the store could not keep its contract.
func (s *server) inspect(ctx context.Context) error {
	var info map[string]string
	var configured map[string]string
	err := s.exchange(ctx, func(ctx context.Context) error {
		err := s.client.Ping(ctx).Err() // INFO is served while the server loads its file; PING is not
		if why, ok := whyRefused(err); err != nil && (!ok || why != memory.DiskFails) {
			return err
		}
		text, err := s.client.Info(ctx).Result()
		if err != nil {
			return err
		}
		info = parseInfo(text)
		configured, err = s.configuration(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := checkServer(info); err != nil {
		return err
	}
	missing, err := askRights(ctx, s)
	if err != nil {
		return err
	}
	s.limited.Store(len(missing) > 0)
	if info["role"] == "slave" {
		return s.checkReplica(ctx, info)
	}
	if !s.set.trust {
		if err := checkDurability(info, configured); err != nil {
			return err
		}
	}
	return s.claimKeys(ctx)
}

// parseInfo parses the reply of INFO: lines of name:value.
func parseInfo(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// configuration reads the settings that safe checks. Settings that the server does not allow to read are left out.
func (s *server) configuration(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync", "maxmemory-policy"} {
		values, err := s.client.ConfigGet(ctx, name).Result()
		var reply redis.Error
		switch {
		case err == nil:
			if value, ok := values[name]; ok {
				found[name] = value
			}
		case errors.As(err, &reply) && final(err): // forbidden or renamed, as managed services do
		default:
			return nil, err
		}
	}
	return found, nil
}

// checkServer refuses a server that TrustServer cannot make usable.
func checkServer(info map[string]string) error {
	if info["cluster_enabled"] == "1" || info["redis_mode"] == "cluster" {
		return errors.New(
			"the server runs in cluster mode (Redis Cluster), where one step cannot reach all the keys that it needs; " +
				"use a single server (cluster-enabled no), with replicas and Sentinels if you like")
	}
	if info["redis_mode"] == "sentinel" {
		return errors.New("the server is a Sentinel; name the server that it watches: add ?master_name=NAME to the address")
	}
	var major, minor int
	n, _ := fmt.Sscanf(info["redis_version"], "%d.%d", &major, &minor)
	if n == 2 && (major < oldestMajor || major == oldestMajor && minor < oldestMinor) {
		return fmt.Errorf("the server is Redis %s; %d.%d or newer is needed", info["redis_version"], oldestMajor,
			oldestMinor)
	}
	return nil
}

// checkReplica accepts a replica for reading when it holds the keys of a deployment in this program's schema. Writes
// fail there as memory.ErrUnwritable.
func (s *server) checkReplica(ctx context.Context, info map[string]string) error {
	kept, err := s.mark(ctx)
	if err == nil && kept != strconv.Itoa(schema) {
		err = fmt.Errorf("the server is a replica of %s:%s and takes no writes; give the address of the primary",
			info["master_host"], info["master_port"])
	}
	return err
}

// mark reads the schema of the keys under the prefix; empty when there are none.
func (s *server) mark(ctx context.Context) (string, error) {
	kept, err := ask(ctx, s, func(ctx context.Context) (string, error) {
		return s.client.Get(ctx, s.root(schemaKey)).Result()
	})
	return kept, ignoreMissing(err)
}

// checkDurability refuses a server that would lose acknowledged writes: in a restart without an append-only file, in a
// power cut beyond the two seconds that appendfsync everysec allows, or when memory runs out.
func checkDurability(info, configured map[string]string) error {
	appendonly, policy := configured["appendonly"], configured["maxmemory-policy"]
	if appendonly == "" {
		appendonly = map[string]string{"1": "yes", "0": "no"}[info["aof_enabled"]]
	}
	if policy == "" {
		policy = info["maxmemory_policy"]
	}
	var faults, dark []string
	for _, c := range []struct{ name, value, good, fault string }{
		{
			"appendonly", appendonly, "yes",
			"appendonly is no, and a restart loses what was written since the last snapshot: set \"appendonly yes\" " +
				"in redis.conf, or run CONFIG SET appendonly yes and then CONFIG REWRITE",
		},
		{
			"appendfsync", configured["appendfsync"], "always everysec",
			"appendfsync is no, and a power cut loses up to half a minute: " +
				"set \"appendfsync everysec\" (a crash may lose two seconds) or \"appendfsync always\" (it loses nothing)",
		},
		{
			"maxmemory-policy", policy, "noeviction",
			"maxmemory-policy is " + policy + ", and a full server deletes keys: " +
				"set \"maxmemory-policy noeviction\", so that it refuses writes instead, in redis.conf, or run " +
				"CONFIG SET maxmemory-policy noeviction and then CONFIG REWRITE",
		},
	} {
		switch {
		case c.value == "":
			dark = append(dark, c.name)
		case !strings.Contains(c.good, c.value):
			faults = append(faults, c.fault)
		}
	}
	if len(dark) > 0 {
		faults = append(faults,
			fmt.Sprintf("the server does not reveal its %s (CONFIG GET is forbidden, as on managed services); "+
				"make sure that appendonly is yes, appendfsync everysec or always, and maxmemory-policy noeviction, "+
				"or allow this user +config|get",
				strings.Join(dark, ", ")))
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: %s%s", ErrUnsafe, strings.Join(faults, "; "), trustHint)
	}
	return nil
}

// claimKeys marks the keys under the prefix with this program's schema. It writes nothing where they are marked, since
// a full server can still be read.
func (s *server) claimKeys(ctx context.Context) error {
	kept, err := s.mark(ctx)
	if err == nil && kept == "" {
		err = s.exchange(ctx, func(ctx context.Context) error {
			return s.client.SetNX(ctx, s.root(schemaKey), schema, 0).Err()
		})
		if err == nil {
			kept, err = s.mark(ctx)
		}
	}
	if err != nil {
		return err
	}
	if strings.HasPrefix(kept, importing) {
		if s.set.refill {
			return nil
		}
		return fmt.Errorf(
			"%w: if that import is not running any more, run it again (oneiros store import or move), which empties the keys "+
				"first; or use another database",
			ErrUnfinished)
	}
	n, err := strconv.Atoi(kept)
	if err == nil && n > 0 && n < schema {
		_, err = s.run(ctx, raiseScript, nil, kept, schema)
		return err
	}
	if err != nil || n < 1 || n > schema {
		return fmt.Errorf(
			"keys under %q are of schema %q; this program knows 1 to %d: use a newer program, or another prefix",
			s.set.prefix, kept, schema)
	}
	return nil
}
