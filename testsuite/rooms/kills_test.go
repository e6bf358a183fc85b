package rooms_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/testsuite/chaos"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
)

// How many histories are played: reduced, and in full.
const (
	killHistories     = 3
	fullKillHistories = 40
	killSteps         = 14
)

// The agents of a history: one is called, by people and by the other.
const called, caller = "called", "caller"

// disaster is one history: posts, commands and timers, with workers, the process that takes posts and Temporal itself
// killed among them.
type disaster struct {
	*scene
	dice   *rand.Rand
	crew   *chaos.Workers
	agents map[string]dream.Agent
	room   string
	posted int
	kills  map[string]int // by what was killed
	story  []string
}

// In the end every mention has one record that says how it ended, every sleep with an end is over, and no post has two
// replies, whichever process was killed.
func TestRandomHistoriesOutliveKilledProcesses(t *testing.T) {
	t.Parallel()
	histories := killHistories
	if os.Getenv("PROVE") == "full" {
		histories = fullKillHistories
	}
	s := openSceneOn(t, nil, temporal.Start(t, temporal.OnFile(t.TempDir()+"/temporal.db")),
		time.Duration(histories)*time.Minute)
	total, posts := map[string]int{}, 0
	for i := range histories {
		d := s.disaster(t, uint64(i+1))
		d.run(t)
		for what, n := range d.kills {
			total[what] += n
		}
		posts += d.posted
	}
	t.Logf("%d histories with %d posts: killed %v", histories, posts, total)
	require.Greater(t, total["worker"], 0)
	require.Greater(t, total["temporal"], 0)
	require.Greater(t, total["server"], 0)
}

func (s *scene) disaster(t *testing.T, seed uint64) *disaster {
	d := &disaster{
		scene: s, dice: rand.New(rand.NewPCG(seed, 17)), crew: s.crew(2), agents: map[string]dream.Agent{},
		room: fmt.Sprintf("room-%d", seed), kills: map[string]int{},
	}
	handles := []string{fmt.Sprintf("%s-%d", called, seed), fmt.Sprintf("%s-%d", caller, seed)}
	for i, a := range s.addAgents(handles...) {
		d.agents[[]string{called, caller}[i]] = a
	}
	s.hall(d.room, handles...)
	_, err := s.rooms.SetDormancy(s.ctx, owner, handles[1], rooms.DormancyRequest{Level: dormancy.MentionOnly})
	require.NoError(t, err)
	return d
}

func (d *disaster) run(t *testing.T) {
	steps := []func(){
		d.person, d.person, d.agent, d.agent, d.sleep, d.killWorker, d.killWorker, d.killServer, d.killTemporal,
	}
	for range killSteps {
		steps[d.dice.IntN(len(steps))]()
	}
	// what maintenance does each minute
	require.Eventually(t, func() bool {
		_ = d.rooms.Sweep(d.ctx, time.Minute)
		return len(d.open(t)) == 0
	}, 2*time.Minute, 100*time.Millisecond, "this stays open: %s\n%s", stringer(func() string {
		return strings.Join(d.open(t), "; ")
	}), stringer(func() string { return strings.Join(d.story, "\n") }))
	require.Empty(t, d.twice(t), strings.Join(d.story, "\n"))
	require.NoError(t, d.crew.Panics())
	d.crew.KillAll()
}

// stringer is a text that is made when it is printed.
type stringer func() string

func (s stringer) String() string { return s() }

func (d *disaster) did(format string, args ...any) {
	d.story = append(d.story, fmt.Sprintf(format, args...))
}

func (d *disaster) mention() string {
	d.posted++
	return fmt.Sprintf("@%s, question %d?", d.agents[called].Handle, d.posted)
}

func (d *disaster) person() {
	d.did("a person posts %s", d.say(d.room, "", d.mention()).Post.ID)
}

func (d *disaster) agent() {
	d.did("an agent posts %s", d.say(d.room, d.agents[caller].Handle, d.mention()).Post.ID)
}

// sleep ends by a timer of Temporal, which may be away when it is set: then the levels are set all the same.
func (d *disaster) sleep() {
	_, err := d.rooms.SetDormancy(d.ctx, owner, d.agents[called].Handle,
		rooms.DormancyRequest{Level: dormancy.Sleep, For: fmt.Sprintf("%ds", 1+d.dice.IntN(3))})
	require.NoError(d, err)
	d.did("it sleeps")
}

