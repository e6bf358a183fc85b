package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
)

// clocksApart is how far two clocks may be apart before it is a warning.
const clocksApart = 30 * time.Second

// Check looks at the connection, one line for each thing: the server, the key, the agent, its state, the models, the
// clocks. It wakes nobody and costs nothing.
func (c *Client) Check(ctx context.Context) []api.Line {
	var lines []api.Line
	add := func(name, level, says, fix string) {
		lines = append(lines, api.Line{Name: name, Level: level, Says: says, Fix: fix})
	}
	s, err := c.Probe(ctx)
	if err != nil {
		level, fix := api.Failure, "Start the server with: oneiros up"
		if e, ok := errors.AsType[*api.Error](err); ok && e.Status == 401 {
			fix = "Give a key that oneiros keys add has made."
		} else if ok || errors.Is(err, errNoJSON) {
			fix = "Check the address of the server."
		}
		add("server", level, err.Error(), fix)
		return lines
	}
	add("server", api.OK, fmt.Sprintf("%s is %s", c.base, s.Kind), "")
	if c.inClear() {
		add("transport", api.Warning, "the key crosses the network unencrypted", "Use an address that begins with https://.")
	}
	switch {
	case s.HasAgent:
		add("agent", api.OK, fmt.Sprintf("%s is there", c.s.Agent), "")
	case len(s.Models) == 0:
		add("agent", api.Failure, "the key reaches no agent", "Make one with: oneiros agents add NAME")
	default:
		add("agent", api.Failure, fmt.Sprintf("there is no %q; %s", c.s.Agent, named(s.Models)), "Name one of these.")
	}
	add("models", api.OK, pricesOf(s.Models), "")
	if s.Kind == Plain {
		add("presence", api.Note, "this server is no Oneiros: it has no memory, no dreams and no presence", "")
	} else if s.HasAgent {
		lines = append(lines, c.role(ctx), c.state(ctx))
	}
	return append(lines, clocks(s.Ahead))
}

// inClear reports whether a key is sent without encryption to another machine.
func (c *Client) inClear() bool {
	u, err := url.Parse(c.base)
	if err != nil || u.Scheme != "http" || c.s.Key == "" || u.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback()
}

// role finds out the key's role by what it may read.
func (c *Client) role(ctx context.Context) api.Line {
	line := api.Line{Name: "role", Level: api.OK}
	_, err := list[api.JournalEntry](ctx, c, "journal", c.agentPath("/journal"), nil, 1)
	if errors.Is(err, api.ErrRole) {
		line.Level = api.Note
		line.Says = "the key has the role client: journal, claims, fragments and morning need the role operator"
		return line
	}
	if err != nil {
		return api.Line{Name: "role", Level: api.Warning, Says: err.Error()}
	}
	err = c.read(ctx, "owners", c.agentPath("/owners"), nil, nil)
	switch {
	case errors.Is(err, api.ErrRole):
		line.Says = "the key has the role operator"
	case err != nil:
		line.Level, line.Says = api.Warning, err.Error()
	case c.s.Key == "":
		line.Says = "no key is needed: everyone on the server's machine is its owner"
	default:
		line.Says = "the key has the role owner"
	}
	return line
}

func (c *Client) state(ctx context.Context) api.Line {
	s, err := c.Status(ctx)
	if err != nil {
		return api.Line{Name: "presence", Level: api.Warning, Says: err.Error()}
	}
	says := fmt.Sprintf("%s is %s", c.s.Agent, s.State)
	if s.Leases == 1 {
		says += ", held awake by 1 client"
	} else if s.Leases > 1 {
		says += fmt.Sprintf(", held awake by %d clients", s.Leases)
	}
	return api.Line{Name: "presence", Level: api.OK, Says: says}
}

// pricesOf says how many models there are, and what is known of their prices.
func pricesOf(models []api.Model) string {
	free, paid := 0, 0
	for _, m := range models {
		switch {
		case m.Free():
			free++
		case m.Pricing != nil:
			paid++
		}
	}
	parts := []string{fmt.Sprintf("%d listed", len(models))}
	if free > 0 {
		parts = append(parts, fmt.Sprintf("%d free", free))
	}
	if paid > 0 {
		parts = append(parts, fmt.Sprintf("%d paid", paid))
	}
	if free+paid < len(models) {
		parts = append(parts, "the server does not say what all cost")
	}
	return strings.Join(parts, ", ")
}

func clocks(ahead time.Duration) api.Line {
	line := api.Line{Name: "clock", Level: api.OK, Says: "the server's clock and ours agree"}
	if ahead.Abs() < clocksApart {
		return line
	}
	way := "ahead of"
	if ahead < 0 {
		way = "behind"
	}
	line.Level = api.Warning
	line.Says = fmt.Sprintf("the server's clock is %s %s ours", api.Span(ahead.Abs()), way)
	line.Fix = "Set both clocks by the network (NTP), or times in Hermes mislead."
	return line
}
