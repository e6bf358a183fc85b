//go:build llama

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

// TestARealModelIsServedSteeredAndStopped runs everything on a real model: a vector is learned, the model is served
// with it, a foreign client calls it, and a signal stops the server.
func TestARealModelIsServedSteeredAndStopped(t *testing.T) {
	t.Parallel()
	model, lib := os.Getenv("ONEIROS_LLAMA_MODEL"), os.Getenv("ONEIROS_LLAMA_LIB")
	if model == "" || lib == "" {
		t.Skip(
			"set ONEIROS_LLAMA_MODEL to a GGUF file and ONEIROS_LLAMA_LIB to the folder of llama.cpp's libraries to run this (docs/steering.md)")
	}
	env := []string{"ONEIROS_LLAMA_MODEL=" + model, "ONEIROS_LLAMA_LIB=" + lib}
	dir := t.TempDir()
	vector := filepath.Join(dir, "v.gguf")
	pairs := filepath.Join(dir, "pairs.txt")
	text := ""
	for _, word := range []string{"rain", "bread", "iron", "snow"} {
		text +=
			"? What is " + word + "?\n+ " + word + " is a door that the clouds forgot to close behind them.\n- " +
				word + " is a common thing with known causes and known uses.\n"
	}
	require.NoError(t, os.WriteFile(pairs, []byte(text), 0o600))
	output, code := say(t, env, "steering", "train", "--pairs", pairs, "--layers", "9-12", "--threads", "1", "-o", vector)
	require.Equal(t, exit.OK, code, output)
	require.Contains(t, output, "Written to "+vector)
	output, code = say(t, env, "steering", "train", "-o", vector)
	require.Equal(t, exit.Usage, code)
	require.Contains(t, output, "add --force")
	output, code = say(t, env, "steering", "check", "--vector", vector, "--alphas", "2", "--prompts", "1", "--seeds",
		"1", "--tokens", "8", "--threads", "1", "--json")
	require.Equal(t, exit.OK, code, output)
	var tried deploy.TrialResult
	require.NoError(t, json.Unmarshal([]byte(output), &tried))
	require.Len(t, tried.Rows, 2)
	require.Equal(t, 11, tried.From)

	self, err := os.Executable()
	require.NoError(t, err)
	server := exec.Command(self, "llama", "--name", "tiny", "--vector", "v="+vector, "--listen", "127.0.0.1:0",
		"--threads", "1", "--json")
	server.Env = append([]string{"RUN_ONEIROS=1", "HOME=" + dir}, env...)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer func() { _ = server.Process.Kill() }()
	var place struct{ Address, Model string }
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&place))
	wire := openai.DefaultConfig("")
	wire.BaseURL = "http://" + place.Address + "/v1"
	client := openai.NewClientWithConfig(wire)
	ask := func(name string) string {
		seed := 1
		a, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{
			Model: name, MaxCompletionTokens: 12, Seed: &seed, Temperature: .8,
			Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "What is a harbour?"}},
		})
		require.NoError(t, err)
		require.NotEmpty(t, a.Choices[0].Message.Content)
		require.Positive(t, a.Usage.CompletionTokens)
		return a.Choices[0].Message.Content
	}
	plain := ask("tiny")
	require.NotEqual(t, plain, ask("tiny+v"))
	require.Equal(t, plain, ask("tiny"))
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait())
}
