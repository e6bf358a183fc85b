package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/store"
	"github.com/seed-56a03226/oneiros/internal/store/packed"
)

// eventLog reads the events, and announces new ones to the waiting callers of this process.
type eventLog struct {
	*server
	waiters    store.Waiters
	subscribed sync.Once
}

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

// decodeEvent reads an event as it is stored, which may be under names of earlier builds.
func decodeEvent(m redis.XMessage) (event.Event, error) {
	var e event.Event
	envelope, _ := m.Values["e"].(string)
	data, _ := m.Values["d"].(string)
	if envelope != "" && envelope[0] != '{' {
		plain, err := packed.Unpack([]byte(envelope))
		if err != nil {
			return e, store.Wrap(err, "event ", m.ID)
		}
		envelope, data, _ = strings.Cut(string(plain), "\n")
	}
	err := json.Unmarshal([]byte(envelope), &e)
	e.Data = nil
	if data != "" {
		e.Data = json.RawMessage(data)
	}
	number, _, _ := strings.Cut(m.ID, "-")
	p := parser{err: err}
	e.Seq = p.number(number)
	return e, store.Wrap(p.err, "event ", m.ID)
}

// Events returns up to limit of the agent's events after a sequence number, in order. A limit of zero or less gives
// all.
func (s *eventLog) Events(ctx context.Context, agent string, after int64, limit int) ([]event.Event, error) {
	var events []event.Event
	for next := max(after, 0) + 1; limit <= 0 || len(events) < limit; {
		most := int64(eventsAtOnce)
		if limit > 0 {
			most = min(most, int64(limit-len(events)))
		}
		page, err := ask(ctx, s.server, func(ctx context.Context) ([]redis.XMessage, error) {
			return s.client.XRangeN(ctx, s.key(agent, "events"), strconv.FormatInt(next, 10)+"-0", "+", most).Result()
		})
		for i := 0; err == nil && i < len(page); i++ {
			var e event.Event
			e, err = decodeEvent(page[i])
			events, next = append(events, event.Current(e)), e.Seq+1
		}
		if err != nil {
			return nil, fmt.Errorf("events of %s after %d: %w", agent, after, err)
		}
		if int64(len(page)) < most {
			break
		}
	}
	return events, nil
}

// Await returns when the agent has events after a sequence number: immediately when this process wrote them, by a
// message of the server when another did, and within half a second when that message was lost.
func (s *eventLog) Await(ctx context.Context, agent string, after int64) error {
	return s.await(ctx, agent, func() (bool, error) {
		seq, err := s.counter(ctx, agent, "seq")
		return seq > after, store.Wrap(err, "await events of ", agent)
	})
}

// await returns when changed does. It is called first, when a process announces something of that name, and now and
// then.
func (s *eventLog) await(ctx context.Context, name string, changed func() (bool, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.subscribed.Do(s.subscribe)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		notified := s.waiters.Listen(name)
		done, err := changed()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || done {
			return err
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

// Heads returns the number of the newest event of these agents, or of every agent.
func (s *eventLog) Heads(ctx context.Context, agents ...string) (map[string]int64, error) {
	heads := map[string]int64{}
	var p parser
	if len(agents) == 0 {
		agents, p.err = ask(ctx, s.server, func(ctx context.Context) ([]string, error) {
			return s.client.HKeys(ctx, s.root(agentsKey)).Result()
		})
	}
	for some := range slices.Chunk(agents, headsAtOnce) {
		counters, exist := make([]*redis.StringCmd, len(some)), make([]*redis.BoolCmd, len(some))
		p.fail(s.together(ctx, func(ctx context.Context, line redis.Pipeliner) {
			for i, agent := range some {
				counters[i] = line.HGet(ctx, s.key(agent, countersPart), "seq")
				exist[i] = line.HExists(ctx, s.root(agentsKey), agent)
			}
		}))
		for i := 0; p.err == nil && i < len(some); i++ {
			if n := p.number(counters[i].Val()); n > 0 && exist[i].Val() {
				heads[some[i]] = n
			}
		}
	}
	return store.Result(heads, p.err, "newest events of agents")
}

// subscribe subscribes to the events of all agents. The subscription ends with the store.
func (s *eventLog) subscribe() {
	line := s.client.Subscribe(context.Background(), s.channel(eventChannel))
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
				s.waiters.Notify(message.Payload)
			}
		}
	}()
}
