package recording_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/internal/answers"
	"github.com/seed-56a03226/oneiros/internal/openaigw"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

// recorderOf holds a recorder as JSON. Where it is set, this test program is that recorder.
const recorderOf = "ONEIROS_TEST_RECORDER"

// noMoney is the exit code of a recorder that the cap stopped.
const noMoney = 3

func TestMain(m *testing.M) {
	config, isRecorder := os.LookupEnv(recorderOf)
	if !isRecorder {
		os.Exit(m.Run())
	}
	var r recorder
	err := json.Unmarshal([]byte(config), &r)
	if err == nil {
		err = r.run(context.Background())
	}
	f, failed := inference.AsFailure(err)
	switch {
	case failed && f.Kind == inference.NoMoney:
		os.Exit(noMoney)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// recorder is a process in which two arms make the same requests at once. It prints a line for each answer.
type recorder struct {
	URL      string
	File     string
	Most     budget.Micros
	Requests int

	mu sync.Mutex // over standard output
}

// atOnce is how many requests of one arm run at the same time.
const atOnce = 4

var price = budget.Price{In: 1_000_000, CachedIn: 1_000_000, Out: 4_000_000}

// models gives each request a model of its own, by whose name the provider's bill says what was paid.
func models(requests int) []provider.Model {
	var all []provider.Model
	for i := range requests {
		all = append(all,
			provider.Model{Name: fmt.Sprint("writer-", i), Price: &price},
			provider.Model{Name: fmt.Sprint("embedder-", i), Price: &price, Dim: 4})
	}
	return all
}

// times is how often an arm makes the request to writer i.
func times(i int) int { return 1 + i%2 }

func (r *recorder) run(ctx context.Context) error {
	catalog := provider.Catalog("p", models(r.Requests))
	gateway, err := openaigw.New(openaigw.Options{Name: "p", BaseURL: r.URL, Catalog: catalog})
	if err != nil {
		return err
	}
	log, err := answers.Open(r.File, r.Most)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	faults := make([]error, 2*atOnce)
	for arm := range 2 {
		m := log.Model(gateway, catalog)
		for first := range atOnce {
			group.Go(func() {
				for i := first; i < r.Requests; i += atOnce {
					fault := errors.Join(r.generate(ctx, m, i), r.embed(ctx, m, i))
					if fault != nil {
						faults[arm*atOnce+first] = fault
						return
					}
				}
			})
		}
	}
	group.Wait()
	return errors.Join(append(faults, log.Close())...)
}

// again says whether a failed call is made once more.
func again(err error) bool {
	f, failed := inference.AsFailure(err)
	return failed && f.Again()
}

func (r *recorder) generate(ctx context.Context, m inference.Model, i int) error {
	name := fmt.Sprint("writer-", i)
	for nth := range times(i) {
		for {
			var text bytes.Buffer
			_, err := m.Generate(ctx, inference.Request{
				Model:     "p/" + name,
				MaxTokens: 40,
				Messages:  []inference.Message{{Role: "user", Content: fmt.Sprintf("This is request %d.", i)}},
			}, func(piece string) bool {
				text.WriteString(piece)
				return true
			})
			if again(err) {
				continue
			}
			if err != nil {
				return err
			}
			r.print(name, nth, text.String())
			break
		}
	}
	return nil
}

func (r *recorder) embed(ctx context.Context, m inference.Model, i int) error {
	name := fmt.Sprint("embedder-", i)
	for {
		v, err := m.Embed(ctx, "p/"+name, []string{fmt.Sprintf("This is text %d.", i)}, "")
		if again(err) {
			continue
		}
		if err == nil {
			r.print(name, 0, fmt.Sprint(v.V[0]))
		}
		return err
	}
}

// print writes a line: model, number of the request, answer.
func (r *recorder) print(model string, nth int, answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Printf("%s %d %q\n", model, nth, answer)
}
