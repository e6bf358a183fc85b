package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/circadian"
)

func TestTheAgentSectionHasDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", nil, nil)
	require.NoError(t, err)
	require.Equal(t, config.Agent{
		IdleTimeout:     30 * time.Minute,
		MinGap:          6 * time.Hour,
		Jitter:          5 * time.Minute,
		UrgentIdle:      10 * time.Minute,
		Urgent:          .8,
		UrgentUncertain: .6, // urgency threshold while a change of regime is recent
		ClientTimeout:   time.Minute,
		WakeLock:        5 * time.Second,
		AlarmHold:       5 * time.Minute,
		ResumeAfter:     5 * time.Minute,
		ResumeTTL:       8 * time.Hour,
		Digest:          "message",
		Review:          "auto",
		Vitality:        circadian.DefaultThresholds,
	}, c.Agent)
	windows, quiet := c.Agent.Hours()
	require.Empty(t, windows)
	require.Empty(t, quiet)
	require.Equal(t, "127.0.0.1:7412", c.Feed.Listen)
}

func TestTheAgentSectionIsReadFromAFile(t *testing.T) {
	t.Parallel()
	const file = `
agent:
  windows: sat,sun 00:00-10:00, mon-fri 22:00-07:00
  quiet: "03:00-03:30"
  resume_ttl: 0s
  jitter: 2h
  vitality: {thriving: 0.6, declining: 0}
feed: {listen: ""}
`
	c, err := load(t, "oneiros.yaml", file, []string{"ONEIROS_AGENT_CLIENT_TIMEOUT=90s"},
		[]string{"--set", "agent.wake_lock=10s"})
	require.NoError(t, err)
	windows, quiet := c.Agent.Hours()
	require.Equal(t, []string{"sat,sun 00:00-10:00", "mon-fri 22:00-07:00"}, windows)
	require.Equal(t, []string{"03:00-03:30"}, quiet)
	require.Zero(t, c.Agent.ResumeTTL)
	require.Equal(t, 5*time.Minute, c.Agent.ResumeAfter)
	require.Equal(t, 2*time.Hour, c.Agent.Jitter, "what was set is not held down")
	require.Equal(t, 90*time.Second, c.Agent.ClientTimeout)
	require.Equal(t, 10*time.Second, c.Agent.WakeLock)
	require.Equal(t, circadian.Thresholds{Thriving: .6, Stable: .25, Conservation: .125}, c.Agent.Vitality)
	require.Empty(t, c.Feed.Listen)
}

func TestWhatNobodySetIsHeldWithinWhatSomebodyDid(t *testing.T) {
	t.Parallel()
	shown := func(c config.Config) map[string]string {
		values := map[string]string{}
		for _, s := range c.Settings() {
			values[s.Key] = s.Value + " " + s.Source
		}
		return values
	}
	c, err := load(t, "", "", []string{"ONEIROS_AGENT_IDLE_TIMEOUT=10s"}, nil)
	require.NoError(t, err)
	require.Equal(t, time.Second, c.Agent.Jitter)
	require.Equal(t, 10*time.Second, c.Agent.ResumeAfter)
	require.Equal(t, "1s default", shown(c)["agent.jitter"])
	require.Equal(t, "10s default", shown(c)["agent.resume_after"])
	c, err = load(t, "", "", []string{"ONEIROS_AGENT_RESUME_TTL=4m"}, nil)
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, c.Agent.ResumeAfter)
}

func TestAContradictoryAgentSectionIsRefused(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"agent.wake_lock=2m":            "agent.wake_lock is 2m and agent.client_timeout is 1m; the lock must not outlast the visit",
		"agent.alarm_hold=3s":           "agent.alarm_hold is 3s and agent.wake_lock is 5s",
		"agent.resume_after=8h":         "agent.resume_after is 8h and agent.resume_ttl is 8h",
		"agent.resume_ttl=31d":          "agent.resume_ttl is \"31d\"; it must be between 0s and 30d",
		"agent.client_timeout=500ms":    "it must be between 1s and 1d",
		"agent.vitality.stable=0.9":     "agent.vitality: stable is 0.9 and thriving is 0.5; a worse phase must not begin above a better one",
		"agent.vitality.thriving=2":     "agent.vitality.thriving is 2; it must be between 0 and 1",
		"agent.windows=22-7":            `agent.windows: hours "22-7"`,
		"agent.quiet=sometimes":         `agent.quiet: hours "sometimes"`,
		"agent.quiet=00:00-24:00":       "agent.windows and agent.quiet: the quiet hours fill the whole week",
		"feed.listen=7412":              `feed.listen is "7412"; it must be an address of this machine and a port`,
		"feed.listen=127.0.0.1:http":    "feed.listen is",
		"feed.listen=localhost:70000":   "feed.listen is",
		"feed.listen=:0":                "feed.listen is",
		"agent.jitter=-1s":              "it must be between 0s and 1d",
		"agent.vitality.declining=much": "must be a number",
	} {
		_, err := load(t, "", "", nil, []string{"--set", set})
		require.ErrorContains(t, err, want, set)
	}
	_, err := load(t, "", "", nil,
		[]string{"--set", "agent.windows=fri 22:00-23:00", "--set", "agent.quiet=20:00-06:00"})
	require.ErrorContains(t, err, "the quiet hours cover every window, so no automatic dream could ever begin")
	for _, fine := range []string{"feed.listen=:7412", "feed.listen=[::1]:7412", "feed.listen=127.0.0.1:0"} {
		_, err := load(t, "", "", nil, []string{"--set", fine})
		require.NoError(t, err, fine)
	}
}
