package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
)

// FuzzFile reads arbitrary files: the result is a valid configuration or an error.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		threeProviders, "dream:\n  cycles: 4\n", "dream: 5\n", "a: &a [*a]\n", "providers: [1]\n", "? {a: b}\n: c\n",
		"dream:\n  cycles: 1e400\n  half_life: -9223372036854775808h\n", "money: {dream: -1}\n", "---\n...\n", "{",
		"[dream]\ncycles = 3\n", "dream.cycles = 3\n", "[[providers]]\n",
		"providers: {p: {profile: generic, base_url: \"http://h\", models: [{name: m, context: 9000, " +
			"price: {in: 1, out: 2, long: {from: 1000, in: 3, cached_in: 1, out: 4}}}]}}\n", "x = 1979-05-27T07:32:00Z\n",
	} {
		f.Add(true, seed)
		f.Add(false, seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, toml bool, body string) {
		name := "oneiros.yaml"
		if toml {
			name = "oneiros.toml"
		}
		file, err := os.CreateTemp(dir, "*-"+name)
		require.NoError(t, err)
		defer os.Remove(file.Name())
		_, err = file.WriteString(body)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		c, err := config.Load(config.Options{File: file.Name(), Dir: filepath.Dir(file.Name()), BuiltIn: builtIn})
		if err == nil {
			require.NoError(t, c.Dream.Validate())
			require.NotEmpty(t, c.Settings())
			require.NotEmpty(t, c.String())
			requireRisingPrices(t, c)
		}
	})
}

// requireRisingPrices checks that no longer prompt costs less.
func requireRisingPrices(t *testing.T, c config.Config) {
	t.Helper()
	for name, spec := range c.Catalog() {
		if p := spec.Price; p != nil && p.LongFrom != 0 {
			require.Positive(t, p.LongFrom, name)
			require.GreaterOrEqual(t, p.LongIn, p.In, name)
			require.GreaterOrEqual(t, p.LongCachedIn, p.CachedIn, name)
			require.GreaterOrEqual(t, p.LongOut, p.Out, name)
		}
	}
}
