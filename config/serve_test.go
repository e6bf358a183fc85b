package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
)

func TestTheServerIsReachableFromThisMachineAloneUnlessSomebodySaysMore(t *testing.T) {
	t.Parallel()
	for listen, alone := range map[string]bool{
		"127.0.0.1:7680": true, "localhost:7680": true, "[::1]:0": true, "0.0.0.0:7680": false, ":7680": false,
		"dreams.example:443": false, "10.0.0.4:80": false,
	} {
		require.Equal(t, alone, config.Serve{Listen: listen}.Loopback(), listen)
	}
	c, err := config.Load(config.Options{Dir: t.TempDir(), BuiltIn: builtIn})
	require.NoError(t, err)
	require.True(t, c.Serve.Loopback())
	require.Equal(t, c.Roles.Generator, c.TalkModel())
}

func TestEveryFaultOfTheServerIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Dir: t.TempDir(), BuiltIn: builtIn, Env: []string{
		"ONEIROS_SERVE_LISTEN=7680", "ONEIROS_SERVE_TLS_CERT=cert.pem", "ONEIROS_SERVE_HOSTS=https://dreams.example",
		"ONEIROS_SERVE_ORIGINS=app.example https://a.example/path", "ONEIROS_SERVE_MODEL=builtin/lexical",
		"ONEIROS_SERVE_COMPLETIONS=builtin/associative",
		"ONEIROS_SERVE_STORE_EXCEPT=echo, Iris", "ONEIROS_SERVE_ALLOW_FIELDS=plugins, service_teir",
	}})
	require.Error(t, err)
	for _, part := range []string{
		`serve.listen is "7680"; it must be an address`, "serve.tls_cert and serve.tls_key go together",
		`serve.hosts names "https://dreams.example"`,
		`serve.origins names "app.example"`, `serve.origins names "https://a.example/path"`, "serve.model",
		`serve.completions is "builtin/associative"; that provider has no /completions`,
		`serve.store_except names "Iris"`, `serve.allow_fields names "service_teir"`, "did you mean service_tier?",
	} {
		require.ErrorContains(t, err, part)
	}
}

func TestSingleAgentsAreOtherwiseThanTheRest(t *testing.T) {
	t.Parallel()
	s := config.Serve{RecallExcept: "echo,iris", StoreExcept: "iris", DigestExcept: "vega"}
	require.Equal(t,
		map[string]config.Except{"echo": {Recall: true}, "iris": {Recall: true, Store: true}, "vega": {Digest: true}},
		s.Excepted())
	require.Empty(t, config.Serve{}.Excepted())
}
