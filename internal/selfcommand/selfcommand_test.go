package selfcommand_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/internal/selfcommand"
)

// now is a Sunday, 13:45 in Berlin.
var now = time.Date(2026, 3, 1, 13, 45, 0, 0, zone("Europe/Berlin"))

func zone(name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return loc
}

func TestCommandsAreRead(t *testing.T) {
	t.Parallel()
	dormant := func(level dormancy.Level, after time.Duration, reason string) selfcommand.Command {
		c := selfcommand.Command{Verb: selfcommand.Dormant, Level: level, Reason: reason}
		if after > 0 {
			c.Until = now.Add(after)
		}
		return c
	}
	here := func(c selfcommand.Command) selfcommand.Command {
		c.Here = true
		return c
	}
	awake := selfcommand.Command{Verb: selfcommand.Awake}
	for post, want := range map[string]selfcommand.Command{
		"@self dormant mention-only":                     dormant(dormancy.MentionOnly, 0, ""),
		"@self dormant human-only":                       dormant(dormancy.HumanOnly, 0, ""),
		"@self dormant sleep":                            dormant(dormancy.Sleep, 0, ""),
		"@Self Dormant SLEEP.":                           dormant(dormancy.Sleep, 0, ""),
		"@self dormant mention-only for 1h":              dormant(dormancy.MentionOnly, time.Hour, ""),
		"@self dormant sleep for 90m":                    dormant(dormancy.Sleep, 90*time.Minute, ""),
		"@self dormant sleep for 8760h":                  dormant(dormancy.Sleep, 8760*time.Hour, ""),
		"@self dormant sleep until 5pm":                  dormant(dormancy.Sleep, 195*time.Minute, ""),
		"@self dormant sleep until 5:30 PM":              dormant(dormancy.Sleep, 225*time.Minute, ""),
		"@self dormant sleep until 17:00":                dormant(dormancy.Sleep, 195*time.Minute, ""),
		"@self dormant sleep until 1pm":                  dormant(dormancy.Sleep, 23*time.Hour+15*time.Minute, ""),
		"@self dormant sleep until 13:45":                dormant(dormancy.Sleep, 24*time.Hour, ""),
		"@self dormant sleep until midnight":             dormant(dormancy.Sleep, 10*time.Hour+15*time.Minute, ""),
		"@self dormant sleep until noon":                 dormant(dormancy.Sleep, 22*time.Hour+15*time.Minute, ""),
		"@self dormant sleep until tomorrow 9am":         dormant(dormancy.Sleep, 19*time.Hour+15*time.Minute, ""),
		"@self dormant sleep until 2026-03-02 09:00":     dormant(dormancy.Sleep, 19*time.Hour+15*time.Minute, ""),
		"@self dormant sleep until 2026-03-02T09:00":     dormant(dormancy.Sleep, 19*time.Hour+15*time.Minute, ""),
		"@self dormant sleep until 2026-03-01T13:00:00Z": dormant(dormancy.Sleep, 15*time.Minute, ""),
		"@self dormant sleep because it is loud":         dormant(dormancy.Sleep, 0, "it is loud"),
		"@self dormant human-only for 2h because `x` @a": dormant(dormancy.HumanOnly, 2*time.Hour, "`x` @a"),
		"@self dormant sleep here":                       here(dormant(dormancy.Sleep, 0, "")),
		"@self dormant sleep here for 1m":                here(dormant(dormancy.Sleep, time.Minute, "")),
		"@self awake":                                    awake,
		"@self awake!":                                   awake,
		"@self awake here":                               here(awake),
		"@self status":                                   {Verb: selfcommand.Status},
		"It is loud here.\n@self awake":                  awake,
		"> quoted\n@self awake":                          awake,
		"- @self awake":                                  awake,
		"**@self awake**":                                awake,
		"@self awake\n@self dormant sleep":               awake,
	} {
		got, found, err := selfcommand.Find(dormancy.Agent, post, now)
		require.NoError(t, err, post)
		require.True(t, found, post)
		require.True(t, want.Until.Equal(got.Until), "%s: until %s, want %s", post, got.Until, want.Until)
		got.Until = want.Until
		require.Equal(t, want, got, post)
	}
}

func TestWhatIsNoCommandIsNone(t *testing.T) {
	t.Parallel()
	for _, post := range []string{
		"", "hello", "`@self awake`", "```\n@self awake\n```", "    @self awake", "> @self awake",
		"Mention me or use @self awake to wake me.", "@selfish awake", "@self-care is good", "joe@self awake",
		"@helper @self awake",
	} {
		_, found, err := selfcommand.Find(dormancy.Agent, post, now)
		require.NoError(t, err, post)
		require.False(t, found, post)
	}
	_, found, err := selfcommand.Find(dormancy.Person, "@self dormant sleep", now)
	require.NoError(t, err)
	require.False(t, found, "a person has no commands of agents")
}

func TestAWrongCommandSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for post, want := range map[string]string{
		"@self":                                         "a verb is missing",
		"@self dormant":                                 "a level is missing",
		"@self doze":                                    `verb "doze" must be`,
		"@self dormant deep":                            `level "deep" must be`,
		"@self dormant active":                          `level "active" must be`,
		"@self dormant sleep for 0m":                    `duration "0m" must be`,
		"@self dormant sleep for 0h":                    `duration "0h" must be`,
		"@self dormant sleep for":                       `duration "" must be`,
		"@self dormant sleep for 2":                     `duration "2" must be`,
		"@self dormant sleep for -1h":                   `duration "-1h" must be`,
		"@self dormant sleep for 1.5h":                  `duration "1.5h" must be`,
		"@self dormant sleep for 8761h":                 `duration "8761h" must be`,
		"@self dormant sleep for 99999999999999999999h": "duration",
		"@self dormant sleep for 5124095576030431h":     "duration",
		"@self dormant sleep for 1h until 5pm":          `duration "1h until 5pm" must be`,
		"@self dormant sleep until":                     `until "" must be`,
		"@self dormant sleep until 25:00":               `until "25:00" must be`,
		"@self dormant sleep until later":               `until "later" must be`,
		"@self dormant sleep until 2026-02-28 09:00":    `until "2026-02-28 09:00" is past`,
		"@self dormant sleep until 2028-01-01 09:00":    "more than 365 days away",
		"@self dormant sleep now":                       `"now" must be here, for, until or because`,
		"@self awake later":                             `"later" follows awake`,
		"@self status here":                             `"here" follows status`,
	} {
		_, found, err := selfcommand.Find(dormancy.Agent, post, now)
		require.True(t, found, post)
		require.ErrorContains(t, err, want, post)
	}
}

// The clocks of Berlin go from 02:00 to 03:00 on 29 March 2026, and from 03:00 back to 02:00 on 25 October.
func TestUntilFollowsTheClocksOfTheZone(t *testing.T) {
	t.Parallel()
	berlin := zone("Europe/Berlin")
	for _, c := range []struct {
		now   time.Time
		until string
		want  string // in UTC
	}{
		{time.Date(2026, 3, 28, 22, 0, 0, 0, berlin), "02:30", "2026-03-29T01:30:00Z"},
		{time.Date(2026, 3, 28, 22, 0, 0, 0, berlin), "8am", "2026-03-29T06:00:00Z"},
		{time.Date(2026, 3, 29, 1, 59, 0, 0, berlin), "03:00", "2026-03-29T01:00:00Z"},
		{time.Date(2026, 10, 24, 22, 0, 0, 0, berlin), "02:30", "2026-10-25T00:30:00Z"},
		{time.Date(2026, 10, 25, 0, 45, 0, 0, time.UTC).In(berlin), "02:30", "2026-10-25T01:30:00Z"},
		{time.Date(2026, 10, 25, 1, 45, 0, 0, time.UTC).In(berlin), "02:30", "2026-10-26T01:30:00Z"},
		{time.Date(2026, 10, 24, 22, 0, 0, 0, berlin), "8am", "2026-10-25T07:00:00Z"},
		{time.Date(2026, 12, 31, 23, 0, 0, 0, berlin), "9am", "2027-01-01T08:00:00Z"},
		{time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC), "tomorrow noon", "2026-03-01T12:00:00Z"},
		// On Lord Howe the clocks move by half an hour.
		{time.Date(2026, 10, 3, 20, 0, 0, 0, zone("Australia/Lord_Howe")), "02:15", "2026-10-03T15:45:00Z"},
	} {
		got, _, err := selfcommand.Find(dormancy.Agent, "@self dormant sleep until "+c.until, c.now)
		require.NoError(t, err)
		require.Equal(t, c.want, got.Until.UTC().Format(time.RFC3339), "%s, until %s", c.now, c.until)
	}
}

func find(t *testing.T, post string) selfcommand.Command {
	t.Helper()
	c, found, err := selfcommand.Find(dormancy.Agent, post, now)
	require.NoError(t, err)
	require.True(t, found)
	return c
}

