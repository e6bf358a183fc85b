package testdeploy_test

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

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/presence"
	"github.com/seed-56a03226/oneiros/internal/alarm"
	"github.com/seed-56a03226/oneiros/internal/feedhttp"
	"github.com/seed-56a03226/oneiros/starter"
	"github.com/seed-56a03226/oneiros/testsuite/temporal"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workers"
	"github.com/seed-56a03226/oneiros/workflows"
)

// openWithFeeds opens a deployment whose worker polls feeds and wakes agents.
func openWithFeeds(t *testing.T) *testdeploy.Deployment {
	t.Helper()
	needsServer(t)
	server := temporal.Shared(t)
	config := testdeploy.Config{
		Store: filepath.Join(t.TempDir(), "memory.db"), Address: server.Address, Namespace: server.Namespace,
		Queue: server.TaskQueue,
		Knobs: dream.DefaultKnobs(), Model: "script",
	}
	deployment, err := testdeploy.Open(t.Context(), config, server.Dial(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, deployment.Close()) })
	w := workers.New(
		deployment.Client,
		deployment.Ports,
		starter.Executions{Client: deployment.Client},
		deployment.Starter,
		workers.Options{
			TaskQueue: server.TaskQueue, Fetch: feedhttp.NewClient("oneiros/test", 0), Alarms: deployment.Starter,
		},
	)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return deployment
}

func feedState(
	t *testing.T,
	c *testdeploy.Deployment,
	name string,
	is func(workflows.FeedState) bool,
) workflows.FeedState {
	t.Helper()
	var state workflows.FeedState
	require.Eventually(t, func() bool {
		var err error
		state, err = c.Starter.ForFeeds().FeedState(t.Context(), name)
		return err == nil && is(state)
	}, patience, 50*time.Millisecond)
	return state
}

// histories is the histories of all runs of a probe, as text.
func histories(t *testing.T, c *testdeploy.Deployment, name string) string {
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

func TestAPriceThatMovesSixPerCentWakesEachFollowerOnce(t *testing.T) {
	t.Parallel()
	deployment := openWithFeeds(t)
	ctx := t.Context()
	var price atomic.Int64
	price.Store(100)
	var request atomic.Int64
	market := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		request.Add(1)
		fmt.Fprintf(w, `{"market":{"eth":"%d.0"}}`, price.Load())
	}))
	t.Cleanup(market.Close)
	follower, err := deployment.AddAgent(ctx, 1, "follower")
	require.NoError(t, err)
	bystander, err := deployment.AddAgent(ctx, 0, "bystander")
	require.NoError(t, err)
	rule, _ := alarm.Preset("price")
	feed := dream.Feed{
		Name:  "sixpercent",
		URL:   market.URL + "/secret-path?key=secret",
		Path:  "$.market.eth",
		Every: time.Second,
		Rules: []dream.Rule{rule},
	}
	require.NoError(t, deployment.Starter.ForFeeds().PutFeed(ctx, feed))
	follower.Feed = feed.Name
	require.NoError(t, deployment.Store.PutAgent(ctx, follower))

	feedState(t, deployment, feed.Name, func(s workflows.FeedState) bool { return s.Readings >= 1 })
	price.Store(106)
	state := feedState(t, deployment, feed.Name,
		func(s workflows.FeedState) bool { return s.Last != nil && s.Last.Agents == 1 })
	require.Equal(t, "price: 100 to 106", state.Last.What)
	before := state.Readings
	state = feedState(t, deployment, feed.Name, func(s workflows.FeedState) bool { return s.Readings >= before+2 })
	require.Equal(t, 1, state.Alarms, "a value that stays where it moved to raises no further alarm")
	require.Empty(t, state.Delivering)
	require.Zero(t, state.Failures, state.Failure)

	status, err := deployment.Store.Status(ctx, follower.ID, time.Now())
	require.NoError(t, err)
	require.Equal(t, presence.Alarm, status.Last.Cause)
	require.Len(t, raisedFor(t, deployment, follower.ID), 1)
	status, err = deployment.Store.Status(ctx, bystander.ID, time.Now())
	require.NoError(t, err)
	require.Nil(t, status.Last)
	require.Empty(t, raisedFor(t, deployment, bystander.ID))
	text := histories(t, deployment, feed.Name)
	require.Contains(t, text, string(dream.RelativeMove), "payloads are not sealed in this test")
	require.NotContains(t, text, "secret")

	require.NoError(t, deployment.Starter.ForFeeds().DropFeed(ctx, feed.Name))
	ended, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	require.NoError(t, deployment.Client.GetWorkflow(ended, workflows.FeedID(feed.Name), "").Get(ended, nil))
	require.ErrorIs(t, deployment.Starter.ForFeeds().Push(ctx, feed.Name, nil), memory.ErrNotFound)
}

func raisedFor(t *testing.T, c *testdeploy.Deployment, agent string) []event.Event {
	t.Helper()
	events, err := c.Store.Events(t.Context(), agent, 0, 1000)
	require.NoError(t, err)
	return slices.DeleteFunc(events, func(e event.Event) bool { return e.Type != event.AlarmRaised{}.EventType() })
}

func TestNoReadingIsLostWhenAProbeGoesOnAsNewUnderPushes(t *testing.T) {
	t.Parallel()
	deployment := openWithFeeds(t)
	ctx := t.Context()
	rule, _ := alarm.Preset("price")
	feed := dream.Feed{Name: "pushed", Rules: []dream.Rule{rule}}
	require.NoError(t, deployment.Starter.ForFeeds().PutFeed(ctx, feed))
	begun, err := deployment.Client.DescribeWorkflowExecution(ctx, workflows.FeedID(feed.Name), "")
	require.NoError(t, err)
	const pushers, each = 8, 625 // 5,000: a run is continued at 4,096 events
	faults := make(chan error, pushers)
	for p := range pushers {
		go func() {
			for i := range each {
				number := 100 + float64(i%3)
				if err := deployment.Starter.ForFeeds().Push(ctx, feed.Name, []dream.Reading{{Number: &number}}); err != nil {
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
	state := feedState(t, deployment, feed.Name, func(s workflows.FeedState) bool { return s.Readings == pushers*each })
	require.Zero(t, state.Alarms)
	require.LessOrEqual(t, len(state.Watch.Readings), 64)
	described, err := deployment.Client.DescribeWorkflowExecution(ctx, workflows.FeedID(feed.Name), "")
	require.NoError(t, err)
	require.NotEqual(t, begun.GetWorkflowExecutionInfo().GetExecution().GetRunId(),
		described.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "it was continued as new")
	t.Logf("the last of its runs has %d events", described.GetWorkflowExecutionInfo().GetHistoryLength())
}
