package stage_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
	"github.com/seed-56a03226/oneiros/internal/feedhttp"
	"github.com/seed-56a03226/oneiros/internal/memory"
	"github.com/seed-56a03226/oneiros/internal/presence"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/stage"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// watchful is a deployment whose worker asks feeds and wakes agents.
func watchful(t *testing.T) *stage.Company {
	t.Helper()
	needsServer(t)
	server := temporal.Shared(t)
	play := stage.Play{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script",
	}
	company, err := stage.Open(t.Context(), play, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, company.Close()) })
	w := workers.New(company.Client, company.Ports, starter.Executions{Client: company.Client}, company.Starter,
		workers.Options{
			TaskQueue: server.TaskQueue, Fetch: feedhttp.NewClient("oneiros/test", 0), Alarms: company.Starter,
		})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return company
}

func feedState(t *testing.T, c *stage.Company, name string, is func(workflows.FeedState) bool) workflows.FeedState {
	t.Helper()
	var state workflows.FeedState
	require.Eventually(t, func() bool {
		var err error
		state, err = c.Starter.FeedState(t.Context(), name)
		return err == nil && is(state)
	}, patience, 50*time.Millisecond)
	return state
}

// histories are every run of a probe, as text.
func histories(t *testing.T, c *stage.Company, name string) string {
	t.Helper()
	var text strings.Builder
	for history := c.Client.GetWorkflowHistory(t.Context(), workflows.FeedID(name), "", false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); history.HasNext(); {
		e, err := history.Next()
		require.NoError(t, err)
		text.WriteString(e.String()) // payloads as they are, not in base64
	}
	return text.String()
}

func TestAPriceThatMovesSixPerCentWakesWhoeverFollowsItOnce(t *testing.T) {
	t.Parallel()
	company := watchful(t)
	ctx := t.Context()
	var price atomic.Int64
	price.Store(100)
	var request atomic.Int64
	market := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		request.Add(1)
		fmt.Fprintf(w, `{"market":{"eth":"%d.0"}}`, price.Load())
	}))
	t.Cleanup(market.Close)
	follower, err := company.Hire(ctx, 1, "follower")
	require.NoError(t, err)
	bystander, err := company.Hire(ctx, 0, "bystander")
	require.NoError(t, err)
	rule, _ := alarm.Preset("price")
	feed := dream.Feed{
		Name:  "sixpercent",
		URL:   market.URL + "/secret-path?key=secret",
		Path:  "$.market.eth",
		Every: time.Second,
		Rules: []dream.Rule{rule},
	}
	require.NoError(t, company.Starter.PutFeed(ctx, feed))
	follower.Feed = feed.Name
	require.NoError(t, company.Store.PutAgent(ctx, follower))

	feedState(t, company, feed.Name, func(s workflows.FeedState) bool { return s.Readings >= 1 })
	price.Store(106)
	state := feedState(t, company, feed.Name,
		func(s workflows.FeedState) bool { return s.Last != nil && s.Last.Agents == 1 })
	require.Equal(t, "price: 100 to 106", state.Last.What)
	before := state.Readings
	state = feedState(t, company, feed.Name, func(s workflows.FeedState) bool { return s.Readings >= before+2 })
	require.Equal(t, 1, state.Alarms, "it stays moved")
	require.Empty(t, state.Sounding)
	require.Zero(t, state.Failures, state.Failure)

	status, err := company.Store.Status(ctx, follower.ID, time.Now())
	require.NoError(t, err)
	require.Equal(t, presence.Alarm, status.Last.Cause)
	require.Len(t, raisedFor(t, company, follower.ID), 1)
	status, err = company.Store.Status(ctx, bystander.ID, time.Now())
	require.NoError(t, err)
	require.Nil(t, status.Last)
	require.Empty(t, raisedFor(t, company, bystander.ID))
	text := histories(t, company, feed.Name)
	require.Contains(t, text, string(dream.RelativeMove), "payloads can be read here")
	require.NotContains(t, text, "secret")

	require.NoError(t, company.Starter.DropFeed(ctx, feed.Name))
	ended, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, company.Client.GetWorkflow(ended, workflows.FeedID(feed.Name), "").Get(ended, nil))
	require.ErrorIs(t, company.Starter.Push(ctx, feed.Name, nil), memory.ErrNotFound)
}

func raisedFor(t *testing.T, c *stage.Company, agent string) []event.Event {
	t.Helper()
	events, err := c.Store.Events(t.Context(), agent, 0, 1000)
	require.NoError(t, err)
	return slices.DeleteFunc(events, func(e event.Event) bool { return e.Type != event.AlarmRaised{}.EventType() })
}

func TestNoReadingIsLostWhenAProbeGoesOnAsNewUnderPushes(t *testing.T) {
	t.Parallel()
	company := watchful(t)
	ctx := t.Context()
	rule, _ := alarm.Preset("price")
	feed := dream.Feed{Name: "pushed", Rules: []dream.Rule{rule}}
	require.NoError(t, company.Starter.PutFeed(ctx, feed))
	begun, err := company.Client.DescribeWorkflowExecution(ctx, workflows.FeedID(feed.Name), "")
	require.NoError(t, err)
	const pushers, each = 8, 625 // 5,000: a run is continued at 4,096 events
	faults := make(chan error, pushers)
	for p := range pushers {
		go func() {
			for i := range each {
				number := 100 + float64(i%3)
				if err := company.Starter.Push(ctx, feed.Name, []dream.Reading{{Number: &number}}); err != nil {
					faults <- fmt.Errorf("pusher %d: %w", p, err)
					return
				}
			}
			faults <- nil
		}()
	}
	for range pushers {
		require.NoError(t, <-faults)
	}
	state := feedState(t, company, feed.Name, func(s workflows.FeedState) bool { return s.Readings == pushers*each })
	require.Zero(t, state.Alarms)
	require.LessOrEqual(t, len(state.Watch.Readings), 64)
	described, err := company.Client.DescribeWorkflowExecution(ctx, workflows.FeedID(feed.Name), "")
	require.NoError(t, err)
	require.NotEqual(t, begun.GetWorkflowExecutionInfo().GetExecution().GetRunId(),
		described.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "it was continued as new")
	t.Logf("the last of its runs has %d events", described.GetWorkflowExecutionInfo().GetHistoryLength())
}
