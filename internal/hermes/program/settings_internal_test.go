package program

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/session"
)

// read loads settings of a file, variables and flags.
func read(t *testing.T, file string, env map[string]string, args ...string) (settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hermes.yaml")
	if file != "" {
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	}
	flags := pflag.NewFlagSet("hermes", pflag.ContinueOnError)
	addFlags(flags)
	require.NoError(t, flags.Parse(args))
	return load(func(name string) string { return env[name] }, flags, path)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, err := read(t, "", nil)
	require.NoError(t, err)
	require.Equal(t, DefaultServer, s.Server)
	require.Equal(t, "ask", s.Approval)
	require.Equal(t, "free", s.Idle.On)
	require.Equal(t, 2*time.Minute, s.Run.Limit)
	require.False(t, s.Run.Network)
	require.Equal(t, 25, s.Iterations)
}

func TestFlagsComeBeforeVariablesAndTheseBeforeTheFile(t *testing.T) {
	t.Parallel()
	file := "agent: file\nserver: http://file\nuser: file\nrun: {limit: 5m, read: [/srv/a, /srv/b]}\nidle: {after: 1m}\n" +
		"servers:\n  wiki: {url: https://wiki.example/mcp, headers: {Authorization: Bearer x}}\n"
	s, err := read(t, file, map[string]string{
		"HERMES_SERVER": "http://env", "HERMES_AGENT": "env", "HERMES_IDLE_AFTER": "90s", "HERMES_RUN_ENV": "A,B",
	}, "--agent", "flag", "--network")
	require.NoError(t, err)
	require.Equal(t, "flag", s.Agent)
	require.Equal(t, "http://env", s.Server)
	require.Equal(t, "file", s.User)
	require.Equal(t, 5*time.Minute, s.Run.Limit)
	require.Equal(t, 90*time.Second, s.Idle.After)
	require.Equal(t, []string{"/srv/a", "/srv/b"}, s.Run.Read)
	require.Equal(t, []string{"A", "B"}, s.Run.Env)
	require.True(t, s.Run.Network)
	require.Equal(t, "https://wiki.example/mcp", s.Servers["wiki"].URL)
}

func TestVariablesOfServersKeepTheirCase(t *testing.T) {
	t.Parallel()
	s, err := read(t, "servers:\n  Tickets: {command: tickets-mcp, env: {TICKETS_TOKEN: x}}\n", nil)
	require.NoError(t, err)
	require.Equal(t, map[string]ownServer{"Tickets": {
		Command: "tickets-mcp", Env: map[string]string{"TICKETS_TOKEN": "x"},
	}}, s.Servers)
}

func TestTheKeyIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file string
		env  map[string]string
		want string
	}{
		{"", nil, ""},
		{"key: file\n", nil, "file"},
		{"key: file\n", map[string]string{"HERMES_KEY": "hermes", "ONEIROS_KEY": "oneiros"}, "hermes"},
		{"", map[string]string{"ONEIROS_KEY": "oneiros"}, "oneiros"},
	} {
		s, err := read(t, c.file, c.env)
		require.NoError(t, err)
		require.Equal(t, c.want, s.Key)
	}
}

// What is wrong is named, with what would be right.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		env        map[string]string
		args       []string
		want       string
	}{
		{"an unknown setting", "agnet: iris\n", nil, nil, "has agnet; the settings are agent, approval"},
		{"an unknown setting inside", "run: {limits: 1m}\n", nil, nil, "run.limits"},
		{"no YAML", "agent: [\n", nil, nil, "hermes.yaml"},
		{"a mode", "", nil, []string{"--approval", "yolo"}, `the approval mode is "yolo"; it must be read, ask, edit or auto`},
		{"when to explore", "", map[string]string{"HERMES_IDLE_EXPLORE": "always"}, nil, `idle.explore is "always"; it must be on, off or free`},
		{"iterations", "", nil, []string{"--iterations", "0"}, "iterations is 0; it must be from 1 to 1000"},
		{"a limit", "", nil, []string{"--run-limit", "1ms"}, "run.limit is 1ms; it must be from 1s to 24h"},
		{"no duration", "idle: {after: soon}\n", nil, nil, "soon"},
		{"a server with nothing", "servers: {wiki: {args: [a]}}\n", nil, nil, "servers.wiki needs either a command or a url"},
		{"a server with both", "servers: {wiki: {command: a, url: b}}\n", nil, nil, "servers.wiki needs either a command or a url"},
		{"a server with an unknown setting", "servers: {wiki: {comand: a}}\n", nil, nil, "comand"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := read(t, c.file, c.env, c.args...)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, exit.Usage, exit.CodeOf(err))
		})
	}
}

func TestANamedFileMustBeThere(t *testing.T) {
	t.Parallel()
	_, err := load(func(name string) string {
		if name == "HERMES_CONFIG" {
			return "/nonexistent/hermes.yaml"
		}
		return ""
	}, pflag.NewFlagSet("", pflag.ContinueOnError), "/nonexistent/hermes.yaml")
	require.ErrorContains(t, err, "/nonexistent/hermes.yaml")
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	at := func(env map[string]string) (places, error) {
		return placesOf(func(name string) string { return env[name] })
	}
	p, err := at(map[string]string{"HOME": "/home/anna"})
	require.NoError(t, err)
	require.Equal(t, places{"/home/anna/.config/oneiros/hermes.yaml", "/home/anna/.local/state/oneiros/hermes"}, p)
	p, err = at(map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "HERMES_CONFIG": "/other.yaml"})
	require.NoError(t, err)
	require.Equal(t, places{"/other.yaml", "/s/oneiros/hermes"}, p)
	_, err = at(nil)
	require.ErrorContains(t, err, "HOME is not set")
}

// The agent looks around by itself only where its model is known to be free, unless the person decides.
func TestWhenTheAgentLooksAround(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		explore      string
		priced, paid bool
		want         bool
	}{
		{"free", true, false, true},
		{"free", true, true, false},
		{"free", false, false, false},
		{"on", true, true, true},
		{"on", false, false, true},
		{"off", true, false, false},
	} {
		h := &hermes{priced: c.priced}
		h.Idle.On = c.explore
		if c.paid {
			h.price.Output = 1e-6
		}
		require.Equal(t, c.want, h.idle().On, "%+v", c)
	}
}

// A session that is resumed says whose it is.
func TestASessionNamesItsAgent(t *testing.T) {
	t.Parallel()
	pl := places{state: t.TempDir()}
	store, err := session.Open(filepath.Join(pl.state, "sessions"))
	require.NoError(t, err)
	made, err := store.Begin(session.Header{Agent: "iris", Workspace: "/w", Begun: time.Unix(1, 0)})
	require.NoError(t, err)
	require.NoError(t, made.Add(message.Entry{At: time.Unix(2, 0), Note: "x"}))
	require.NoError(t, made.Close())
	for _, c := range []struct {
		request request
		s       settings
		agent   string
		fails   string
	}{
		{request{}, settings{Workspace: "/w"}, "", ""},
		{request{goOn: true}, settings{Workspace: "/w"}, "iris", ""},
		{request{goOn: true}, settings{Workspace: "/w", Agent: "vera"}, "", "there is no session in /w yet"},
		{request{goOn: true}, settings{Workspace: "/other"}, "", "there is no session in /other yet"},
		{request{resume: made.ID}, settings{Workspace: "/other"}, "iris", ""},
		{request{resume: "1"}, settings{}, "", `there is no session "1"`},
	} {
		err := c.request.find(&c.s, pl)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.agent, c.s.Agent)
	}
}
