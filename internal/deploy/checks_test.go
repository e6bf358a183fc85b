package deploy

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/testsuite/redis"
)

// appOf is an app with a configuration of its own.
func appOf(t *testing.T, yaml string) doctor {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "oneiros.yaml")
	require.NoError(t, os.WriteFile(path, []byte("data_dir: "+dir+"\n"+yaml), 0o600))
	d := doctor{Process: NewProcess([]string{"HOME=" + dir}), store: new(unopened)}
	require.NoError(t, d.Flags.Parse([]string{"--config", path}))
	_, err := d.config()
	require.NoError(t, err)
	return d
}

func TestTheDoctorReportsAModelThatItsProviderDoesNotList(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`{"data":[{"id":"small"},{"id":"vectors"}]}`:               "",
		`{"data":[{"id":"models/small"},{"id":"vectors:latest"}]}`: "",
		`{"data":[{"id":"small"}]}`:                                "lacks vectors",
		`{"data":[]}`:                                              "",
		`no list at all`:                                           "",
		`{"data":[{"id":"vectors"},{"id":"` + strings.Repeat("x", 99) + `"}]}`: "lacks small",
	} {
		server := httptest.NewServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(list)) }))
		d := appOf(t,
			"providers:\n  house:\n    base_url: "+server.URL+
				"/v1\n    profile: generic\n    models:\n      - {name: small, price: {in: 0, out: 0}}\n      - {name: vectors, price: {in: 0, out: 0}, embeds: true}\n"+
				"roles:\n  generator: house/small\n  embedder: house/vectors\n")
		found := d.checkProvider(t.Context(), "house")
		if want == "" {
			require.Equal(t, Well, found.State, found.Found)
		} else {
			require.Equal(t, Warning, found.State)
			require.Contains(t, found.Found, want)
		}
		server.Close()
	}
}

func TestTheDoctorAsksAProviderOfMessagesInItsWay(t *testing.T) {
	t.Parallel()
	const list = `{"data":[{"type":"model","id":"claude-haiku-4-5-20251001"},{"type":"model","id":"claude-sonnet-5"}],"has_more":false}`
	for model, want := range map[string]string{
		"claude-haiku-4-5": "", "claude-haiku-4-5-20251001": "", "claude-haiku-4": "lacks claude-haiku-4",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.String() != "/v1/models?limit=1000" || r.Header.Get("X-Api-Key") != "sk-ant-1" ||
				r.Header.Get("Anthropic-Version") == "" || r.Header.Get("Authorization") != "" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = w.Write([]byte(list))
		}))
		key := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(key, []byte("sk-ant-1\n"), 0o600))
		d := appOf(t,
			"providers:\n  claude:\n    profile: anthropic\n    base_url: "+server.URL+"\n    api_key_file: "+key+
				"\n    models: [{name: claude-haiku-4, price: {in: 1, out: 1}}]\nroles:\n  generator: claude/"+model+"\n")
		found := d.checkProvider(t.Context(), "claude")
		if want == "" {
			require.Equal(t, Well, found.State, found.Found)
		} else {
			require.Equal(t, Warning, found.State)
			require.Contains(t, found.Found, want)
		}
		server.Close()
	}
}

func TestTheDoctorChecksSealingKeysWithoutAServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	d := appOf(t, "seal:\n  keys_file: "+file+"\n")
	require.Equal(t, Ill, d.checkSeal(t.Context()).State, "there is none")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Contains(t, d.checkSeal(t.Context()).Found, "is empty")
	require.NoError(t,
		os.WriteFile(file,
			[]byte("2026-11 "+base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789ABCDEF"))+"\n"),
			0o600))
	require.Equal(t, Well, d.checkSeal(t.Context()).State, d.checkSeal(t.Context()).Found)
	require.NoError(t, os.Chmod(file, 0o644))
	found := d.checkSeal(t.Context())
	require.Equal(t, Warning, found.State)
	require.Contains(t, found.Found, "its mode is 0644, and 0600 is right")
	require.Equal(t, Well, appOf(t, "").checkSeal(t.Context()).State)
	require.Equal(t, Well, appOf(t, "").checkFeeds(t.Context()).State)
}

func TestTheDoctorSkipsTheDiskWithoutADataFolder(t *testing.T) {
	t.Parallel()
	d := doctor{Process: NewProcess(nil), store: new(unopened)}
	require.NoError(t, d.Flags.Parse([]string{"--config", filepath.Join(t.TempDir(), "absent.yaml")}))
	_, err := d.config()
	require.Error(t, err)
	found := d.checkDisk(t.Context())
	require.Equal(t, Warning, found.State)
	require.Contains(t, found.Found, "not checked")
}

func TestTheDoctorRefusesADataFolderThatIsOnNoDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	d := appOf(t, "")
	d.cfg.DataDir = "/proc/x"
	found := d.checkDisk(t.Context())
	require.Equal(t, Ill, found.State)
	require.Equal(t, "/proc/x does not exist, and cannot be made in /proc", found.Found)
	require.Equal(t, "Set data_dir to a folder on a disk.", found.Advice)
}

func TestTheDoctorSaysHowAnEvictingServerIsChanged(t *testing.T) {
	t.Parallel()
	server := redis.Start(t, redis.Config("maxmemory-policy", "allkeys-lru"))
	found := appOf(t, "store:\n  url: "+server.URL+"\n").checkStore(t.Context())
	require.Equal(t, Ill, found.State)
	require.Contains(t, found.Found, "CONFIG SET maxmemory-policy noeviction and then CONFIG REWRITE")
	require.Contains(t, found.Advice, "Set on the Redis server what is named: by CONFIG SET")
	require.NotContains(t, found.Advice, "password")
}

func TestACheckEndsWhateverDoesNotAnswer(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	defer close(silent)
	look := within(time.Millisecond, func(context.Context) Finding {
		<-silent
		return passed("after all")
	})
	f := look(t.Context())
	require.Equal(t, Ill, f.State)
	require.Equal(t, "no answer within 1ms", f.Found)
	talks := within(time.Millisecond, func(ctx context.Context) Finding {
		<-ctx.Done()
		return failed("Look there.", "it was too late")
	})
	require.Equal(t, "it was too late", talks(t.Context()).Found)
}

func TestAStoreThatDoesNotAnswerIsAwaitedOnce(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = closed.Close() }) // it accepts and never answers
	p := NewProcess([]string{"HOME=" + t.TempDir(), "ONEIROS_STORE_URL=redis://" + closed.Addr().String() + "/0"})
	d := doctor{Process: p, store: new(unopened)}
	_, err = d.config()
	require.NoError(t, err)
	require.Equal(t, Ill, d.checkStore(t.Context()).State)
	first := d.store.why
	require.Error(t, first)
	require.Equal(t, "not checked", d.checkRetention(t.Context()).Found)
	require.Same(t, first, d.store.why)
}
