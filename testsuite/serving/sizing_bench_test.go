package serving_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/importer"
	"github.com/seed-56a03226/oneiros/internal/redisstore"
	"github.com/seed-56a03226/oneiros/internal/sqlitestore"
	"github.com/seed-56a03226/oneiros/testsuite/footprint"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/redis"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
	"github.com/seed-56a03226/oneiros/workflows"
)

// The day of an agent in the mixed load, and how many of the agents take part: each of these talks or dreams for many
// that rest.
const (
	visitsADay = 100
	nightsADay = 4
	lively     = 200
)

// How long the mixed load goes on before it is measured and while it is.
const (
	warmFor  = 30 * time.Second
	mixedFor = 3 * time.Minute
)

// BenchmarkSizing measures what a turn, a visit, a dream and an agent at rest cost `oneiros up`, its Temporal server
// and Redis, predicts from that what agents with a hundred visits and four nights a day need, and measures a mixed
// load. In that, days are as much shorter as it takes to have the machine busy for a stated share, with the models and
// the clients, which run on it too, so that few agents load it as much as many. The figures of docs/operations.md are
// from it. ONEIROS_SIZING_AGENTS says how many agents there are, 500 otherwise, and ONEIROS_SIZING_PERCENT how much of
// all cores the mixed load is to take, 60 otherwise: less on a machine that does other work.
func BenchmarkSizing(b *testing.B) {
	agents, err := strconv.Atoi(cmp.Or(os.Getenv("ONEIROS_SIZING_AGENTS"), "500"))
	require.NoError(b, err, "ONEIROS_SIZING_AGENTS")
	require.GreaterOrEqual(b, agents, lively, "ONEIROS_SIZING_AGENTS")
	b.Run("sqlite", func(b *testing.B) { size(b, agents, nil) })
	b.Run("redis", func(b *testing.B) { size(b, agents, redis.Start(b)) })
}

func size(b *testing.B, agents int, store *redis.Server) {
	for b.Loop() {
		s := &sized{
			deployment: build(b, talker.Options{}, provider.Options{AtLeast: 40}, sizedSettings(store)),
			store:      store,
		}
		bytes := s.fill(agents)
		filled := s.stored()
		began := time.Now()
		s.begin("up")
		awaitRunning(b, s.temporal, workflows.AgentType, agents)
		b.ReportMetric(time.Since(began).Seconds(), "begun-s")
		server := children(b, s.up.Process.Pid)
		require.Len(b, server, 1, "the Temporal server is the only child")
		s.server = server[0]
		resting := atRest(b, s.server, s.up.Process.Pid)
		resting.report(b, "idle-")
		b.ReportMetric((bytes+s.stored()-filled)/float64(agents), "idle-store-bytes")
		s.spent(func() { <-time.After(restFor) }).ofRest(b)

		s.talk(lively / 2) // the first words to each agent, for which its memory is indexed
		s.dreamOften(4)
		const turns, visits, nights = 1000, 400, 40
		s.spent(func() { s.talk(turns) }).per(turns).report(b, "turn-")
		visit := s.spent(func() { s.visit(10, visits/10*time.Second) }).per(visits)
		visit.report(b, "visit-")
		night := s.spent(func() { s.dreamOften(nights) }).per(nights)
		night.report(b, "dream-")
		s.mixed(agents, resting, visit, night)
		s.end()
	}
}

