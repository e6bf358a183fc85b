package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// say runs one command line in this process and returns its output and standard error.
func say(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	var beside bytes.Buffer
	app := app(deploy.NewProcess(append([]string{"HOME=" + t.TempDir()}, env...)))
	app.Out, app.Err = &beside, &beside
	app.In, app.Terminal = strings.NewReader(""), false
	code := console.Run(t.Context(), app, args)
	return beside.String(), code
}

func TestAModelThatCannotBeServedIsAFaultOfUse(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{
		{"llama"},
		{"steering", "train", "-o", filepath.Join(t.TempDir(), "v.gguf")},
		{"steering", "check", "--vector", "v.gguf"},
	} {
		text, code := say(t, nil, command...)
		require.Equal(t, exit.Usage, code, text)
		require.Contains(t, text, "--model is not given")
		text, code = say(t, []string{"ONEIROS_LLAMA_MODEL=/absent/model.gguf", "ONEIROS_LLAMA_LIB=/absent"}, command...)
		require.Equal(t, exit.Usage, code, text)
		if deploy.Linked {
			require.Contains(t, text, "/absent/model.gguf: no such file")
		} else {
			require.Contains(t, text, "make llama")
		}
	}
}
