package deploy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// checkMatrix checks that the bridged agents are there, that their accounts have secrets, and that the homeserver
// answers. It logs nobody in.
func (d doctor) checkMatrix(ctx context.Context) Finding {
	m := d.cfg.Matrix
	accounts, err := d.cfg.MatrixAccounts()
	if err != nil {
		return failed("Set the variable or write the file that it names; docs/matrix.md says how.", "%v", err)
	}
	return d.onStore(ctx, func(ctx context.Context, h *Deployment) Finding {
		for _, a := range accounts {
			if _, err := h.store.Agent(ctx, a.Handle); err != nil {
				return failed("Add it with oneiros agents add, or take it out of matrix.accounts.",
					"the agent of %s is not there: %v", a.User, err)
			}
		}
		if err := speaksMatrix(ctx, m.Homeserver); err != nil {
			return failed("Check that the homeserver runs, and that matrix.homeserver is its address.",
				"%s does not answer: %v", m.Homeserver, err)
		}
		return passed("%s answers; accounts %d", m.Homeserver, len(accounts))
	})
}

// speaksMatrix asks a homeserver which versions of Matrix it speaks, which needs no account.
func speaksMatrix(ctx context.Context, homeserver string) error {
	ctx, cancel := context.WithTimeout(ctx, providerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimRight(homeserver, "/")+"/_matrix/client/versions", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"versions"`) {
		return fmt.Errorf("it has no /_matrix/client/versions: %s", response.Status)
	}
	return nil
}