// mixed measures the mixed load, beside what it was predicted to cost.
func (s *sized) mixed(agents int, resting rest, visit, night cost) {
	b := s.TB.(*testing.B)
	idle := float64(resting.server.cpu+resting.worker.cpu) / float64(resting.took)
	rate := float64(agents) / (24 * time.Hour).Seconds()
	aDay := func(c func(cost) float64) float64 { return rate * (visitsADay*c(visit) + nightsADay*c(night)) }
	product := aDay(cost.cores)
	load := aDay(func(c cost) float64 { return c.load.Seconds() })
	share, err := strconv.ParseFloat(cmp.Or(os.Getenv("ONEIROS_SIZING_PERCENT"), "60"), 64)
	require.NoError(b, err, "ONEIROS_SIZING_PERCENT")
	faster := (share/100*float64(runtime.NumCPU()) - idle) / (product + load)
	require.Positive(b, faster, "ONEIROS_SIZING_PERCENT is less than agents at rest take")
	var left leftOut
	var took time.Duration
	var measured cost
	s.mix(rate*faster*visitsADay, rate*faster*nightsADay, &left, func() {
		from := time.Now()
		measured = s.spent(func() { <-time.After(mixedFor) })
		took = time.Since(from)
	})
	percent := func(cores float64) float64 { return 100 * cores }
	b.ReportMetric(percent(idle+product), "predicted-core-percent")
	b.ReportMetric(faster, "mixed-times-faster")
	b.ReportMetric(rate*faster*visitsADay, "mixed-visits/s")
	b.ReportMetric(rate*faster*nightsADay, "mixed-dreams/s")
	b.ReportMetric(percent(idle+faster*product), "mixed-predicted-core-percent")
	b.ReportMetric(percent(measured.cores()/took.Seconds()), "mixed-core-percent")
	b.ReportMetric(percent(measured.up.Seconds()/took.Seconds()), "mixed-up-core-percent")
	b.ReportMetric(percent(measured.temporal.Seconds()/took.Seconds()), "mixed-temporal-core-percent")
	b.ReportMetric(percent(measured.redis.Seconds()/took.Seconds()), "mixed-redis-core-percent")
	b.ReportMetric(percent(measured.load.Seconds()/took.Seconds()), "mixed-load-core-percent")
	b.ReportMetric(float64(used(b, s.up.Process.Pid).memory)/1e6, "mixed-up-MB")
	b.ReportMetric(float64(used(b, s.server).memory)/1e6, "mixed-temporal-MB")
	b.ReportMetric(float64(left.visits.Load()), "mixed-visits-left-out")
	b.ReportMetric(float64(left.dreams.Load()), "mixed-dreams-left-out")
	b.ReportMetric(float64(left.failedVisits.Load()), "mixed-visits-failed")
	b.ReportMetric(float64(left.failedDreams.Load()), "mixed-dreams-failed")
}

