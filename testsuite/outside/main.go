// Command outside is a program of another module: it runs a dream over its own store and with its own model.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/activities/port/spend"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

func main() {
	address := flag.String("temporal", "127.0.0.1:7233", "address of the Temporal server")
	queue := flag.String("queue", "outside", "task queue")
	flag.Parse()
	c, err := client.Dial(client.Options{HostPort: *address, DataConverter: workflows.DataConverter()})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, store, err := Dream(context.Background(), c, *queue)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Dream, result.Outcome, result.Reason)
	items, err := store.Find(context.Background(), memory.Query{Agent: "echo", Dream: result.Dream})
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range items {
		fmt.Println(item.Header().Kind, item.Text())
	}
}

// Dream runs one dream of an agent with a small memory to its end.
func Dream(ctx context.Context, c client.Client, queue string) (workflows.Result, *Store, error) {
	store, ledger := NewStore(), NewLedger()
	bus, catalog := &presence.LocalBus{}, Catalog()
	models := map[dream.Role]string{}
	for _, role := range dream.Roles {
		models[role] = Writer
	}
	models[dream.Embedder] = Embedder
	s := &starter.Starter{
		Client:   c,
		Memory:   store,
		Presence: store,
		WakeBus:  bus,
		Ledger:   ledger,
		Feeds:    memory.NoFeeds{},
		Catalog:  catalog,
		Now:      time.Now,
		Options: starter.Options{
			TaskQueue: queue,
			Models:    models,
			Knobs:     dream.DefaultKnobs(),
			FleetDay:  budget.Unlimited,
			Settings:  workflows.Settings{WakeLock: time.Second, ClientTimeout: time.Minute},
		},
	}
	ports := activities.Ports{
		Memory:   store,
		Presence: store,
		WakeBus:  bus,
		Guard:    &spend.Guard{Ledger: ledger, Model: Model{}, Catalog: catalog, Now: time.Now},
		Feeds:    memory.NoFeeds{},
		Catalog:  catalog,
		Now:      time.Now,
	}
	worker := workers.New(c, ports, s.Executions(), s, workers.Options{TaskQueue: queue})
	if err := worker.Start(); err != nil {
		return workflows.Result{}, nil, err
	}
	defer worker.Stop()
	if err := remember(ctx, store); err != nil {
		return workflows.Result{}, nil, err
	}
	seed := uint64(7) // with a seed and a date, the same memory gives the same dream
	begun, err := s.Begin(ctx, starter.DreamRequest{Agent: "echo", Seed: &seed, AsOf: evening})
	if err != nil {
		return workflows.Result{}, nil, err
	}
	var result workflows.Result
	err = c.GetWorkflow(ctx, begun.Workflow, "").Get(ctx, &result)
	return result, store, err
}

// evening is the time of the dream.
var evening = time.Date(2026, 10, 19, 22, 0, 0, 0, time.UTC)

// remember stores an agent and what it experienced.
func remember(ctx context.Context, store *Store) error {
	agent := dream.Agent{
		ID:      "echo",
		Handle:  "echo",
		Persona: "Echo keeps a small harbour.",
		Zone:    "UTC",
		Tier:    dream.Core,
		Caps:    dream.DefaultCaps,
		Created: evening.AddDate(0, 0, -9),
	}
	if err := store.PutAgent(ctx, agent); err != nil {
		return err
	}
	var texts []string
	w := memory.Write{Agent: agent.ID, Cause: "import"}
	for i, day := range []string{
		"The ferry from Tallinn was late, and the baker gave its crew bread on credit.",
		"A letter from the orchard said that the bees had come back early.",
		"The clock in the hall stopped when the bridge was opened for the tall ship.",
		"Mara asked twice whether the harbour closes when the ice comes.",
		"The lighthouse keeper repaired the lamp with glass from the old greenhouse.",
		"Two boats stayed on the quay because their owners waited for the spring tide.",
		"The baker's credit was paid back in herring, which nobody had counted on.",
		"Rain filled the rope locker, and the ropes were hung in the hall to dry.",
	} {
		texts = append(texts, day)
		w.Add = append(w.Add, &dream.Episode{
			Head: dream.Head{
				ID: fmt.Sprintf("day-%d", i), Agent: agent.ID, Kind: dream.KindEpisode,
				At: evening.AddDate(0, 0, i-8), State: dream.Live, Taint: dream.FromHuman,
			},
			Content: day, Salience: .6, Surprise: .4,
		})
	}
	vectors, err := Model{}.Embed(ctx, Embedder, texts, "")
	if err != nil {
		return err
	}
	for i, v := range vectors.V {
		w.Vectors = append(w.Vectors, memory.Vector{Item: fmt.Sprintf("day-%d", i), Space: vectors.Space, V: v})
	}
	_, err = store.Commit(ctx, w)
	return err
}

// The ports that this program implements.
var (
	_ memory.DreamStore = (*Store)(nil)
	_ presence.Store    = (*Store)(nil)
	_ spend.Ledger      = (*Ledger)(nil)
	_ inference.Model   = Model{}
)
