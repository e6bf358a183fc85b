package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// ErrNoDeployments says that a cluster offers no Worker Deployments. It gives no work to a worker that is part of one.
var ErrNoDeployments = errors.New("the cluster offers no Worker Deployments")

// CurrentBuild is the build id of a Worker Deployment's current version, the one that gets new work; empty when there
// is none yet. ErrNoDeployments when the cluster does not offer them, or the key may not read them.
func CurrentBuild(ctx context.Context, c client.Client, deployment string) (string, error) {
	found, err := c.WorkerDeploymentClient().GetHandle(deployment).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	var unknown *serviceerror.NotFound
	switch {
	case errors.As(err, &unknown): // no worker of it has started yet
		return "", nil
	case denied(err):
		return "", fmt.Errorf("%w (%s)", ErrNoDeployments, strings.TrimSuffix(err.Error(), "."))
	case err != nil:
		return "", fmt.Errorf("describe the Worker Deployment %s: %w", deployment, err)
	}
	if found.Info.RoutingConfig.CurrentVersion == nil {
		return "", nil
	}
	return found.Info.RoutingConfig.CurrentVersion.BuildID, nil
}
