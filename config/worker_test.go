package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
)

func TestWorkerVersioningIsChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"off", nil, ""},
		{"a deployment", []string{"ONEIROS_WORKER_DEPLOYMENT=oneiros"}, ""},
		{"a build", []string{"ONEIROS_WORKER_DEPLOYMENT=oneiros", "ONEIROS_WORKER_BUILD_ID=v1.2.0"}, ""},
		{"a dot", []string{"ONEIROS_WORKER_DEPLOYMENT=oneiros.prod"}, `worker.deployment is "oneiros.prod"`},
		{"a colon", []string{"ONEIROS_WORKER_DEPLOYMENT=oneiros:1"}, `worker.deployment is "oneiros:1"`},
		{"a build without a deployment", []string{"ONEIROS_WORKER_BUILD_ID=v1.2.0"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Options{Dir: t.TempDir(), BuiltIn: builtIn, Env: c.env})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
