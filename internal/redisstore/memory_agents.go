package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/memory"
)

var (
	putAgentScript  = script("memory", "putagent")
	agentScript     = script("agent")
	nextDreamScript = script("memory", "nextdream")
)

// PutAgent creates or replaces an agent's record.
func (s *Store) PutAgent(ctx context.Context, a dream.Agent) error {
	if a.ID == "" || a.Handle == "" || !utf8.ValidString(a.ID+a.Handle) {
		return fmt.Errorf("put agent %q: id and handle must be UTF-8 text and not empty", a.Handle)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("put agent %s: %w", a.Handle, err)
	}
	plan := struct {
		Agent  string `json:"agent"`
		Handle string `json:"handle"`
	}{a.ID, a.Handle}
	args, err := s.runMemory(ctx, putAgentScript, a.ID, plan, body)
	switch {
	case err != nil:
	case text(args, 0) == "taken":
		err = fmt.Errorf("handle %q belongs to agent %s: %w", a.Handle, text(args, 1), memory.ErrTaken)
	case text(args, 0) == "dreamt":
		err = fmt.Errorf(
			"it cannot be renamed to %q, as its counters, dreams and ledger entries are stored under %q: %w",
			a.Handle, text(args, 1), memory.ErrDreamt)
	default:
		err = refusal(args)
	}
	return wrap(err, "put agent ", a.ID)
}

// Agent finds an agent by id, then by handle.
func (s *Store) Agent(ctx context.Context, idOrHandle string) (dream.Agent, error) {
	var a dream.Agent
	reply, err := s.run(ctx, again, agentScript, nil, idOrHandle, s.key(idOrHandle, countersPart))
	if err == nil {
		switch reply := reply.(type) {
		case string:
			err = json.Unmarshal([]byte(reply), &a)
		case int64:
			err = memory.ErrNotFound
			if reply == 1 {
				err = memory.ErrRemoved
			}
		default:
			err = memory.ErrNotFound
		}
	}
	if err != nil {
		return dream.Agent{}, fmt.Errorf("agent %q: %w", idOrHandle, err)
	}
	return a, nil
}

// Agents lists all agents by handle.
func (s *Store) Agents(ctx context.Context) ([]dream.Agent, error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	agents := make([]dream.Agent, 0, len(records))
	for _, body := range records {
		var a dream.Agent
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			return nil, fmt.Errorf("list agents: %w", err)
		}
		agents = append(agents, a)
	}
	slices.SortFunc(agents, func(a, b dream.Agent) int { return cmp.Compare(a.Handle, b.Handle) })
	return agents, nil
}

// records returns the agents' records by id.
func (s *Store) records(ctx context.Context) (records map[string]string, err error) {
	err = s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		records, err = s.client.HGetAll(ctx, s.set.prefix+"agents").Result()
		return err
	})
	return records, err
}

// NextDream returns the agent's next dream number.
func (s *Store) NextDream(ctx context.Context, agent string) (int64, error) {
	plan := struct {
		Token string `json:"token"`
	}{rand.Text()}
	args, err := s.runMemory(ctx, nextDreamScript, agent, plan)
	if err == nil {
		err = refusal(args)
	}
	if err != nil {
		return 0, fmt.Errorf("number the next dream of %s: %w", agent, err)
	}
	return integer(args, 1), nil
}

// Affect returns the agent's newest affect.
func (s *Store) Affect(ctx context.Context, agent string) (dream.Affect, error) {
	newest := storedAffect{Affect: dream.Affect{Cause: "new"}}
	var body []byte
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		body, err = s.client.LIndex(ctx, s.key(agent, affectsPart), -1).Bytes()
		return ignoreMissing(err)
	})
	if err == nil && len(body) > 0 {
		newest = storedAffect{}
		err = json.Unmarshal(body, &newest)
	}
	if err != nil {
		return dream.Affect{}, fmt.Errorf("affect of %s: %w", agent, err)
	}
	return newest.Affect, nil
}

// counter reads a counter of the agent; 0 when it was never set.
func (s *Store) counter(ctx context.Context, agent, field string) (n int64, err error) {
	err = s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		n, err = s.client.HGet(ctx, s.key(agent, countersPart), field).Int64()
		return ignoreMissing(err)
	})
	return n, err
}

// Forgettings counts how often something of the agent was forgotten.
func (s *Store) Forgettings(ctx context.Context, agent string) (int64, error) {
	n, err := s.counter(ctx, agent, "scrubs")
	return n, wrap(err, "forgettings of ", agent)
}
