package archtest

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestTheWallsStand(t *testing.T) {
	t.Parallel()
	faults, packages, err := Inspect(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, packages, 20, "the sources were read")
	for _, fault := range faults {
		t.Error(fault)
	}
}

// tree is a small house by file name; a package clause and caption are put above each text.
func tree(files map[string]string) fstest.MapFS {
	made := fstest.MapFS{"go.mod": {Data: []byte("module " + Module)}}
	for name, text := range files {
		made[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return made
}

func room(name, rest string) string {
	return "// Package " + name + " is here.\npackage " + name + "\n" + rest
}

func imports(path string) string { return "import _ \"" + path + "\"\n" }

func ours(dir string) string { return imports(Module + "/" + dir) }

func TestEachWallTurnsRedWhenItIsBroken(t *testing.T) {
	t.Parallel()
	clean := room("clean", "")
	cases := []struct {
		name, wall string
		files      map[string]string
	}{
		{"a package without a comment", "caption", map[string]string{"internal/mood/mood.go": "package mood\n"}},
		{
			"a comment that names another package", "caption",
			map[string]string{"internal/mood/mood.go": "// Package food is.\npackage mood\n"},
		},
		{
			"a licence where the caption should stand", "caption",
			map[string]string{"cmd/oneiros/main.go": "// Copyright.\npackage main\n"},
		},

		{
			"a new room nobody placed", "a floor for every room",
			map[string]string{"internal/helpers/h.go": room("helpers", "")},
		},
		{"code at the root", "a floor for every room", map[string]string{"oneiros.go": room("oneiros", "")}},

		{
			"a law that imports a port", "floors",
			map[string]string{
				"internal/journal/j.go": room("journal", ours("internal/memory")),
				"internal/memory/m.go":  clean,
			},
		},
		{
			"a law that imports a law", "floors",
			map[string]string{"internal/journal/j.go": room("journal", ours("internal/forgetting"))},
		},
		{
			"a word that imports rightward", "floors",
			map[string]string{"internal/budget/b.go": room("budget", ours("internal/dream"))},
		},
		{
			"a port that imports rightward", "floors",
			map[string]string{"internal/inference/i.go": room("inference", ours("internal/spend"))},
		},
		{
			"a store that imports another", "floors",
			map[string]string{"internal/redisstore/r.go": room("redisstore", ours("internal/sqlitestore"))},
		},
		{
			"an activity that imports a workflow", "floors",
			map[string]string{"activities/a.go": room("activities", ours("workflows"))},
		},
		{"a room that reads config", "floors", map[string]string{"workers/w.go": room("workers", ours("config"))}},
		{
			"config that imports its door", "floors",
			map[string]string{"config/c.go": room("config", ours("cmd/oneiros"))},
		},
		{
			"a face of psyche imported by psyche", "floors",
			map[string]string{"internal/psyche/p.go": room("psyche", ours("internal/psyche/openaihttp"))},
		},
		{
			"an import of a room on no floor", "floors",
			map[string]string{"workers/w.go": room("workers", ours("internal/helpers"))},
		},
		{
			"a file for another system", "floors",
			map[string]string{"internal/mood/m.go": "//go:build plan9\n\n" + room("mood", ours("internal/event"))},
		},

		{"a fake that ships", "stage", map[string]string{"workers/w.go": room("workers", ours("testsuite/provider"))}},
		{
			"a contract suite that ships", "stage",
			map[string]string{"internal/sqlitestore/s.go": room("sqlitestore", ours("internal/memory/memorytest"))},
		},
		{
			"a suite in its own port", "stage",
			map[string]string{"internal/memory/m.go": room("memory", ours("internal/memory/memorytest"))},
		},

		{"a dot import", "plain imports", map[string]string{"internal/mood/m.go": room("mood", "import . \"math\"\n")}},

		{"the server module sharing code", "own module", map[string]string{
			"cmd/temporald/go.mod":  "module x",
			"cmd/temporald/main.go": "// Command temporald is.\npackage main\n" + ours("internal/mood"),
		}},

		{"a word that opens files", "purity", map[string]string{"internal/mood/m.go": room("mood", imports("os"))}},
		{
			"a law that knows the network", "purity",
			map[string]string{"internal/prompt/p.go": room("prompt", imports("net/http"))},
		},
		{
			"a law that takes a context", "purity",
			map[string]string{"internal/journal/j.go": room("journal", imports("context"))},
		},
		{
			"a law with a vendor", "purity",
			map[string]string{"internal/journal/j.go": room("journal", imports("github.com/spf13/viper"))},
		},
		{
			"a law that reads the clock", "purity",
			map[string]string{"internal/journal/j.go": room("journal", "import \"time\"\nvar now = time.Now\n")},
		},
		{
			"a law that reads the clock by another name", "purity",
			map[string]string{
				"internal/journal/j.go": room("journal", "import c \"time\"\nvar _ = c.Since(c.Time{})\n"),
			},
		},
		{
			"a law that throws everybody's dice", "purity",
			map[string]string{
				"internal/journal/j.go": room("journal", "import \"math/rand/v2\"\nvar _ = rand.IntN(6)\n"),
			},
		},
		{
			"a law that throws the old dice", "purity",
			map[string]string{
				"internal/journal/j.go": room("journal", "import \"math/rand\"\nvar _ = rand.Float64()\n"),
			},
		},
		{
			"a part of a law that is not pure", "purity",
			map[string]string{"internal/hypnagogia/heat/h.go": room("heat", imports("os"))},
		},

		{
			"a workflow that runs a program", "no hands",
			map[string]string{"workflows/w.go": room("workflows", imports("os/exec"))},
		},
		{
			"an activity that opens a connection", "no hands",
			map[string]string{"activities/a.go": room("activities", imports("net"))},
		},
		{
			"an activity that writes a file", "no hands",
			map[string]string{"activities/a.go": room("activities", "import \"os\"\nvar _ = os.WriteFile\n")},
		},
		{"an activity that posts by way of a port", "no hands", map[string]string{
			"activities/a.go":         room("activities", ours("internal/spend")),
			"internal/spend/p.go":     room("spend", ours("internal/inference")),
			"internal/inference/i.go": room("inference", imports("net/http")),
		}},
		{"a workflow that writes by way of an activity", "no hands", map[string]string{
			"workflows/w.go":  room("workflows", ours("activities")),
			"activities/a.go": room("activities", "import \"os\"\nvar _, _ = os.Create(\"x\")\n"),
		}},

		{"an activity that knows its healthy share", "shares are only watched", map[string]string{
			"activities/a.go": room("activities",
				"import \""+Module+"/internal/hypnagogia\"\nvar _ = hypnagogia.UsedBand.Low\n"),
		}},
		{"a workflow that counts toward a share", "shares are only watched", map[string]string{
			"workflows/w.go": room("workflows",
				"import law \""+Module+"/internal/hypnagogia\"\nvar _, _ = law.Shares(nil)\n"),
		}},

		{
			"an activity that names a vendor", "no vendor but Temporal",
			map[string]string{"activities/a.go": room("activities", imports("github.com/redis/go-redis/v9"))},
		},
		{"a starter that reaches a vendor", "no vendor but Temporal", map[string]string{
			"starter/s.go":              room("starter", ours("internal/sqlitestore")),
			"internal/sqlitestore/s.go": room("sqlitestore", imports("modernc.org/sqlite")),
		}},
		{"a port that holds a vendor nobody lent it", "no vendor but Temporal", map[string]string{
			"workers/w.go":            room("workers", ours("internal/inference")),
			"internal/inference/i.go": room("inference", imports("github.com/sashabaranov/go-openai")),
		}},

		{
			"a being that knows Temporal", "psyche knows no Temporal",
			map[string]string{"internal/psyche/p.go": room("psyche", imports("go.temporal.io/sdk/client"))},
		},
		{"a face that reaches Temporal", "psyche knows no Temporal", map[string]string{
			"internal/psyche/openaihttp/o.go": room("openaihttp", ours("activities")),
			"activities/a.go":                 room("activities", imports("go.temporal.io/sdk/activity")),
		}},

		{
			"a client that imports the server", "hermes knows the wire only",
			map[string]string{"internal/hermes/ui/u.go": room("ui", ours("internal/psyche"))},
		},
		{
			"a client that imports a store", "hermes knows the wire only",
			map[string]string{"internal/hermes/react/r.go": room("react", ours("internal/sqlitestore"))},
		},
		{
			"a client that starts workflows", "hermes knows the wire only",
			map[string]string{"internal/hermes/remote/r.go": room("remote", imports("go.temporal.io/sdk/client"))},
		},
	}
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.wall] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faults, _, err := Inspect(tree(c.files))
			require.NoError(t, err)
			broken := make([]string, 0, len(faults))
			for _, fault := range faults {
				broken = append(broken, fault.Wall)
			}
			require.Contains(t, broken, c.wall, "%v", faults)
		})
	}
	for _, wall := range Walls() {
		require.True(t, covered[wall], "no broken house shows that %q can turn red", wall)
	}
}

