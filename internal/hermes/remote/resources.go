package remote

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

const (
	page      = 100  // items of one page, the server's most
	mostItems = 1000 // of one dream
)

func (c *connection) agentPath(rest string) string {
	return "/agents/" + url.PathEscape(c.s.Agent) + rest
}

func dreamPath(id, rest string) string { return "/dreams/" + url.PathEscape(id) + rest }

// list reads at most so many items, page by page.
func list[T any](ctx context.Context, c *Client, what, path string, query url.Values, most int) ([]T, error) {
	var all []T
	after := ""
	for len(all) < most {
		q := url.Values{}
		for name, values := range query {
			q[name] = values
		}
		q.Set("limit", strconv.Itoa(min(page, most-len(all))))
		if after != "" {
			q.Set("after", after)
		}
		var got struct {
			Data []T    `json:"data"`
			Last string `json:"last_id"`
			More bool   `json:"has_more"`
		}
		err := c.read(ctx, what, path, q, &got)
		if err != nil {
			return all, err
		}
		all = append(all, got.Data...)
		if !got.More || got.Last == "" || got.Last == after {
			break
		}
		after = got.Last
	}
	return all, nil
}

// Status is how the agent is. It wakes nobody.
func (c *Client) Status(ctx context.Context) (s api.Status, err error) {
	return s, c.read(ctx, "agents that sleep and dream", c.agentPath("/status"), nil, &s)
}

// Journal is the dream journal, the newest entries first. Needs the role operator.
func (c *Client) Journal(ctx context.Context, most int) ([]api.JournalEntry, error) {
	return list[api.JournalEntry](ctx, c, "journal", c.agentPath("/journal"), nil, most)
}

// Dreams are the agent's dreams, the newest first.
func (c *Client) Dreams(ctx context.Context, most int) ([]api.Dream, error) {
	return list[api.Dream](ctx, c, "dreams", "/dreams", url.Values{"agent": {c.s.Agent}}, most)
}

// Dream is one dream, by "dream_iris_0042", "dream/iris/0042" or, of the agent, "0042".
func (c *Client) Dream(ctx context.Context, id string) (d api.Dream, err error) {
	return d, c.read(ctx, "dreams", dreamPath(c.DreamID(id), ""), nil, &d)
}

// DreamID is a dream's id as it stands in addresses; a number alone is one of the agent's.
func (c *Client) DreamID(id string) string {
	id = strings.TrimSpace(id)
	if n, err := strconv.Atoi(id); err == nil && n > 0 {
		return "dream/" + c.s.Agent + "/" + strings.Repeat("0", max(0, 4-len(strconv.Itoa(n)))) + strconv.Itoa(n)
	}
	return id
}

// Fragments are those of a dream, the discarded too. Needs the role operator.
func (c *Client) Fragments(ctx context.Context, dream string) ([]api.Fragment, error) {
	return list[api.Fragment](ctx, c, "dreams", dreamPath(c.DreamID(dream), "/fragments"), nil, mostItems)
}

// Scenarios are those of a dream, the dropped too. Needs the role operator.
func (c *Client) Scenarios(ctx context.Context, dream string) ([]api.Scenario, error) {
	return list[api.Scenario](ctx, c, "dreams", dreamPath(c.DreamID(dream), "/scenarios"), nil, mostItems)
}

// Insights are what a dream brought that the caller may be told.
func (c *Client) Insights(ctx context.Context, dream string) ([]api.Insight, error) {
	var got struct {
		Data []api.Insight `json:"data"`
	}
	err := c.read(ctx, "dreams", dreamPath(c.DreamID(dream), "/insights"), nil, &got)
	return got.Data, err
}

// Claims are what keeps coming true and what is tried. Needs the role operator.
func (c *Client) Claims(ctx context.Context, most int) ([]api.Claim, error) {
	return list[api.Claim](ctx, c, "claims", c.agentPath("/claims"), nil, most)
}

// Claim says why a claim passed or did not. Needs the role operator.
func (c *Client) Claim(ctx context.Context, id string) (e api.ClaimExplanation, err error) {
	return e, c.read(ctx, "claims", c.agentPath("/claims/"+url.PathEscape(id)), nil, &e)
}

// Morning is what is new since a time; the zero time: since a day ago. Needs the role operator.
func (c *Client) Morning(ctx context.Context, since time.Time) (m api.Morning, err error) {
	var query url.Values
	if !since.IsZero() {
		query = url.Values{"since": {since.UTC().Format(time.RFC3339)}}
	}
	return m, c.read(ctx, "mornings", c.agentPath("/morning"), query, &m)
}