// leftOut counts what a mixed load did not do.
type leftOut struct {
	visits, dreams             atomic.Int64 // as so many were under way
	failedVisits, failedDreams atomic.Int64 // that were not answered, or did not begin, or not end
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

// fill makes the agents, and returns how many bytes they take. Then the lively ones are given the diary to remember.
func (s *sized) fill(agents int) (bytes float64) {
	store, closed := s.open()
	file := diary(s)
	before := s.stored()
	all := make([]dream.Agent, agents)
	for i := range all {
		all[i] = dream.Agent{
			ID:      handle(i),
			Handle:  handle(i),
			Persona: "a quiet research companion",
			Zone:    "UTC",
			Tier:    dream.Hardened,
			Caps:    dream.DefaultCaps,
			Auto:    true,
			Created: time.Now(),
		}
		require.NoError(s, store.PutAgent(s.Context(), all[i]))
	}
	bytes = s.stored() - before
	for _, a := range all[:lively] {
		_, err := importer.Import(s.Context(), store, a, []importer.File{{
			Name:    file,
			ModTime: a.Created,
			Open:    func() (io.ReadCloser, error) { return os.Open(file) },
		}}, importer.Options{})
		require.NoError(s, err)
		require.NoError(s, importer.RequestEmbedding(s.Context(), store, a, a.Created))
	}
	require.NoError(s, closed())
	return bytes
}

func handle(agent int) string { return fmt.Sprintf("agent%06d", agent) }

// fillable is a store that is filled before the deployment begins.
type fillable interface {
	memory.Store
	memory.EmbedQueue
}

// open opens the store for agents that are written directly.
func (s *sized) open() (store fillable, closed func() error) {
	if s.store != nil {
		store, err := redisstore.Open(s.Context(), s.store.URL)
		require.NoError(s, err)
		return store, store.Close
	}
	folder := filepath.Join(s.dir, ".local", "share", "oneiros")
	require.NoError(s, os.MkdirAll(folder, 0o700))
	opened, err := sqlitestore.Open(s.Context(), filepath.Join(folder, "oneiros.db"))
	require.NoError(s, err)
	return opened, opened.Close
}

// cost is what the processes use for some work, or for one piece of it.
type cost struct {
	up, temporal, redis time.Duration      // processor time
	load                time.Duration      // of this process, which is the models and the clients
	commands            map[string]float64 // that Redis executed, those of scripts included
	trips               float64            // reads of Redis from its clients, of which one may hold many commands
	bytes               float64            // by which the store grew: of Redis the memory, of SQLite what is stored in its pages
}

func (c cost) cores() float64 { return (c.up + c.temporal + c.redis).Seconds() }

func (c cost) per(n int) cost {
	d := time.Duration(n)
	of := cost{
		up:       c.up / d,
		temporal: c.temporal / d,
		redis:    c.redis / d,
		load:     c.load / d,
		commands: map[string]float64{},
		trips:    c.trips / float64(n),
		bytes:    c.bytes / float64(n),
	}
	for name, calls := range c.commands {
		of.commands[name] = calls / float64(n)
	}
	return of
}

// scripts are the commands by which a client runs one.
var scripts = []string{"eval", "evalsha", "fcall"}

func (c cost) report(b *testing.B, prefix string) {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	b.ReportMetric(ms(c.up), prefix+"up-ms")
	b.ReportMetric(ms(c.temporal), prefix+"temporal-ms")
	b.ReportMetric(ms(c.load), prefix+"load-ms")
	b.ReportMetric(c.bytes, prefix+"store-bytes")
	if c.redis == 0 {
		return
	}
	b.ReportMetric(ms(c.redis), prefix+"redis-ms")
	b.ReportMetric(c.trips, prefix+"redis-trips")
	var all, run float64
	names := slices.Collect(maps.Keys(c.commands))
	slices.SortFunc(names, func(x, y string) int { return cmp.Compare(c.commands[y], c.commands[x]) })
	var most []string
	for _, name := range names {
		all += c.commands[name]
		if slices.Contains(scripts, name) {
			run += c.commands[name]
		}
		if c.commands[name] >= .5 {
			most = append(most, fmt.Sprintf("%s %.1f", name, c.commands[name]))
		}
	}
	b.ReportMetric(all, prefix+"redis-commands")
	b.ReportMetric(run, prefix+"redis-scripts")
	b.Logf("%sredis-commands: %s", prefix, strings.Join(most, ", "))
}

// ofRest reports what Redis had to do in restFor, in which nobody talked or dreamt.
func (c cost) ofRest(b *testing.B) {
	if c.redis == 0 {
		return
	}
	all := 0.
	for _, calls := range c.commands {
		all += calls
	}
	b.ReportMetric(all/restFor.Seconds(), "idle-redis-commands/s")
	b.ReportMetric(100*c.redis.Seconds()/restFor.Seconds(), "idle-redis-core-percent")
}

// spent is what the processes used while work was done.
func (s *sized) spent(work func()) cost {
	before := s.look()
	work()
	after := s.look()
	used := cost{
		up:       after.up - before.up,
		temporal: after.temporal - before.temporal,
		redis:    after.redis - before.redis,
		load:     after.load - before.load,
		commands: map[string]float64{},
		trips:    after.trips - before.trips,
		bytes:    after.bytes - before.bytes,
	}
	for name, calls := range after.commands {
		used.commands[name] = calls - before.commands[name]
	}
	return used
}

// look is what the processes have used since they began.
func (s *sized) look() cost {
	s.Helper()
	c := cost{
		up:       used(s, s.up.Process.Pid).cpu,
		temporal: used(s, s.server).cpu,
		load:     used(s, os.Getpid()).cpu,
		commands: map[string]float64{},
	}
	c.bytes = s.stored()
	if s.store == nil {
		return c
	}
	c.redis = used(s, s.store.PID()).cpu
	text, err := s.store.Dial(s).Info(s.Context(), "everything").Result()
	require.NoError(s, err)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if command, is := strings.CutPrefix(name, "cmdstat_"); is {
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			c.commands[command], err = strconv.ParseFloat(calls, 64)
			require.NoError(s, err, "%s", line)
		}
		if name == "total_reads_processed" {
			c.trips, err = strconv.ParseFloat(value, 64)
			require.NoError(s, err, "%s", line)
		}
	}
	return c
}