func TestRepliesAndAnnouncementsHaveTheirWords(t *testing.T) {
	t.Parallel()
	var s selfcommand.Scopes
	for _, step := range []struct{ post, reply, announce string }{
		{"@self status", "Active - responding to all messages", ""},
		{"@self awake", "I'm awake and active again!", ""},
		{
			"@self dormant human-only",
			"Going dormant (human-only). Mention me or use @self awake to wake me.",
			"Helper AI is now dormant (human-only). Mention them or use @self awake to wake.",
		},
		{"@self status", "Dormant (human-only) since 1:45 PM", ""},
		{
			"@self dormant mention-only for 2h",
			"Going dormant (mention-only) until 3:45 PM. Mention me or use @self awake to wake me.",
			"Helper AI is dormant (mention-only) until 3:45 PM",
		},
		{"@self status", "Dormant (mention-only) since 1:45 PM until 3:45 PM", ""},
		{
			"@self dormant sleep until tomorrow 9am",
			"Going dormant (sleep) until Mar 2, 2026, 9:00 AM. Mention me or use @self awake to wake me.",
			"Helper AI is dormant (sleep) until Mar 2, 2026, 9:00 AM",
		},
		{"@self awake", "I'm awake and active again!", "Helper AI is awake and active again!"},
		{"@self status", "Active - responding to all messages", ""},
	} {
		result := selfcommand.Apply(find(t, step.post), s, "Helper AI", now)
		require.Equal(t, step.reply, result.Reply, step.post)
		require.Equal(t, step.announce, result.Announce, step.post)
		s = result.Scopes
	}
	require.Equal(t, "I'm awake and active again! (auto-woke after timer)", selfcommand.AutoWoke)
	require.Equal(t, "Teacher AI is awake and active again! (auto-woke after timer)",
		selfcommand.AnnounceAwake("Teacher AI", true))
	require.Equal(t, "Usage: @self dormant [mention-only|human-only|sleep] [for <duration>]", selfcommand.Usage)
}

func TestARoomCanHaveALevelOfItsOwn(t *testing.T) {
	t.Parallel()
	apply := func(s selfcommand.Scopes, post string) selfcommand.Scopes {
		return selfcommand.Apply(find(t, post), s, "Helper AI", now).Scopes
	}
	s := apply(selfcommand.Scopes{}, "@self dormant sleep")
	require.Equal(t, dormancy.Sleep, s.Effective().Level)
	s = apply(s, "@self awake here")
	require.Equal(t, dormancy.Active, s.Effective().Level, "dormant in general, active here")
	require.Equal(t, dormancy.Sleep, s.General.Level)
	s = apply(s, "@self dormant human-only here")
	require.Equal(t, dormancy.HumanOnly, s.Effective().Level)
	s = apply(s, "@self dormant mention-only")
	require.Equal(t, dormancy.MentionOnly, s.Effective().Level, "what is said in a room holds in it")
	s = apply(apply(s, "@self dormant sleep here"), "@self awake")
	require.Equal(t, dormancy.Active, s.Effective().Level)
	require.Empty(t, s.General.Level)
	s = apply(apply(selfcommand.Scopes{}, "@self dormant sleep here"), "@self awake here")
	require.Empty(t, s.Own.Level, "nothing to stand out from")
	require.True(t, selfcommand.Apply(find(t, "@self awake"), s, "a", now).EveryRoom)
	require.False(t, selfcommand.Apply(find(t, "@self awake here"), s, "a", now).EveryRoom)
}

func TestWhatAnAgentIsAnsweredIsNoCommand(t *testing.T) {
	t.Parallel()
	state := dormancy.State{Level: dormancy.Sleep, Until: now.Add(time.Hour), SetAt: now}
	for _, text := range []string{
		selfcommand.Usage, selfcommand.AwakeAgain, selfcommand.GoingDormant(state, now),
		selfcommand.StatusOf(state, now), selfcommand.AnnounceDormant("Helper AI", state, now),
	} {
		_, found, _ := selfcommand.Find(dormancy.Agent, text, now)
		require.False(t, found, text)
	}
}

func FuzzFind(f *testing.F) {
	for _, post := range []string{
		"@self dormant sleep for 2h because `x`", "@self dormant human-only until tomorrow 5pm", "@self awake here",
		"@self status", "> @self awake\n@self dormant sleep until 2026-03-02T09:00:00+02:00", "@self\x00because",
	} {
		f.Add(post)
	}
	f.Fuzz(func(t *testing.T, post string) {
		c, found, err := selfcommand.Find(dormancy.Agent, post, now)
		if !found || err != nil {
			require.Equal(t, selfcommand.Command{}, c)
			require.True(t, found || err == nil)
			return
		}
		require.False(t, strings.ContainsAny(c.Reason, "\r\n\x00"))
		if !c.Until.IsZero() {
			require.True(t, c.Until.After(now))
			require.LessOrEqual(t, c.Until.Sub(now), selfcommand.LongestDormancy)
		}
		result := selfcommand.Apply(c, selfcommand.Scopes{}, "Helper AI", now)
		require.NotEmpty(t, result.Reply)
		if c.Verb == selfcommand.Dormant {
			require.NoError(t, result.Scopes.Effective().Validate())
			require.Equal(t, c.Level, result.Scopes.Effective().Level)
		}
	})
}