// Predictions are what was foretold, the soonest due first. Needs the role operator.
func (c *Client) Predictions(ctx context.Context, status string, most int) ([]api.Prediction, error) {
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	return list[api.Prediction](ctx, c, "predictions", c.agentPath("/predictions"), query, most)
}

// Memories are what comes to the agent's mind, the best first.
func (c *Client) Memories(ctx context.Context, query string, most int) ([]api.Memory, error) {
	var got struct {
		Data []api.Memory `json:"data"`
	}
	err := c.read(ctx, "memory", c.agentPath("/memories"),
		url.Values{"query": {query}, "limit": {strconv.Itoa(most)}}, &got)
	return got.Data, err
}

// Remember adds a statement as the caller's own words. It is sent once.
func (c *Client) Remember(ctx context.Context, text string) (a api.Added, err error) {
	return a, c.write(ctx, "memory", c.agentPath("/memories"), map[string]string{"content": text}, &a)
}

// Rooms are those of the caller.
func (c *Client) Rooms(ctx context.Context) ([]api.Room, error) {
	var got struct {
		Data []api.Room `json:"data"`
	}
	err := c.read(ctx, "rooms", "/rooms", nil, &got)
	return got.Data, err
}

// Room is one room with its members.
func (c *Client) Room(ctx context.Context, id string) (r api.Room, err error) {
	return r, c.read(ctx, "rooms", "/rooms/"+url.PathEscape(id), nil, &r)
}

// Posts are the newest posts of a room, the oldest of them first.
func (c *Client) Posts(ctx context.Context, room string, most int) ([]api.Post, error) {
	var got struct {
		Data []api.Post `json:"data"`
	}
	err := c.read(ctx, "rooms", "/rooms/"+url.PathEscape(room)+"/posts",
		url.Values{"from": {"newest"}, "limit": {strconv.Itoa(most)}}, &got)
	return inOrder(got.Data), err
}

func inOrder(posts []api.Post) []api.Post {
	if len(posts) > 1 && posts[0].Created.After(posts[len(posts)-1].Created) {
		for i, j := 0, len(posts)-1; i < j; i, j = i+1, j-1 {
			posts[i], posts[j] = posts[j], posts[i]
		}
	}
	return posts
}

// DreamRequest describes a dream to begin. What is empty takes the agent's value.
type DreamRequest struct {
	Theme  string
	Tier   string        // core or hardened
	Budget budget.Micros // hard cap
}

// BeginDream lets the agent dream. Needs the role operator. It is sent once.
func (c *Client) BeginDream(ctx context.Context, r DreamRequest) (d api.Dream, err error) {
	body := map[string]any{"agent": c.s.Agent}
	if r.Theme != "" {
		body["theme"] = r.Theme
	}
	if r.Tier != "" {
		body["tier"] = r.Tier
	}
	if r.Budget > 0 {
		body["budget_micros"] = r.Budget
	}
	return d, c.write(ctx, "dreams", "/dreams", body, &d)
}

// CancelDream ends a dream with what it has. Needs the role operator.
func (c *Client) CancelDream(ctx context.Context, id string) (d api.Dream, err error) {
	return d, c.write(ctx, "dreams", dreamPath(c.DreamID(id), "/cancel"), nil, &d)
}

// mostUnmeasured is how many of the newest dreams are asked for their quality.
const mostUnmeasured = 10

// Quality is what the newest dreams yield, as the newest dream that was measured announced it. It is nil when none was,
// as until the fifth dream. Needs the role operator, without which the server leaves such events out.
func (c *Client) Quality(ctx context.Context) (*api.Quality, error) {
	dreams, err := list[api.Dream](ctx, c, "dreams", "/dreams",
		url.Values{"agent": {c.s.Agent}, "status": {"completed"}}, mostUnmeasured)
	if err != nil {
		return nil, err
	}
	for _, d := range dreams {
		if d.Record == nil { // the server shows records to operators only
			return nil, api.RoleError{Need: "operator"}
		}
		events, err := c.past(ctx, Filter{
			Dream: cmp.Or(d.ID, d.Dream),
			Types: []string{event.DreamQuality{}.EventType()},
		}, true)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if q, ok := api.QualityOf(e); ok {
				return &q, nil
			}
		}
	}
	return nil, nil
}
