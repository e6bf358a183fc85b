package serving_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/footprint"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/workflows"
)

// The day of an agent in the mixed load, and how many of the agents take part: each of these talks and dreams for many
// that rest.
const (
	turnsADay  = 100
	nightsADay = 4
	lively     = 100
	mixedFor   = 4 * time.Minute
)

// BenchmarkSizing measures what a turn, a dream and an agent at rest cost `oneiros up`, its Temporal server and Redis,
// predicts from that what agents with a hundred turns and four nights a day need, and measures these. The figures of
// docs/operations.md are from it. ONEIROS_SIZING_AGENTS says how many agents there are, 500 otherwise.
func BenchmarkSizing(b *testing.B) {
	agents, err := strconv.Atoi(cmp.Or(os.Getenv("ONEIROS_SIZING_AGENTS"), "500"))
	require.NoError(b, err, "ONEIROS_SIZING_AGENTS")
	b.Run("sqlite", func(b *testing.B) { size(b, agents, nil) })
	b.Run("redis", func(b *testing.B) { size(b, agents, redis.Start(b)) })
}

func size(b *testing.B, agents int, store *redis.Server) {
	for b.Loop() {
		s := &sized{
			deployment: build(b, talker.Options{}, provider.Options{AtLeast: 40}, sizedSettings(store)),
			store:      store,
		}
		s.fill(agents)
		s.begin("up")
		awaitRunning(b, s.temporal, workflows.AgentType, agents)
		server := children(b, s.up.Process.Pid)
		require.Len(b, server, 1, "the Temporal server is the only child")
		s.server = server[0]
		resting := atRest(b, s.server, s.up.Process.Pid)
		resting.report(b, "idle-")

		const turns, visits, nights = 1000, 400, 40
		s.spent(func() { s.talk(turns) }).per(turns).report(b, "turn-")
		visit := s.spent(func() { s.visit(10, visits/10*time.Second) }).per(visits)
		visit.report(b, "visit-")
		night := s.spent(func() { s.dreamOften(nights) }).per(nights)
		night.report(b, "dream-")

		rate := float64(agents) / (24 * time.Hour).Seconds()
		idle := float64(resting.server.cpu+resting.worker.cpu) / float64(resting.took)
		predicted := idle + rate*(turnsADay*visit.cores()+nightsADay*night.cores())
		began := time.Now()
		mixed := s.spent(func() { s.mix(rate*turnsADay, rate*nightsADay) })
		b.ReportMetric(100*predicted, "predicted-core-percent")
		b.ReportMetric(100*mixed.cores()/time.Since(began).Seconds(), "mixed-core-percent")
		b.ReportMetric(float64(used(b, s.up.Process.Pid).memory)/1e6, "mixed-up-MB")
		b.ReportMetric(float64(used(b, s.server).memory)/1e6, "mixed-temporal-MB")
		s.end()
	}
}

// sizedSettings lets no agent dream by itself while it is measured.
func sizedSettings(store *redis.Server) string {
	hours := time.Now().UTC().Add(4 * time.Hour).Truncate(time.Hour)
	text := fmt.Sprintf(`serve: {listen: "127.0.0.1:0", model: talk/talker, rate: 0}
consent: {auto_paid: true}
agent: {client_timeout: 1s, wake_lock: 1s, jitter: 0s, windows: "%s-%s"}
money: {fleet_day: unlimited}
`, hours.Format("15:04"), hours.Add(time.Hour).Format("15:04"))
	if store != nil {
		text += fmt.Sprintf("store: {url: %q}\n", store.URL)
	}
	return text
}

// sized is a deployment whose processes are measured.
type sized struct {
	*deployment
	store  *redis.Server // nil: SQLite
	server int           // process id of the Temporal server
}

// fill makes the agents. The lively ones remember the diary.
func (s *sized) fill(agents int) {
	for i := range lively {
		s.must("agents", "add", handle(i), "--auto", "--persona", "a quiet research companion")
		s.must("memory", "import", "--agent", handle(i), diary(s))
	}
	put, closed := s.open()
	for i := lively; i < agents; i++ {
		require.NoError(s, put(dream.Agent{ID: fmt.Sprintf("ag_%06d", i), Handle: handle(i), Auto: true}))
	}
	require.NoError(s, closed())
}

func handle(agent int) string { return fmt.Sprintf("agent%06d", agent) }

// open opens the store for agents that are written directly.
func (s *sized) open() (put func(dream.Agent) error, closed func() error) {
	if s.store != nil {
		store, err := redisstore.Open(s.Context(), s.store.URL)
		require.NoError(s, err)
		return func(a dream.Agent) error { return store.PutAgent(s.Context(), a) }, store.Close
	}
	store, err := sqlitestore.Open(s.Context(), filepath.Join(s.dir, ".local", "share", "oneiros", "oneiros.db"))
	require.NoError(s, err)
	return func(a dream.Agent) error { return store.PutAgent(s.Context(), a) }, store.Close
}

