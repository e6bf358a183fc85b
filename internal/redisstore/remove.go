package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/store"
)

var (
	removeBeginScript = script("memory", "removebegin")
	removePartScript  = script("memory", "removepart")
	removeEndScript   = script("money", "book", "memory", "removeend")
)

// errRemovalEnded means that another process has completed the removal.
var errRemovalEnded = errors.New("the removal has ended")

// DropAgent removes an agent in three steps, because only a scan finds the names of all its keys, and a script should
// not scan. The first step closes the agent to all writers, the second deletes its keys, the third removes its record.
// A process that dies in between leaves the agent listed and closed, and the next DropAgent continues. At last the
// server rewrites its append-only file, as after an erasure.
func (s *Store) DropAgent(ctx context.Context, agent string, now time.Time) (memory.RemovalResult, error) {
	dropped, err := s.dropAgent(ctx, agent, now)
	if err != nil {
		return memory.RemovalResult{}, store.Wrap(err, "remove agent ", agent)
	}
	s.Indexes.Drop(agent)
	if err := s.rewrite(context.WithoutCancel(ctx)); err != nil {
		dropped.Traces = err.Error()
	}
	return dropped, nil
}

func (s *Store) dropAgent(ctx context.Context, agent string, now time.Time) (memory.RemovalResult, error) {
	dropped, handle, err := s.beginRemoval(ctx, agent, now)
	if err != nil {
		return dropped, err
	}
	if err := s.dropDreamAnswers(ctx, agent); err != nil {
		return dropped, err
	}
	if err := errors.Join(s.eraseResponses(ctx), s.dropResponses(ctx, agent)); err != nil {
		return dropped, err
	}
	if err := s.dropParts(ctx, agent); err != nil && !errors.Is(err, errRemovalEnded) {
		return dropped, err
	}
	if err := s.removeFromRooms(ctx, agent, now); err != nil {
		return dropped, err
	}
	plan := map[string]string{"agent": agent, "handle": handle}
	if handle != agent {
		plan["other"] = s.key(handle, countersPart) // of an agent whose id equals the handle
	}
	_, err = s.apply(ctx, removeEndScript, agent, plan)
	return dropped, err
}

// beginRemoval closes the agent, and returns the counts of what is stored and its handle.
func (s *Store) beginRemoval(ctx context.Context, agent string, now time.Time) (memory.RemovalResult, string, error) {
	dropped, err := s.countAgent(ctx, agent)
	if err != nil {
		return dropped, "", err
	}
	counts, err := json.Marshal(dropped)
	if err != nil {
		return dropped, "", err
	}
	plan := map[string]string{
		"agent":   agent,
		"spelled": escaped.Replace(agent), // the agent's name in the set of unrecorded wakes
		"now":     date(now),
		"counts":  string(counts),
	}
	args, err := s.runMemory(ctx, removeBeginScript, agent, plan)
	switch {
	case err != nil:
		return dropped, "", err
	case text(args, 0) == "unknown":
		return dropped, "", memory.ErrNotFound
	case text(args, 0) == "dreams":
		return dropped, "", fmt.Errorf("dream %q holds its slot: %w", text(args, 1), memory.ErrTaken)
	case text(args, 0) == "held":
		return dropped, "", fmt.Errorf("it is held awake by %s: %w", text(args, 1), memory.ErrAwake)
	}
	dropped = memory.RemovalResult{}
	if err := errors.Join(refusal(args), json.Unmarshal([]byte(text(args, 1)), &dropped)); err != nil {
		return dropped, "", fmt.Errorf("the counts of the removal: %w", err)
	}
	return dropped, text(args, 2), nil
}

func (s *Store) countAgent(ctx context.Context, agent string) (memory.RemovalResult, error) {
	dropped := memory.RemovalResult{Items: dream.KindCounts{}}
	if agent == "" {
		return dropped, errNoAgent
	}
	for _, kind := range dream.Kinds {
		n, err := s.Count(ctx, memory.Query{Agent: agent, Kinds: []dream.Kind{kind}, States: dream.States})
		if err != nil {
			return dropped, err
		}
		if n > 0 {
			dropped.Items[kind] = n
		}
	}
	n, err := ask(ctx, s.server, func(ctx context.Context) (int64, error) {
		return s.client.XLen(ctx, s.key(agent, "events")).Result()
	})
	dropped.Events = int(n)
	return dropped, err
}

// dropDreamAnswers deletes the ledger's answers of the agent's dreams, because they quote its memory.
func (s *Store) dropDreamAnswers(ctx context.Context, agent string) error {
	dreams, err := s.Find(ctx, memory.Query{Agent: agent, Kinds: []dream.Kind{dream.KindRecord}, States: dream.States})
	if err != nil {
		return err
	}
	for _, record := range dreams {
		if _, err := s.run(ctx, dropScript, nil, record.Header().ID); err != nil {
			return err
		}
	}
	return nil
}

// dropParts deletes every key of the agent except its counters. Keys with unknown parts stay: they may belong to
// another deployment whose prefix begins with this one's.
func (s *Store) dropParts(ctx context.Context, agent string) error {
	start := s.key(agent, "")
	return s.scan(ctx, start, func(keys []string) error {
		var removed []any
		for _, key := range keys {
			part := strings.TrimPrefix(key, start)
			if part != countersPart && (matchesAny(parts, part) || strings.HasPrefix(part, "talk:")) {
				removed = append(removed, key)
			}
		}
		if len(removed) == 0 {
			return nil
		}
		args, err := s.runMemory(ctx, removePartScript, agent, struct{}{}, removed...)
		if err == nil && text(args, 0) == "ended" {
			err = errRemovalEnded
		}
		return err
	})
}
