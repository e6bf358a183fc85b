package console

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

// sealed is a console with one key, and its output.
func sealed(t *testing.T, keys string) (app *cli.App, out, beside *bytes.Buffer) {
	t.Helper()
	out, beside = &bytes.Buffer{}, &bytes.Buffer{}
	return &cli.App{
		In: strings.NewReader(""), Out: out, Err: beside,
		Now:     func() time.Time { return time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC) },
		Random:  strings.NewReader(strings.Repeat("0123456789abcdef", 8)),
		Backend: sealing{keys: keys},
	}, out, beside
}

// sealing is a backend with sealing keys.
type sealing struct {
	cli.Backend
	keys string
}

func (s sealing) Getenv(name string) string {
	return map[string]string{"TOKEN": "sesame", "EMPTY": " "}[name]
}

func (s sealing) SealKeys() (payload.Keys, string, error) {
	if s.keys == "" {
		return payload.Keys{}, "", nil
	}
	k, err := payload.Parse(s.keys)
	return k, "seal.keys_env SEAL", err
}

var oneKey = "winter " + base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes, see? "))

func TestANewKeyIsALineOfTheKeysFile(t *testing.T) {
	t.Parallel()
	app, out, _ := sealed(t, "")
	require.Equal(t, exit.OK, Run(context.Background(), app, []string{"codec", "new-key"}))
	require.Regexp(t, regexp.MustCompile(`^2026-11-20-3031 [A-Za-z0-9+/]{43}=\n$`), out.String())
	k, err := payload.Parse(out.String())
	require.NoError(t, err)
	require.Equal(t, "2026-11-20-3031", k.Newest())

	app, _, beside := sealed(t, "")
	require.Equal(t, exit.Usage, Run(context.Background(), app, []string{"codec", "new-key", "--id", "a b"}))
	require.Contains(t, beside.String(), `key id "a b"`)
}

func TestSealedJSONIsOpenedFromAFileAndFromStandardInput(t *testing.T) {
	t.Parallel()
	k, err := payload.Parse(oneKey)
	require.NoError(t, err)
	data, _ := payload.New(k)
	p, err := data.ToPayloads("a lighthouse")
	require.NoError(t, err)
	body, err := protojson.Marshal(p)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "shown.json")
	require.NoError(t, os.WriteFile(file, body, 0o600))
	for _, args := range [][]string{{"codec", "decode", file}, {"codec", "decode"}, {"codec", "decode", "-"}} {
		app, out, beside := sealed(t, oneKey)
		app.In = bytes.NewReader(body)
		require.Equal(t, exit.OK, Run(context.Background(), app, args), beside.String())
		require.JSONEq(t, `{"payloads":["a lighthouse"]}`, out.String())
		require.Empty(t, beside.String())
	}
	app, _, beside := sealed(t, oneKey)
	app.In = strings.NewReader("{}")
	require.Equal(t, exit.OK, Run(context.Background(), app, []string{"codec", "decode"}))
	require.Equal(t, "Nothing in it was sealed.\n", beside.String())
}

func TestTheCodecRefusesWhatWouldGiveTheKeysAway(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, keys string
		args       []string
		want       string
	}{
		{"no keys", "", []string{"serve"}, "no sealing keys are configured"},
		{"no keys to open with", "", []string{"decode"}, "no sealing keys are configured"},
		{
			"the whole network",
			oneKey,
			[]string{"serve", "--listen", "0.0.0.0:0"},
			"can be reached by other machines",
		},
		{
			"every name of this machine",
			oneKey,
			[]string{"serve", "--listen", ":0"},
			"can be reached by other machines",
		},
		{
			"every address, under no name", oneKey,
			[]string{"serve", "--listen", "0.0.0.0:0", "--token-env", "TOKEN"},
			"add --host",
		},
		{
			"every address of IPv6, under no name", oneKey,
			[]string{"serve", "--listen", "[::]:0", "--token-env", "TOKEN"},
			"add --host",
		},
		{
			"a host with a port",
			oneKey,
			[]string{"serve", "--host", "codec.internal:8081"},
			"without scheme and port",
		},
		{
			"a host with a scheme", oneKey,
			[]string{"serve", "--host", "https://codec.internal"},
			"without scheme and port",
		},
		{"no address", oneKey, []string{"serve", "--listen", "8081"}, "should be host:port"},
		{"any page", oneKey, []string{"serve", "--origin", "*"}, `--origin "*" should be a scheme and a host`},
		{
			"a page, not an origin", oneKey,
			[]string{"serve", "--origin", "http://127.0.0.1:8233/"},
			"should be a scheme and a host",
		},
		{
			"a token that is not set", oneKey,
			[]string{"serve", "--token-env", "EMPTY"},
			"--token-env names EMPTY, which is not set",
		},
		{"no such file", oneKey, []string{"decode", "/no/such/file"}, "open the JSON"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			app, _, beside := sealed(t, c.keys)
			require.Equal(t, exit.Usage, Run(context.Background(), app, append([]string{"codec"}, c.args...)))
			require.Contains(t, beside.String(), c.want)
		})
	}
}

func TestTheCodecServesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	app, _, _ := sealed(t, oneKey)
	read, write := io.Pipe()
	app.Out = write
	code := make(chan int, 1)
	go func() {
		code <- Run(ctx, app,
			[]string{"codec", "serve", "--listen", "127.0.0.1:0", "--token-env", "TOKEN", "--host", "codec.internal"})
	}()
	first := make([]byte, 512)
	n, err := read.Read(first)
	require.NoError(t, err)
	address := strings.Fields(string(first[:n]))[1]
	go func() { _, _ = io.Copy(io.Discard, read) }()

	ask := func(token, host string) int {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/decode",
			strings.NewReader(`{"payloads":[]}`))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	require.Equal(t, http.StatusOK, ask("sesame", ""))
	require.Equal(t, http.StatusOK, ask("sesame", "localhost:8081"))
	require.Equal(t, http.StatusOK, ask("sesame", "codec.internal"))
	require.Equal(t, http.StatusForbidden, ask("sesame", "evil.example:8081"),
		"a page that made its own name point here")
	require.Equal(t, http.StatusUnauthorized, ask("sesam", ""))
	stop()
	require.Equal(t, exit.OK, <-code)
}
