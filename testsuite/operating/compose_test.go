package operating

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

const composeFile = root + "/docs/examples/compose.yaml"

// compose reads a compose file as the compose specification says, and checks it against its schema.
func compose(ctx context.Context, file string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{file})
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

func TestTheComposeFileFollowsTheSpecification(t *testing.T) {
	t.Parallel()
	project, err := compose(t.Context(), composeFile)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"redis", "temporal", "worker", "server"}, project.ServiceNames())
	for name, s := range project.Services {
		require.True(t, s.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Equal(t, []string{"no-new-privileges:true"}, s.SecurityOpt, name)
		require.NotEmpty(t, s.User, name)
		require.False(t, strings.HasPrefix(s.User, "0"), name)
		require.NotNil(t, s.StopGracePeriod, name)
		require.NotNil(t, s.HealthCheck, name)
		for _, v := range s.Volumes {
			require.Equal(t, "volume", v.Type, name)
			require.Contains(t, project.Volumes, v.Source, name)
		}
	}
	require.True(t, bool(project.Networks["inside"].Internal))
	for _, name := range []string{"redis", "temporal"} { // neither asks for a login
		require.Len(t, project.Services[name].Networks, 1, name)
		require.Contains(t, project.Services[name].Networks, "inside", name)
		require.Empty(t, project.Services[name].Ports, name)
	}
	for _, name := range []string{"worker", "server"} { // a webhook's secret is made by one and read by the other
		folders := project.Services[name].Volumes
		require.Len(t, folders, 1, name)
		require.Equal(t, "oneiros", folders[0].Source, name)
		require.Equal(t, "/var/lib/oneiros", folders[0].Target, name)
	}
	ports := project.Services["server"].Ports
	require.Len(t, ports, 1)
	require.Equal(t, "127.0.0.1", ports[0].HostIP)
	require.Equal(t, "required", *project.Services["server"].Environment["ONEIROS_SERVE_KEYS"])
}

func TestAComposeFileWithAnUnknownFieldIsRefused(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	for part, wrong := range map[string]string{
		"read_only: true":            "readonly: true",
		"condition: service_started": "condition: started",
		"networks: [inside]":         "networks: [within]",
		"interval: 5s":               "interval: five",
	} {
		require.Contains(t, string(body), part)
		file := filepath.Join(t.TempDir(), "compose.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(body), part, wrong, 1)), 0o600))
		_, err := compose(t.Context(), file)
		require.Error(t, err, wrong)
	}
}