func TestWhatTheWallsAllowIsGreen(t *testing.T) {
	t.Parallel()
	faults, packages, err := Inspect(tree(map[string]string{
		"internal/mood/m.go":      room("mood", "import \"time\"\nvar _ time.Duration\n"),
		"internal/mood/m_test.go": "package mood\n" + imports("os") + ours("testsuite/provider"),
		"internal/dream/d.go":     room("dream", ours("internal/mood")),
		"internal/hypnagogia/h.go": room("hypnagogia",
			ours("internal/dream")+"import \"math/rand/v2\"\nvar _ = rand.New(rand.NewPCG(1, 2))\n"),
		"internal/inference/i.go": room("inference",
			imports("context")+imports("github.com/tiktoken-go/tokenizer/codec")),
		"internal/spend/p.go": room("spend", ours("internal/inference")),
		"internal/spend/spendtest/p.go": room("spendtest",
			ours("internal/spend")+imports("github.com/stretchr/testify/require")),
		"internal/sqlitestore/s.go": room("sqlitestore",
			ours("internal/spend")+imports("modernc.org/sqlite")+"import \"os\"\nvar _ = os.Create\n"),
		"internal/sqlitestore/schema/s.go": room("schema", ""),
		"internal/sqlitestore/s_test.go":   "package sqlitestore_test\n" + ours("internal/spend/spendtest"),
		"activities/a.go": room("activities",
			ours("internal/spend")+imports("go.temporal.io/sdk/activity")),
		"workflows/w.go": room("workflows", ours("activities")+ours("internal/hypnagogia")),
		"workers/w.go":   room("workers", ours("workflows")),
		"config/c.go":    room("config", imports("os")+imports("github.com/spf13/viper")),
		"cmd/oneiros/main.go": "// Command oneiros is here.\npackage main\n" + ours("config") +
			ours("workers") + ours("internal/sqlitestore"),
		"cmd/temporald/go.mod":      "module " + Module + "/cmd/temporald",
		"cmd/temporald/main.go":     "// Command temporald is here.\npackage main\n" + imports("net"),
		"testsuite/testdeploy/s.go": room("testdeploy", ours("workers")+ours("config")+imports("os/exec")),
		"testsuite/chaos/c_test.go": "// Package chaos is here.\npackage chaos_test\n" +
			ours("testsuite/testdeploy"),
		"internal/prompt/testdata/broken.go": "this is not Go",
		"internal/psyche/p.go":               room("psyche", ours("internal/spend")),
		"internal/psyche/openaihttp/h.go":    room("openaihttp", ours("internal/psyche")+imports("net/http")),
		"internal/hermes/remote/r.go":        room("remote", imports("net/http")),
		"internal/hermes/react/r.go":         room("react", ours("internal/hermes/remote")),
		"internal/fabric/f.go":               room("fabric", ours("internal/dream")),
		"internal/localmodel/localmodel.go": room("localmodel",
			ours("internal/hypnagogia")+ours("internal/inference")),
		"internal/importer/importer.go":         room("importer", ours("internal/dream")),
		"internal/console/console.go":           room("console", ours("internal/importer")+ours("workflows")),
		"starter/s.go":                          room("starter", ours("workflows")),
		"internal/inference/inferencetest/i.go": room("inferencetest", ours("internal/inference")),
	}))
	require.NoError(t, err)
	require.Empty(t, faults)
	require.Equal(t, 26, packages)
}

func TestAFileThatIsNotGoIsAnErrorNotASilence(t *testing.T) {
	t.Parallel()
	_, _, err := Inspect(tree(map[string]string{"internal/mood/m.go": "pakcage mood"}))
	require.ErrorContains(t, err, "internal/mood/m.go")
}