// stored is what the store takes, in bytes.
func (s *sized) stored() float64 {
	s.Helper()
	if s.store == nil {
		space, err := footprint.File(s.Context(), filepath.Join(s.dir, ".local", "share", "oneiros", "oneiros.db"))
		require.NoError(s, err)
		return float64(space.Live)
	}
	text, err := s.store.Dial(s).Info(s.Context(), "memory").Result()
	require.NoError(s, err)
	_, value, found := strings.Cut(text, "\r\nused_memory:")
	require.True(s, found, "%s", text)
	value, _, _ = strings.Cut(value, "\r\n")
	bytes, err := strconv.ParseFloat(value, 64)
	require.NoError(s, err)
	return bytes
}

// talk has so many turns of the agents that talk, eight at a time.
func (s *sized) talk(turns int) {
	next := make(chan int)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			c := s.client()
			for i := range next {
				s.says(c, handle(i%(lively/2)), fmt.Sprintf("On day %d the lighthouse keeper wrote entry %d.", i%30, i))
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
			assert.NoError(s, s.night(ofDreams(i)))
			<-slots
		})
	}
	group.Wait()
}

// ofDreams is one of the half of the lively agents that dreams. The other half talks.
func ofDreams(i int) string { return handle(lively/2 + i%(lively/2)) }

// How long a dream may take to begin and to end, and how often it is looked at.
const (
	nightTakes = 3 * time.Minute
	nightEach  = time.Second
)

// night has one agent dream to the end.
func (s *sized) night(agent string) error {
	var begun struct{ ID string }
	var fault error
	for until := time.Now().Add(nightTakes); ; time.Sleep(nightEach) {
		status, _, body := s.ask(http.MethodPost, "/v1/dreams", `{"agent":"`+agent+`","tier":"hardened"}`)
		if status/100 == 2 {
			fault = json.Unmarshal([]byte(body), &begun)
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s begins no dream: %d %s", agent, status, body)
		}
	}
	var ended struct{ Status, Outcome string }
	for until := time.Now().Add(nightTakes); fault == nil; time.Sleep(nightEach) {
		_, _, body := s.ask(http.MethodGet, "/v1/dreams/"+begun.ID, "")
		fault = json.Unmarshal([]byte(body), &ended)
		if ended.Outcome != "" && ended.Outcome != "woken" {
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s does not end: %s", begun.ID, body)
		}
	}
	return fault
}

// visit has so many turns a second, each of an agent that has fallen asleep since it was talked to last.
func (s *sized) visit(rate float64, long time.Duration) {
	c := s.client()
	pace(s.Context(), rate, int(rate*long.Seconds()), nil, func(i int) { assert.NoError(s, s.visits(c, i)) })
}

// visits makes one visit.
func (s *sized) visits(c *openai.Client, i int) error {
	stream, err := c.CreateChatCompletionStream(s.Context(), openai.ChatCompletionRequest{
		Model:  handle(i % (lively / 2)),
		Stream: true,
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: fmt.Sprintf("Tide %d was at pier %d.", i%24,
			i)}},
	})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// mix has visits and dreams at these rates a second, until what is measured has ended.
func (s *sized) mix(visits, dreams float64, left *leftOut, measure func()) {
	ctx, stop := context.WithCancel(s.Context())
	var group sync.WaitGroup
	c := s.client()
	count := func(failed *atomic.Int64, err error) {
		if err != nil && failed.Add(1) == 1 {
			s.Logf("the first failure: %v", err)
		}
	}
	group.Go(func() {
		pace(ctx, visits, math.MaxInt, &left.visits, func(i int) { count(&left.failedVisits, s.visits(c, i)) })
	})
	group.Go(func() {
		pace(ctx, dreams, math.MaxInt, &left.dreams, func(i int) { count(&left.failedDreams, s.night(ofDreams(i))) })
	})
	<-time.After(warmFor)
	measure()
	stop()
	group.Wait()
}

// pace acts so many times a second, at most so many times in all. Where it counts what is left out, it acts no more than
// as many times at once as agents take part.
func pace(ctx context.Context, rate float64, times int, left *atomic.Int64, act func(i int)) {
	slots := make(chan struct{}, lively/2)
	var group sync.WaitGroup
	defer group.Wait()
	ticker := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer ticker.Stop()
	for i := range times {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		select {
		case slots <- struct{}{}:
			group.Go(func() {
				act(i)
				<-slots
			})
		default:
			if left != nil {
				left.Add(1)
			}
		}
	}
}