func (d *disaster) killWorker() {
	i := d.dice.IntN(2)
	d.crew.Kill(i)
	require.NoError(d, d.crew.Replace(i))
	d.kills["worker"]++
	d.did("worker %d is killed", i)
}

func (d *disaster) killTemporal() {
	d.server.Kill()
	d.did("Temporal is killed")
	d.person()
	d.server.Restart()
	d.kills["temporal"]++
	d.did("Temporal is back")
}

// killServer leaves what a process leaves that is killed after it has taken a post, and before it asked its model.
func (d *disaster) killServer() {
	agent := d.agents[called].ID
	body := d.mention()
	posted, err := d.deployment.Store.Rooms().Post(d.ctx, room.Draft{
		Room: d.room, Author: room.PersonID("local"), Key: body, Body: body,
		Mentions: []room.Mention{{Who: room.AgentID(agent), Name: d.agents[called].Handle}}, Now: time.Now(),
	}, func(room.Situation) room.Decision {
		return room.Decision{Deliveries: []room.Delivery{{Agent: agent, Outcome: room.Queued, Priority: 5}}}
	})
	require.NoError(d, err)
	_, err = d.deployment.Store.Rooms().Take(d.ctx, room.Take{
		Agent: agent, Holder: "a process that died", For: d.deployment.Config.RoomLease, Now: time.Now(),
		Keys: []string{posted.Post.ID},
	})
	require.NoError(d, err)
	d.kills["server"]++
	d.did("the server is killed with %s", posted.Post.ID)
}

func (d *disaster) posts(t *testing.T) []room.Post {
	page, err := d.rooms.History(d.ctx, owner, room.Query{Room: d.room, From: room.Oldest, Limit: 500})
	require.NoError(t, err)
	require.False(t, page.More)
	return page.Posts
}

// open lists what has not come to its end.
func (d *disaster) open(t *testing.T) (open []string) {
	handle := d.agents[called].Handle
	levels, err := d.rooms.Dormancy(d.ctx, owner, handle)
	require.NoError(t, err)
	for _, l := range levels {
		if l.Level == dormancy.Sleep {
			open = append(open, fmt.Sprintf("it sleeps until %s", l.Until))
		}
	}
	calls := map[string][]room.Wake{}
	for after := int64(0); ; {
		some, err := d.rooms.Calls(d.ctx, owner, handle, after, 0)
		require.NoError(t, err)
		if len(some) == 0 {
			break
		}
		for _, w := range some {
			calls[w.Key], after = append(calls[w.Key], w), w.Number
		}
	}
	for _, p := range d.posts(t) {
		if len(p.Mentions) == 0 || p.Author == room.AgentID(d.agents[called].ID) {
			continue
		}
		switch records := calls[p.ID]; {
		case len(records) != 1:
			open = append(open, fmt.Sprintf("%s has %d records", p.ID, len(records)))
		case records[0].Outcome == room.Queued:
			open = append(open, fmt.Sprintf("%s waits: %s", p.ID, records[0].Reason))
		case records[0].Outcome != room.Replied && records[0].Reason == "":
			open = append(open, fmt.Sprintf("%s is %s without a reason", p.ID, records[0].Outcome))
		}
	}
	return open
}

// twice lists the posts that are answered more than once.
func (d *disaster) twice(t *testing.T) (twice []string) {
	times := map[string]int{}
	for _, p := range d.posts(t) {
		if p.Author != room.AgentID(d.agents[called].ID) || p.Form != room.Message {
			continue
		}
		times[p.ReplyTo]++
		for _, offset := range strings.Fields(p.Meta["answers"]) {
			times[p.Room+"/"+offset]++
		}
	}
	for post, n := range times {
		if n > 1 {
			twice = append(twice, fmt.Sprintf("%s is answered %d times", post, n))
		}
	}
	return twice
}

// The control: what a killed process leaves is open while nobody looks for it, and a second reply is noticed.
func TestTheAuditOfKilledProcessesNotices(t *testing.T) {
	t.Parallel()
	d := openScene(t, nil).disaster(t, 9000)
	d.killServer()
	require.NotEmpty(t, d.open(t))
	question := d.posts(t)[0].ID
	for range 2 {
		_, err := d.rooms.Post(d.ctx, owner, rooms.PostRequest{
			Room: d.room, As: d.agents[called].Handle, Body: "Here I am.", ReplyTo: question,
		})
		require.NoError(t, err)
	}
	require.Len(t, d.twice(t), 1)
}
