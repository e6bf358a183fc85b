package llama

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/steering"
)

// file writes a file of its own folder.
func file(t *testing.T, name string, content []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, mode))
	return path
}

// gguf is a file that has a head and weights, such that only llama.cpp could say more of it.
func gguf(t *testing.T) []byte {
	t.Helper()
	raw, err := steering.Vector{Model: "llama", Layers: map[int][]float32{1: make([]float32, 64)}}.Encode()
	require.NoError(t, err)
	return []byte(replaceOnce(string(raw), "controlvector", "llamacontrols")) // as long, so that nothing moves
}

func replaceOnce(s, old, with string) string {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return s[:i] + with + s[i+len(old):]
		}
	}
	return s
}

func TestAModelThatCannotBeIsToldInASentenceThatNamesTheFile(t *testing.T) {
	t.Parallel()
	vector, err := steering.Vector{Layers: map[int][]float32{1: {1}}}.Encode()
	require.NoError(t, err)
	lib := t.TempDir()
	for want, path := range map[string]string{
		"no model is named":          "",
		"no such file":               filepath.Join(lib, "absent.gguf"),
		"is no file; name the .gguf": lib,
		"does not begin with the letters GGUF": file(t, "page.gguf",
			[]byte("<!doctype html><p>Sign in to download this model"), 0o600),
		"the file is truncated": file(t, "cut.gguf", gguf(t)[:200], 0o600),
		"is a control vector":   file(t, "vector.gguf", vector, 0o600),
	} {
		_, err := Open(Options{Model: path, Lib: lib})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
	if os.Getuid() != 0 {
		locked := file(t, "locked.gguf", gguf(t), 0)
		_, err = Open(Options{Model: locked, Lib: lib})
		require.ErrorContains(t, err, "permission denied")
	}
}

func TestLibrariesThatCannotBeAreToldInASentence(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("libraries have other names here")
	}
	model := file(t, "model.gguf", gguf(t), 0o600)
	refused := func(lib string, want ...string) {
		t.Helper()
		_, err := Open(Options{Model: model, Lib: lib})
		for _, part := range want {
			require.ErrorContains(t, err, part)
		}
	}
	refused("", "no folder of llama.cpp's libraries is named", "libllama.so, libggml.so, libggml-base.so",
		TestedVersion)
	refused(filepath.Join(t.TempDir(), "absent"), "is no folder that can be read")
	empty := t.TempDir()
	refused(empty, filepath.Join(empty, "libllama.so")+" is missing")
	require.NoError(t, os.WriteFile(filepath.Join(empty, "libllama.v0.5.0.so"), nil, 0o600))
	refused(empty, "libllama.so is missing", "ln -s libllama.v0.5.0.so")
	for _, name := range []string{"libllama.so", "libggml.so", "libggml-base.so"} {
		require.NoError(t, os.WriteFile(filepath.Join(empty, name), []byte("this is no library"), 0o600))
	}
	library.Lock()
	if library.dir == "" { // another test may have loaded the real ones
		defer refused(empty, "cannot be used", empty, TestedVersion)
	}
	library.Unlock()
}

func TestOptionsOutsideTheirBoundsAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"threads is 65":  {Threads: 65},
		"parallel is 17": {Parallel: 17},
		"queue is -1":    {Queue: -1},
		"context is 64":  {Context: 64},
	} {
		_, err := Open(o)
		require.ErrorContains(t, err, want)
	}
}

func TestAModelThatWasCutOrIsOfNoKnownKindDoesNotCrash(t *testing.T) {
	t.Parallel()
	o := real(t)
	whole, err := os.ReadFile(o.Model)
	require.NoError(t, err)
	o.Model = file(t, "half.gguf", whole[:len(whole)/2], 0o600)
	_, err = Open(o)
	require.ErrorContains(t, err, "the file is truncated")

	o.Model = file(t, "strange.gguf", gguf(t), 0o600)
	_, err = Open(o)
	require.ErrorContains(t, err, "llama.cpp cannot load the model "+o.Model)
	require.ErrorContains(t, err, "llamacontrols")
}