// cost is what the processes use for some work, or for one piece of it.
type cost struct {
	up, temporal, redis time.Duration // processor time
	commands            float64       // that Redis answered
	bytes               float64       // by which the store grew: of Redis the memory, of SQLite what is stored in its pages
}

func (c cost) cores() float64 { return (c.up + c.temporal + c.redis).Seconds() }

func (c cost) per(n int) cost {
	d := time.Duration(n)
	return cost{
		up:       c.up / d,
		temporal: c.temporal / d,
		redis:    c.redis / d,
		commands: c.commands / float64(n),
		bytes:    c.bytes / float64(n),
	}
}

func (c cost) report(b *testing.B, prefix string) {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	b.ReportMetric(ms(c.up), prefix+"up-ms")
	b.ReportMetric(ms(c.temporal), prefix+"temporal-ms")
	b.ReportMetric(c.bytes, prefix+"store-bytes")
	if c.redis > 0 {
		b.ReportMetric(ms(c.redis), prefix+"redis-ms")
		b.ReportMetric(c.commands, prefix+"redis-commands")
	}
}

// spent is what the processes used while work was done.
func (s *sized) spent(work func()) cost {
	before := s.look()
	work()
	after := s.look()
	return cost{
		up:       after.up - before.up,
		temporal: after.temporal - before.temporal,
		redis:    after.redis - before.redis,
		commands: after.commands - before.commands,
		bytes:    after.bytes - before.bytes,
	}
}

// look is what the processes have used since they began.
func (s *sized) look() cost {
	s.Helper()
	c := cost{up: used(s, s.up.Process.Pid).cpu, temporal: used(s, s.server).cpu}
	if s.store == nil {
		space, err := footprint.File(s.Context(), filepath.Join(s.dir, ".local", "share", "oneiros", "oneiros.db"))
		require.NoError(s, err)
		c.bytes = float64(space.Live)
		return c
	}
	c.redis = used(s, s.store.PID()).cpu
	text, err := s.store.Dial(s).Info(s.Context(), "everything").Result()
	require.NoError(s, err)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "total_commands_processed":
			c.commands = n
		case "used_memory":
			c.bytes = n
		}
	}
	return c
}

// talk has so many turns of the lively agents, eight at a time.
func (s *sized) talk(turns int) {
	next := make(chan int)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			c := s.client()
			for i := range next {
				s.says(c, handle(i%lively), fmt.Sprintf("On day %d the lighthouse keeper wrote entry %d.", i%30, i))
			}
		})
	}
	for i := range turns {
		next <- i
	}
	close(next)
	group.Wait()
}

// dreamOften has so many whole dreams, four at a time.
func (s *sized) dreamOften(dreams int) {
	slots := make(chan int, 4)
	var group sync.WaitGroup
	for i := range dreams {
		slots <- i
		group.Go(func() {
			s.night(handle(i % lively))
			<-slots
		})
	}
	group.Wait()
}

// night has one agent dream to the end.
func (s *sized) night(agent string) {
	var begun struct{ ID string }
	require.Eventually(s, func() bool {
		status, _, body := s.ask(http.MethodPost, "/v1/dreams", `{"agent":"`+agent+`","tier":"hardened"}`)
		return status/100 == 2 && json.Unmarshal([]byte(body), &begun) == nil
	}, 5*time.Minute, 500*time.Millisecond, "%s begins to dream", agent)
	var ended struct{ Status, Outcome string }
	require.Eventually(s, func() bool {
		_, _, body := s.ask(http.MethodGet, "/v1/dreams/"+begun.ID, "")
		require.NoError(s, json.Unmarshal([]byte(body), &ended), body)
		return ended.Outcome != "" && ended.Outcome != "woken"
	}, 5*time.Minute, 500*time.Millisecond, "%s", begun.ID)
}

// visit has so many turns a second, each of an agent that has fallen asleep since it was talked to last.
func (s *sized) visit(rate float64, long time.Duration) {
	c := s.client()
	pace(rate, long, func(i int) {
		s.says(c, handle(i%(lively/2)), fmt.Sprintf("The tide of hour %d was high at pier %d.", i%24, i))
	})
}

// mix has visits and dreams at these rates a second. Half of the lively agents talk, the others dream.
func (s *sized) mix(visits, dreams float64) {
	var group sync.WaitGroup
	group.Go(func() { s.visit(visits, mixedFor) })
	group.Go(func() { pace(dreams, mixedFor, func(i int) { s.night(handle(lively/2 + i%(lively/2))) }) })
	group.Wait()
}

// pace acts so many times a second, and waits for the last to end.
func pace(rate float64, long time.Duration, act func(i int)) {
	var group sync.WaitGroup
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer ticker.Stop()
	for i := range int(rate * long.Seconds()) {
		<-ticker.C
		group.Go(func() { act(i) })
	}
	group.Wait()
}
