package config_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/config"
)

func loadFile(t *testing.T, file string, env ...string) (config.Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "oneiros.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	return config.Load(config.Options{File: path, Env: env, BuiltIn: builtIn})
}

func TestAHookIsReadWithItsDefaults(t *testing.T) {
	t.Parallel()
	c, err := loadFile(t, `
hooks:
  night-watch:
    url: https://guard.example/oneiros
    secret_env: WATCH_SECRET
  audit:
    url: http://127.0.0.1:9000/
    secret_env: AUDIT_SECRET
    at: [exit]
    timeout: 500ms
    silent: refuse
    text: true
`, "WATCH_SECRET=sixteen bytes or more", "AUDIT_SECRET=short")
	require.NoError(t, err)
	require.Equal(t, []activities.HookRule{
		{
			Name:    "audit",
			At:      []activities.Border{activities.AtExit},
			Timeout: 500 * time.Millisecond,
			Silent:  "refuse",
			Text:    true,
		},
		{Name: "night-watch", At: activities.Borders, Timeout: 2 * time.Second, Silent: "allow"},
	}, c.HookRules())
	secret, err := c.HookSecret("night-watch")
	require.NoError(t, err)
	require.Equal(t, "sixteen bytes or more", string(secret))
	_, err = c.HookSecret("audit")
	require.ErrorContains(t, err, "hooks.audit: its secret has 5 bytes; it must have at least 16")
}

func TestAHookThatIsWrongSaysHow(t *testing.T) {
	t.Parallel()
	_, err := loadFile(t, `
hooks:
  Loud!: {url: "ftp://x", secret: abc, at: noon, timeout: 1h, silent: shrug, colour: red}
  empty: {silent: allow}
  flat: yes
`)
	for _, says := range []string{
		"hooks.loud!: a hook's name is 1 to 32 of a-z",
		"hooks.loud!.secret: a secret does not belong in a file",
		"hooks.loud!.colour is no setting",
		"hooks.loud!.url is not an address such as https://guard.example/oneiros",
		`hooks.loud!.at names "noon"; a hook is called at entry, capture or exit`,
		"hooks.loud! has a timeout of 1h0m0s; it must lie between 100ms and 8s",
		`hooks.loud! says "shrug" when silent; say allow or refuse`,
		"hooks.empty.url is missing",
		"hooks.empty names no secret",
		"hooks.flat is",
	} {
		require.ErrorContains(t, err, says)
	}
}

// The path of a hook's address may be secret; the shown configuration names the host only.
func TestTheAddressOfAHookIsShownWithoutItsPath(t *testing.T) {
	t.Parallel()
	c := config.Config{
		Hooks: map[string]config.Hook{
			"guard": {URL: "https://guard.example:8443/services/hush?key=hush"},
			"plain": {URL: "https://guard.example/"},
		},
	}
	shown := map[string]string{}
	for _, s := range c.Redacted() {
		shown[s.Key] = s.Value
	}
	require.Equal(t, "https://guard.example:8443/redacted", shown["hooks.guard.url"])
	require.Equal(t, "https://guard.example", shown["hooks.plain.url"])
}
