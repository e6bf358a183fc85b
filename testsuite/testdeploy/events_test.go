package testdeploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// published is the schema of events that is given to programs.
var published = sync.OnceValues(func() (*jsonschema.Schema, error) {
	body, err := os.ReadFile("../../docs/events.schema.json")
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(event.SchemaID, document); err != nil {
		return nil, err
	}
	return c.Compile(event.SchemaID)
})

// catalogue maps the name of each payload type to the type.
var catalogue = sync.OnceValue(func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range event.Catalogue() {
		types[e.Type()] = reflect.TypeOf(e.Payload)
	}
	return types
})

// requireValidEvents requires of every event of a deployment: numbers without gaps, data that the published schema
// allows without further fields, and not four words in a row of anything that is remembered or was dreamt.
func requireValidEvents(t *testing.T, deployment *testdeploy.Deployment) []event.Event {
	t.Helper()
	ctx := context.Background()
	schema, err := published()
	require.NoError(t, err)
	agents, err := deployment.Store.Agents(ctx)
	require.NoError(t, err)
	var all []event.Event
	for _, agent := range agents {
		events, err := deployment.Store.Events(ctx, agent.ID, 0, 0)
		require.NoError(t, err)
		var result strings.Builder
		for i, e := range events {
			require.EqualValues(t, i+1, e.Seq)
			line, err := json.Marshal(e)
			require.NoError(t, err)
			result.Write(append(line, '\n'))
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(document), string(line))
			require.Equal(t, event.Schema, e.Schema)
			payload, found := catalogue()[e.Type]
			require.True(t, found, "%s is not in the catalogue", e.Type)
			strict := json.NewDecoder(bytes.NewReader(e.Data))
			strict.DisallowUnknownFields()
			require.NoError(t, strict.Decode(reflect.New(payload).Interface()), string(line))
		}
		requireNoQuotes(t, deployment, agent.ID, result.String())
		all = append(all, events...)
	}
	return all
}

// requireNoQuotes requires that a text quotes nothing of an agent's memory.
func requireNoQuotes(t *testing.T, deployment *testdeploy.Deployment, agent, text string) {
	t.Helper()
	items, err := deployment.Store.Find(context.Background(),
		memory.Query{Agent: agent, States: []dream.State{dream.Live, dream.Archived, dream.Superseded}})
	require.NoError(t, err)
	text = " " + lowerWords(text) + " "
	for _, item := range items {
		words := strings.Fields(lowerWords(item.Text()))
		for i := range max(0, len(words)-3) {
			phrase := strings.Join(words[i:i+4], " ")
			require.NotContains(t, text, " "+phrase+" ", "of %s", item.Header().ID)
		}
	}
}

// lowerWords is the words of a text in lower case, separated by single spaces.
func lowerWords(text string) string {
	return strings.Join(
		strings.FieldsFunc(strings.ToLower(text),
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

func TestAQuotedMemoryIsFound(t *testing.T) {
	t.Parallel()
	require.Contains(t, lowerWords(`{"reason":"The tide\n was LOW, at four."}`), "the tide n was low at four")
}

// Whatever the outcome of a dream, its events, the archive and the metrics made of them follow the published schema.
func TestEveryOutcomeIsAnnouncedAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	broken := func(a provider.Arrival) provider.Fault {
		if !a.Schema && a.Path == "/v1/chat/completions" {
			return provider.CutMiddle
		}
		return provider.None
	}
	little := budget.Micros(9_000)
	for _, night := range []struct {
		outcome  dream.Outcome
		upstream provider.Options
		edit     func(*testdeploy.Config)
		request  func(*starter.DreamRequest)
		void     bool // an agent without memories
		cancel   bool
	}{
		{outcome: dream.Completed, upstream: provider.Options{Seed: 1}},
		{outcome: dream.Empty, upstream: provider.Options{Seed: 3}, void: true},
		{
			outcome: dream.Exhausted, upstream: provider.Options{Seed: 4},
			request: func(w *starter.DreamRequest) { w.Budget = &little },
		},
		{
			outcome: dream.Aborted, upstream: provider.Options{Seed: 5, Plan: broken},
			edit: func(p *testdeploy.Config) { p.Knobs.Attempts = 1 },
		},
		{outcome: dream.Canceled, upstream: provider.Options{Seed: 6, Each: 20 * time.Millisecond}, cancel: true},
	} {
		t.Run(string(night.outcome), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			p := billedProvider(t, night.upstream)
			deployment := open(t, func(config *testdeploy.Config) {
				config.Provider = p.URL
				if night.edit != nil {
					night.edit(config)
				}
			})
			agent, err := deployment.AddAgent(ctx, 0, "")
			require.NoError(t, err)
			if night.void {
				agent.ID, agent.Handle = "id-void", "void"
				require.NoError(t, deployment.Store.PutAgent(ctx, agent))
			}
			meter := telemetry.New(
				telemetry.Options{Log: deployment.Store, Version: "test", Agents: deployment.Store.Agents},
			)
			require.NoError(t, meter.Begin(ctx))
			seed := uint64(7)
			request := starter.DreamRequest{Agent: agent.Handle, Seed: &seed, AsOf: testdeploy.Night}
			if night.request != nil {
				night.request(&request)
			}
			begun, err := deployment.Starter.Begin(ctx, request)
			require.NoError(t, err)
			if night.cancel {
				require.Eventually(t, func() bool { return len(p.Billing.Calls()) > 4 }, patience, 5*time.Millisecond)
				require.NoError(t, deployment.Starter.Cancel(ctx, begun.Dream))
			}
			result, err := deployment.Result(ctx, begun.Dream)
			require.NoError(t, err)
			require.Equal(t, night.outcome, result.Outcome, result.Reason)

			events := requireValidEvents(t, deployment)
			last := events[len(events)-1]
			if night.outcome == dream.Empty {
				require.Contains(t, []string{"DreamEnded", "EmptyDreamsRepeated"}, last.Type)
			} else {
				require.Equal(t, "DreamEnded", last.Type)
			}
			requireArchived(t, deployment, agent.ID, events)
			answer := httptest.NewRecorder()
			meter.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			require.Contains(t, answer.Body.String(),
				`oneiros_dreams_total{agent="`+agent.Handle+`",outcome="`+string(night.outcome)+`"} 1`)
			requireNoQuotes(t, deployment, agent.ID, answer.Body.String())
		})
	}
}

// requireArchived requires that an archive holds exactly these events of an agent.
func requireArchived(t *testing.T, deployment *testdeploy.Deployment, agent string, want []event.Event) {
	t.Helper()
	bucket, err := archive.Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	a := archive.Archive{Log: deployment.Store, Bucket: bucket, Now: time.Now}
	done, err := a.Once(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(want), done.Events)
	names, err := bucket.Names(t.Context(), "events/"+agent+"/")
	require.NoError(t, err)
	var got []event.Event
	for _, name := range names {
		body, err := bucket.Read(t.Context(), name)
		require.NoError(t, err)
		for line := range bytes.Lines(body) {
			var e event.Event
			require.NoError(t, json.Unmarshal(line, &e))
			got = append(got, e)
		}
	}
	require.Equal(t, want, got)
}
