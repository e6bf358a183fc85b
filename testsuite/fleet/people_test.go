package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/soak"
)

// mark is a word that no two exchanges share. It says which agent, principal and user they belong to.
var mark = regexp.MustCompile(`\bq(\d\d)p(\d)u(\d)n(\d{5})z\b`)

// exchange is a question and its answer, as the client saw them.
type exchange struct {
	Mark, Agent, Owner string
	Request, Response  string // word for word; Response is empty without a whole answer
	Began, Ended       time.Time
	Server             string
	Answered           bool   // the client got 200 and everything up to the end
	Fault              string // what it got instead
	Status             int
	RetryAfter         string
}

// person is a user of a key, who talks with all agents.
type person struct {
	t               *trial
	principal, user int
	dice            *rand.Rand
	http            *http.Client
}

// crowd is what people said, and what models were sent.
type crowd struct {
	mu     sync.Mutex
	all    []exchange
	number int
	leaks  []string
}

func (c *crowd) exchanges() []exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

func (c *crowd) leak(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaks = append(c.leaks, fmt.Sprintf(format, args...))
}

// foreign names the first mark in a text that is not of an agent, or, unless owner is empty, not of an owner.
func foreign(text, agent, owner string) string {
	for _, m := range mark.FindAllStringSubmatch(text, -1) {
		if agentName(m[1]) != agent || owner != "" && m[2]+m[3] != owner {
			return m[0]
		}
	}
	return ""
}

// dreamt looks at what the model of dreams is sent: words of one agent alone.
func (c *crowd) dreamt(r provider.Request) string {
	if m := mark.FindStringSubmatch(r.Prompt); m != nil {
		if other := foreign(r.Prompt, agentName(m[1]), ""); other != "" {
			c.leak("a prompt of a dream has %s beside %s", m[0], other)
		}
	}
	return ""
}

// answer is what the model of talks says: the last mark that it was sent, with words of its own. It is sent words of one
// agent and one user alone.
func (c *crowd) answer(r provider.Request) string {
	marks := mark.FindAllStringSubmatch(r.Prompt, -1)
	if len(marks) == 0 {
		c.leak("a talk without a mark: %s", r.Prompt)
		return ""
	}
	last := marks[len(marks)-1]
	if other := foreign(r.Prompt, agentName(last[1]), last[2]+last[3]); other != "" {
		c.leak("a prompt of the talk of %s has %s", last[0], other)
	}
	return answerTo(last[0])
}

func answerTo(m string) string {
	dice := rand.New(rand.NewPCG(0, uint64(len(m))+hashed(m)))
	return fmt.Sprintf("Note that %s is entered in book %x on shelf %x.", m, dice.Uint32(), dice.Uint32())
}

func hashed(s string) (h uint64) {
	for _, b := range []byte(s) {
		h = h*1099511628211 ^ uint64(b)
	}
	return h
}

// talk says something every now and then until the context ends. What runs then is finished first.
func (p *person) talk(ctx context.Context) {
	defer p.http.CloseIdleConnections()
	for {
		timer := time.NewTimer(time.Duration(100+p.dice.IntN(500)) * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		p.say(p.dice.IntN(len(p.t.agents)))
	}
}

func (p *person) say(agent int) exchange {
	c := &p.t.crowd
	c.mu.Lock()
	c.number++
	n := c.number
	c.mu.Unlock()
	m := fmt.Sprintf("q%02dp%du%dn%05dz", agent, p.principal, p.user, n)
	e := exchange{
		Mark:  m,
		Agent: p.t.agents[agent].Handle,
		Owner: fmt.Sprintf("talk/%s/%s", principalName(p.principal), userName(p.user)),
		Request: fmt.Sprintf("Please remember that crate %s went to port %x with %x.", m, p.dice.Uint64(),
			p.dice.Uint32()),
		Began: time.Now(),
	}
	p.exchange(&e, p.dice.IntN(2) == 0)
	e.Ended = time.Now()
	if other := foreign(e.Response, e.Agent, fmt.Sprintf("%d%d", p.principal, p.user)); other != "" {
		c.leak("the answer to %s has %s", m, other)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, e)
	return e
}

func (p *person) exchange(e *exchange, streamed bool) {
	text, _ := json.Marshal(e.Request)
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":%s}]}`, e.Agent, streamed, text)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.t.base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		e.Fault = err.Error()
		return
	}
	r.Header.Set("Authorization", "Bearer "+p.t.keys[principalName(p.principal)])
	r.Header.Set("X-Oneiros-User", userName(p.user))
	res, err := p.http.Do(r)
	if err != nil {
		e.Fault = err.Error()
		return
	}
	defer func() { _ = res.Body.Close() }()
	var all bytes.Buffer
	_, err = io.Copy(&all, res.Body)
	e.Status, e.Server = res.StatusCode, res.Header.Get(servedBy)
	e.RetryAfter = res.Header.Get("Retry-After")
	whole := strings.Contains(all.String(), `"finish_reason":"stop"`)
	if streamed {
		whole = strings.HasSuffix(all.String(), "data: [DONE]\n\n")
	}
	if err != nil || res.StatusCode != http.StatusOK || !whole {
		e.Fault = fmt.Sprintf("%d, %v: %s", res.StatusCode, err, all.String())
		return
	}
	e.Answered, e.Response = true, soak.TextOf(all.String())
}

// people lets everybody talk until the function that it returns is called.
func (t *trial) people() (leave func()) {
	ctx, cancel := context.WithCancel(t.ctx)
	var all sync.WaitGroup
	for principal := range t.principals {
		for user := range usersOfAKey {
			t.began++
			p := &person{
				t: t, principal: principal, user: user, http: &http.Client{Transport: &http.Transport{}},
				dice: rand.New(rand.NewPCG(t.seed, uint64(t.began))),
			}
			all.Go(func() { p.talk(ctx) })
		}
	}
	return func() {
		cancel()
		all.Wait()
	}
}
