package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// checkEvery is how often Await checks by itself, in case the subscription missed a message while it was disconnected.
const checkEvery = 500 * time.Millisecond

// eventsAtOnce is how many events one step reads.
const eventsAtOnce = 1000

// encodeEvent encodes an event for its stream: the envelope, and the data byte by byte. For a dream's event both are
// packed into the envelope, separated by a newline (store/packed).
func encodeEvent(e event.Event) (envelope, data string, err error) {
	data = string(e.Data)
	e.Data, e.Seq, e.At = nil, 0, e.At.UTC()
	body, err := json.Marshal(e)
	if err != nil || e.Dream == "" {
		return string(body), data, err
	}
	return string(packed.Pack(append(append(body, '\n'), data...))), "", nil
}

func decodeEvent(m redis.XMessage) (event.Event, error) {
	var e event.Event
	envelope, _ := m.Values["e"].(string)
	data, _ := m.Values["d"].(string)
	if envelope != "" && envelope[0] != '{' {
		plain, err := packed.Unpack([]byte(envelope))
		if err != nil {
			return e, fmt.Errorf("event %s: %w", m.ID, err)
		}
		envelope, data, _ = strings.Cut(string(plain), "\n")
	}
	if err := json.Unmarshal([]byte(envelope), &e); err != nil {
		return e, fmt.Errorf("event %s: %w", m.ID, err)
	}
	e.Data = nil
	if data != "" {
		e.Data = json.RawMessage(data)
	}
	number, _, _ := strings.Cut(m.ID, "-")
	var err error
	e.Seq, err = strconv.ParseInt(number, 10, 64)
	return event.Current(e), err
}

// Events returns up to limit of the agent's events after a sequence number, in order. A limit of zero or less gives
// none.
func (s *Store) Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error) {
	var events []event.Event
	for next := max(after, 0) + 1; limit <= 0 || len(events) < limit; {
		ask := int64(eventsAtOnce)
		if limit > 0 {
			ask = min(ask, int64(limit-len(events)))
		}
		var page []redis.XMessage
		err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
			var err error
			page, err = s.client.XRangeN(ctx, s.key(agent, "events"), strconv.FormatInt(next, 10)+"-0", "+", ask).Result()
			return err
		})
		for i := 0; err == nil && i < len(page); i++ {
			var e event.Event
			e, err = decodeEvent(page[i])
			events, next = append(events, e), e.Seq+1
		}
		if err != nil {
			return nil, fmt.Errorf("events of %s after %d: %w", agent, after, err)
		}
		if int64(len(page)) < ask {
			break
		}
	}
	return events, nil
}

// Await returns when the agent has events after a sequence number: immediately when this process wrote them, by a
// message of the server when another did, and within half a second when that message was lost.
func (s *Store) Await(ctx context.Context, agent string, after int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.subscribeEvents()
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		notified := s.local.listen(agent)
		seq, err := s.counter(ctx, agent, "seq")
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || seq > after {
			return wrap(err, "await events of ", agent)
		}
		select {
		case <-notified:
		case <-tick.C:
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// headsAtOnce is how many agents are read in one exchange.
const headsAtOnce = 1000

// Heads returns the number of the newest event of every agent.
func (s *Store) Heads(ctx context.Context) (map[string]int64, error) {
	heads := map[string]int64{}
	var agents []string
	err := s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		var err error
		agents, err = s.client.HKeys(ctx, s.set.prefix+"agents").Result()
		return err
	})
	for some := range slices.Chunk(agents, headsAtOnce) {
		if err == nil {
			err = s.headsOf(ctx, some, heads)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("newest events of all agents: %w", err)
	}
	return heads, nil
}

func (s *Store) headsOf(ctx context.Context, agents []string, heads map[string]int64) error {
	return s.exchange(ctx, again, func(ctx context.Context, _ bool) error {
		counters := make([]*redis.StringCmd, len(agents))
		_, err := s.client.Pipelined(ctx, func(line redis.Pipeliner) error {
			for i, agent := range agents {
				counters[i] = line.HGet(ctx, s.key(agent, countersPart), "seq")
			}
			return nil
		})
		err = ignoreMissing(err)
		if err != nil {
			return err
		}
		for i, agent := range agents {
			n, err := counters[i].Int64()
			err = ignoreMissing(err)
			if err != nil {
				return err
			}
			if n > 0 {
				heads[agent] = n
			}
		}
		return nil
	})
}

// subscribeEvents subscribes to the events of all agents, once. The subscription ends with the store.
func (s *Store) subscribeEvents() {
	m := &s.local
	m.waiting.Lock()
	defer m.waiting.Unlock()
	if m.subscribed {
		return
	}
	m.subscribed = true
	line := s.client.Subscribe(context.Background(), s.set.prefix+"events")
	messages := line.Channel()
	go func() {
		defer line.Close()
		for {
			select {
			case <-s.closed:
				return
			case message, ok := <-messages:
				if !ok {
					return
				}
				m.notice(message.Payload)
			}
		}
	}()
}

func (m *localState) listen(agent string) <-chan struct{} {
	m.waiting.Lock()
	defer m.waiting.Unlock()
	if m.notices == nil {
		m.notices = map[string]chan struct{}{}
	}
	c, ok := m.notices[agent]
	if !ok {
		c = make(chan struct{})
		m.notices[agent] = c
	}
	return c
}

func (m *localState) notice(agent string) {
	m.waiting.Lock()
	defer m.waiting.Unlock()
	if c, ok := m.notices[agent]; ok {
		close(c)
		delete(m.notices, agent)
	}
}
