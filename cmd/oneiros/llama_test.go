package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/console"
	"github.com/seed-56a03226/oneiros/internal/inference"
)

func TestTheProgramWithTheEngineIsFoundBesideThisOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	nowhere := func(string) (string, error) { return "", errors.New("not there") }
	_, err := findEngine(filepath.Join(dir, "oneiros"), nowhere)
	require.ErrorIs(t, err, errNoEngine)
	require.ErrorContains(t, err, "make llama")
	onPath := func(name string) (string, error) { return "/usr/bin/" + name, nil }
	found, err := findEngine(filepath.Join(dir, "oneiros"), onPath)
	require.NoError(t, err)
	require.Equal(t, "/usr/bin/oneiros-llama", found)
	_, err = findEngine(filepath.Join(dir, withEngine), onPath)
	require.ErrorIs(t, err, errNoEngine, "a program never hands over to itself")
	require.NoError(t, os.WriteFile(filepath.Join(dir, withEngine), nil, 0o700))
	found, err = findEngine(filepath.Join(dir, "oneiros"), nowhere)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, withEngine), found)
}

// TestTheUsualProgramLoadsNoLibrary keeps the usual program one static file: libraries are loaded only with the build
// tag.
func TestTheUsualProgramLoadsNoLibrary(t *testing.T) {
	t.Parallel()
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	loads := false
	for _, dep := range info.Deps {
		loads = loads || strings.Contains(dep.Path, "purego") || strings.Contains(dep.Path, "jupiterrider/ffi")
	}
	require.Equal(t, linked, loads)
}

// say runs one command line in this process and returns its output and standard error.
func say(t *testing.T, env []string, args ...string) (string, int) {
	t.Helper()
	var beside bytes.Buffer
	app := newApp(append([]string{"HOME=" + t.TempDir()}, env...)).app()
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
		require.Equal(t, console.Usage, code, text)
		require.Contains(t, text, "--model is not given")
		text, code = say(t, []string{"ONEIROS_LLAMA_MODEL=/absent/model.gguf", "ONEIROS_LLAMA_LIB=/absent"}, command...)
		require.Equal(t, console.Usage, code, text)
		if linked {
			require.Contains(t, text, "/absent/model.gguf: no such file")
		} else {
			require.Contains(t, text, "make llama")
		}
	}
}

func TestAWorkerDoesNotBeginWithoutTheModelOfAProvider(t *testing.T) {
	t.Parallel()
	c := config.Config{Providers: map[string]config.Provider{
		"here": {Profile: config.InProcess, Engine: config.Engine{Model: "/absent/model.gguf", Lib: "/absent"}},
	}}
	models, wants := providers(c)
	require.ErrorContains(t, wants, "provider here: ")
	if !linked {
		require.ErrorIs(t, wants, errNoEngine)
	}
	_, err := models["here"].Generate(t.Context(), inference.Request{Model: "here/any"}, nil)
	require.Error(t, err)
	require.NoError(t, newApp(nil).handOverIfNeeded(c), "without the other program it does nothing; the worker reports the error")
}
