package deploy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	tlog "go.temporal.io/sdk/log"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

func TestAMissingSealingKeyIsLoggedOnOneLineAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := tlog.NewStructuredLogger(plainLogger(config.Log{Level: "info", Format: "text"}, &out))
	missing := &payload.OpenError{Key: "2026-11", Have: []string{"2026-12"}}
	for range 5 {
		log.Error("Workflow panic", "Error", missing, "StackTrace", "goroutine 1\n\tworkflow.go:12\n")
		log.Warn("Failed to process workflow task. "+missing.Error()+"\ngoroutine 7", "Attempt", 3)
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "that key is missing")
	require.NotContains(t, out.String(), "goroutine")
	log.Error("something else", "Error", "x")
	require.Contains(t, out.String(), "something else")
}
