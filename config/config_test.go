package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
)

var builtIn = []inference.Spec{
	{Name: "builtin/associative", Provider: config.BuiltIn, Price: &budget.Price{}, BuiltIn: true},
	{
		Name:     "builtin/lexical",
		Provider: config.BuiltIn,
		Price:    &budget.Price{},
		Embeds:   true,
		BuiltIn:  true,
	},
	{
		Name:     "builtin/static",
		Provider: config.BuiltIn,
		Price:    &budget.Price{},
		Embeds:   true,
		BuiltIn:  true,
	},
	{
		Name:     "builtin/minilm",
		Provider: config.BuiltIn,
		Price:    &budget.Price{},
		Embeds:   true,
		BuiltIn:  true,
	},
}

// load reads a file with this name and content, together with an environment and flags.
func load(t *testing.T, name, content string, env, args []string) (config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	o := config.Options{Dir: dir, Env: env, Flags: config.Flags(), BuiltIn: builtIn}
	if name != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	require.NoError(t, o.Flags.Parse(args))
	return config.Load(o)
}

func TestWithoutFileEnvironmentOrFlagsEverythingIsItsDefault(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", nil, nil)
	require.NoError(t, err)
	require.Empty(t, c.File)
	require.Empty(t, c.Warnings)
	require.Equal(t, dream.DefaultKnobs(), c.Dream)
	require.Equal(t, dream.DefaultCaps, c.Money.Caps())
	require.Equal(t, budget.Unlimited, c.Money.FleetDay)
	require.False(t, c.Agent.Auto)
	require.Equal(t, "builtin/associative", c.Roles.Generator)
	require.Equal(t, "builtin/static", c.Roles.Models()[dream.Embedder])
	require.Equal(t, filepath.Join(".oneiros", "oneiros.db"), c.StorePath())
	for _, s := range c.Settings() {
		require.Equal(t, "default", s.Source, s.Key)
	}
}

func TestLaterPlacesWinOverEarlierOnes(t *testing.T) {
	t.Parallel()
	const file = "dream:\n  cycles: 4\n  partials: 5\n  half_life: 7d\n  recent: 100\nmoney:\n  dream: 0.25\nlog:\n  level: info\n"
	env := []string{"ONEIROS_DREAM_PARTIALS=3", "ONEIROS_DREAM_RECENT=50", "ONEIROS_LOG_LEVEL=error"}
	c, err := load(t, "oneiros.yaml", file, env, []string{"--set", "dream.recent=25", "--log-level", "debug"})
	require.NoError(t, err)
	require.Equal(t, 4, c.Dream.Cycles, "the file wins over the default")
	require.Equal(t, 3, c.Dream.Partials, "the environment wins over the file")
	require.Equal(t, 25, c.Dream.Recent, "--set wins over the environment")
	require.Equal(t, "debug", c.Log.Level, "a flag wins over the environment")
	require.Equal(t, 7*24*time.Hour, c.Dream.HalfLife)
	require.Equal(t, budget.Dollar/4, c.Money.Dream)
	sources := map[string]string{}
	for _, s := range c.Settings() {
		sources[s.Key] = s.Source
	}
	require.Equal(t, "file "+c.File, sources["dream.cycles"])
	require.Equal(t, "environment ONEIROS_DREAM_PARTIALS", sources["dream.partials"])
	require.Equal(t, "flag --set", sources["dream.recent"])
	require.Equal(t, "flag --log-level", sources["log.level"])
	require.Equal(t, "default", sources["dream.salient"])
}

func TestTOMLSaysTheSameAsYAML(t *testing.T) {
	t.Parallel()
	yaml, err := load(t, "oneiros.yaml",
		"dream:\n  cycles: 1\n  shares: {onset: 5, nrem: 40, rem: 35, integration: 10, return: 10}\nagent: {auto: true}\n",
		nil, nil)
	require.NoError(t, err)
	toml, err := load(t, "oneiros.toml",
		"[dream]\ncycles = 1\n[dream.shares]\nonset = 5\nnrem = 40\nrem = 35\nintegration = 10\nreturn = 10\n[agent]\nauto = true\n",
		nil, nil)
	require.NoError(t, err)
	require.Equal(t, yaml.Dream, toml.Dream)
	require.Equal(t, yaml.Agent, toml.Agent)
	require.True(t, toml.Agent.Auto)
}

func TestAllFaultsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	const file = `
dream:
  cylces: 3
  partials: 9
  keep: 5
  half_life: 30
money: {dream: 5, day: 2, month: much}
worker: {concurrent: 1.5}
log: {level: loud}
temporal: {tls: {cert_file: a.pem}}
roles: {generator: openai/gpt-4.1-mini, observer: tinyllama}
telepathy: true
`
	_, err := load(t, "oneiros.yaml", file, nil, nil)
	require.Error(t, err)
	for _, want := range []string{
		"dream.cylces is no setting; did you mean dream.cycles?",
		"dream.partials is 9; it must be between 3 and 5",
		"dream: keep is 5 and branches is 3",
		"dream.half_life is 30; it must be a duration with its unit",
		"money.dream is $5.00 and money.day is $2.00",
		`money.month is "much"; it must be an amount of dollars`,
		"worker.concurrent is 1.5; it must be a whole number",
		`log.level is "loud"; it must be one of debug, info, warn, error`,
		"temporal.tls.cert_file and temporal.tls.key_file go together",
		`roles.generator: model "openai/gpt-4.1-mini" belongs to provider "openai", which is not configured`,
		`roles.observer: model "tinyllama" must be provider/model`,
		"telepathy is no setting",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestAFileThatWasAskedForMustExist(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{File: filepath.Join(t.TempDir(), "absent.yaml"), BuiltIn: builtIn})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestTheUsersConfigurationDirectoryIsSearched(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "oneiros"), 0o700))
	require.NoError(t,
		os.WriteFile(filepath.Join(home, "oneiros", "oneiros.toml"), []byte("[dream]\ncycles = 2\n"), 0o600))
	c, err := load(t, "", "", []string{"XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=/var/lib", "HOME=/home/somebody"}, nil)
	require.NoError(t, err)
	require.Equal(t, 2, c.Dream.Cycles)
	require.Equal(t, "/var/lib/oneiros/oneiros.db", c.StorePath())
}

func TestAnUnknownVariableIsAWarningAndNotAFault(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", []string{"ONEIROS_DREAM_CYCLE=3", "ONEIROS_TEMPORALD=/opt/temporald"}, nil)
	require.NoError(t, err)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0], "did you mean ONEIROS_DREAM_CYCLES?")
}

func TestACertificateThatIsNotCheckedIsAWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ variable, says string }{
		{"ONEIROS_STORE_URL=rediss://redis.example:6379/0?skip_verify=true", "store.url says skip_verify"},
		{"ONEIROS_STORE_URL=rediss://redis.example:6379/0?skip_verify=1", "store.url says skip_verify"},
		{"ONEIROS_STORE_URL=rediss://redis.example:6379/0?skip_verify=false", ""},
		{"ONEIROS_STORE_URL=rediss://redis.example:6379/0", ""},
		{"TEMPORAL_TLS_DISABLE_HOST_VERIFICATION=true", "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION is set"},
	} {
		loaded, err := load(t, "", "", []string{c.variable}, nil)
		require.NoError(t, err, c.variable)
		if c.says == "" {
			require.Empty(t, loaded.Warnings, c.variable)
			continue
		}
		require.Len(t, loaded.Warnings, 1, c.variable)
		require.Contains(t, loaded.Warnings[0], c.says)
	}
}

func TestUnknownSetIsAFault(t *testing.T) {
	t.Parallel()
	_, err := load(t, "", "", nil,
		[]string{
			"--set", "dream.cylces=3", "--set", "nothing", "--set", "policy.forbidden.acme=acme", "--set",
			"hooks=x",
		})
	require.ErrorContains(t, err, "--set: dream.cylces is no setting; did you mean dream.cycles?")
	require.ErrorContains(t, err, "must be key=value")
	require.ErrorContains(t, err,
		"--set: policy.forbidden.acme belongs to the section policy.forbidden, which stands in a file")
	require.ErrorContains(t, err, "--set: hooks belongs to the section hooks")
}

func TestReferenceIsWhatTheTableSays(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "configuration.md")
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(config.Reference()), 0o644))
	}
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, config.Reference(), string(body), "run go generate ./config")
}

func TestEveryKnobHasAReasonAndANameOfItsOwnInTheEnvironment(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, k := range config.Knobs() {
		require.Empty(t, names[k.Env()], k.Key)
		names[k.Env()] = k.Key
		require.NotEmpty(t, k.Reason, k.Key)
		require.True(t, strings.HasSuffix(k.Reason, "."), "%s: a reason is a sentence", k.Key)
	}
}
