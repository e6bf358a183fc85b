package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
	"github.com/seed-56a03226/oneiros/config"
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
	require.Equal(t, Linked, loads)
}

func TestAWorkerDoesNotBeginWithoutTheModelOfAProvider(t *testing.T) {
	t.Parallel()
	c := config.Config{Providers: map[string]config.Provider{
		"here": {Profile: config.InProcess, Engine: config.Engine{Model: "/absent/model.gguf", Lib: "/absent"}},
	}}
	models, wants := providers(c)
	require.ErrorContains(t, wants, "provider here: ")
	if !Linked {
		require.ErrorIs(t, wants, errNoEngine)
	}
	_, err := models["here"].Generate(t.Context(), inference.Request{Model: "here/any"}, nil)
	require.Error(t, err)
	require.NoError(
		t,
		NewProcess(nil).handOverIfNeeded(c),
		"without the other program it does nothing; the worker reports the error",
	)
}
