package archtest

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestTheImportRulesHold(t *testing.T) {
	t.Parallel()
	faults, packages, err := Inspect(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, packages, 20, "the sources were read")
	for _, fault := range faults {
		t.Error(fault)
	}
}

// tree is a small module by file name.
func tree(files map[string]string) fstest.MapFS {
	made := fstest.MapFS{"go.mod": {Data: []byte("module " + Module)}}
	for name, text := range files {
		made[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return made
}

func sourceOf(name, rest string) string {
	return "// Package " + name + " is here.\npackage " + name + "\n" + rest
}

func imports(path string) string { return "import _ \"" + path + "\"\n" }

func ours(dir string) string { return imports(Module + "/" + dir) }

func TestEachRuleFailsWhenItIsBroken(t *testing.T) {
	t.Parallel()
	clean := sourceOf("clean", "")
	cases := []struct {
		name, rule string
		files      map[string]string
	}{
		{"a package without a comment", "caption", map[string]string{"activities/port/mood/mood.go": "package mood\n"}},
		{
			"a comment that names another package", "caption",
			map[string]string{"activities/port/mood/mood.go": "// Package food is.\npackage mood\n"},
		},
		{
			"a licence in the place of the package comment", "caption",
			map[string]string{"cmd/oneiros/main.go": "// Copyright.\npackage main\n"},
		},

		{
			"a new package that is in no layer", "a layer for every package",
			map[string]string{"internal/helpers/h.go": sourceOf("helpers", "")},
		},
		{"code at the root", "a layer for every package", map[string]string{"oneiros.go": sourceOf("oneiros", "")}},

		{
			"a rule that imports a port", "layers",
			map[string]string{
				"internal/journal/j.go":       sourceOf("journal", ours("activities/port/memory")),
				"activities/port/memory/m.go": clean,
			},
		},
		{
			"a rule that imports a rule", "layers",
			map[string]string{"internal/journal/j.go": sourceOf("journal", ours("internal/forgetting"))},
		},
		{
			"a value that imports rightward", "layers",
			map[string]string{"activities/port/budget/b.go": sourceOf("budget", ours("activities/port/dream"))},
		},
		{
			"a port that imports rightward", "layers",
			map[string]string{"activities/port/inference/i.go": sourceOf("inference", ours("activities/port/spend"))},
		},
		{
			"a store that imports another", "layers",
			map[string]string{"internal/redisstore/r.go": sourceOf("redisstore", ours("internal/sqlitestore"))},
		},
		{
			"an activity that imports a workflow", "layers",
			map[string]string{"activities/a.go": sourceOf("activities", ours("workflows"))},
		},
		{"a package that reads config", "layers", map[string]string{"workers/w.go": sourceOf("workers", ours("config"))}},
		{
			"config that imports its program", "layers",
			map[string]string{"config/c.go": sourceOf("config", ours("cmd/oneiros"))},
		},
		{
			"an API of psyche imported by psyche", "layers",
			map[string]string{"internal/psyche/p.go": sourceOf("psyche", ours("internal/psyche/openaihttp"))},
		},
		{
			"an import of a package in no layer", "layers",
			map[string]string{"workers/w.go": sourceOf("workers", ours("internal/helpers"))},
		},
		{
			"a file for another system", "layers",
			map[string]string{"activities/port/mood/m.go": "//go:build plan9\n\n" + sourceOf("mood", ours("activities/port/event"))},
		},

		{"a fake in the product", "test-only", map[string]string{"workers/w.go": sourceOf("workers", ours("testsuite/provider"))}},
		{
			"a contract suite in the product", "test-only",
			map[string]string{"internal/sqlitestore/s.go": sourceOf("sqlitestore", ours("activities/port/memory/memorytest"))},
		},
		{
			"a suite in its own port", "test-only",
			map[string]string{"activities/port/memory/m.go": sourceOf("memory", ours("activities/port/memory/memorytest"))},
		},

		{"a dot import", "plain imports", map[string]string{"activities/port/mood/m.go": sourceOf("mood", "import . \"math\"\n")}},

		{"the server module sharing code", "own module", map[string]string{
			"cmd/temporald/go.mod":  "module x",
			"cmd/temporald/main.go": "// Command temporald is.\npackage main\n" + ours("activities/port/mood"),
		}},

		{"a value that opens files", "purity", map[string]string{"activities/port/mood/m.go": sourceOf("mood", imports("os"))}},
		{
			"a rule that knows the network", "purity",
			map[string]string{"internal/prompt/p.go": sourceOf("prompt", imports("net/http"))},
		},
		{
			"a rule that takes a context", "purity",
			map[string]string{"internal/journal/j.go": sourceOf("journal", imports("context"))},
		},
		{
			"a rule with a vendor", "purity",
			map[string]string{"internal/journal/j.go": sourceOf("journal", imports("github.com/spf13/viper"))},
		},
		{
			"a rule that reads the clock", "purity",
			map[string]string{"internal/journal/j.go": sourceOf("journal", "import \"time\"\nvar now = time.Now\n")},
		},
		{
			"a rule that reads the clock by another name", "purity",
			map[string]string{
				"internal/journal/j.go": sourceOf("journal", "import c \"time\"\nvar _ = c.Since(c.Time{})\n"),
			},
		},
		{
			"a rule that uses the shared random numbers", "purity",
			map[string]string{
				"internal/journal/j.go": sourceOf("journal", "import \"math/rand/v2\"\nvar _ = rand.IntN(6)\n"),
			},
		},
		{
			"a rule that uses the old random numbers", "purity",
			map[string]string{
				"internal/journal/j.go": sourceOf("journal", "import \"math/rand\"\nvar _ = rand.Float64()\n"),
			},
		},
		{
			"a part of a rule that is not pure", "purity",
			map[string]string{"internal/hypnagogia/heat/h.go": sourceOf("heat", imports("os"))},
		},

		{
			"a workflow that runs a program", "no side effects",
			map[string]string{"workflows/w.go": sourceOf("workflows", imports("os/exec"))},
		},
		{
			"an activity that opens a connection", "no side effects",
			map[string]string{"activities/a.go": sourceOf("activities", imports("net"))},
		},
		{
			"an activity that writes a file", "no side effects",
			map[string]string{"activities/a.go": sourceOf("activities", "import \"os\"\nvar _ = os.WriteFile\n")},
		},
		{"an activity that posts by way of a port", "no side effects", map[string]string{
			"activities/a.go":                sourceOf("activities", ours("activities/port/spend")),
			"activities/port/spend/p.go":     sourceOf("spend", ours("activities/port/inference")),
			"activities/port/inference/i.go": sourceOf("inference", imports("net/http")),
		}},
		{"a workflow that writes by way of an activity", "no side effects", map[string]string{
			"workflows/w.go":  sourceOf("workflows", ours("activities")),
			"activities/a.go": sourceOf("activities", "import \"os\"\nvar _, _ = os.Create(\"x\")\n"),
		}},

		{"an activity that knows its healthy share", "shares are only reported", map[string]string{
			"activities/a.go": sourceOf("activities",
				"import \""+Module+"/internal/hypnagogia\"\nvar _ = hypnagogia.UsedBand.Low\n"),
		}},
		{"a workflow that counts toward a share", "shares are only reported", map[string]string{
			"workflows/w.go": sourceOf("workflows",
				"import law \""+Module+"/internal/hypnagogia\"\nvar _, _ = law.Shares(nil)\n"),
		}},

		{
			"an activity that names a vendor", "no vendor but Temporal",
			map[string]string{"activities/a.go": sourceOf("activities", imports("github.com/redis/go-redis/v9"))},
		},
		{"a starter that reaches a vendor", "no vendor but Temporal", map[string]string{
			"starter/s.go":              sourceOf("starter", ours("internal/sqlitestore")),
			"internal/sqlitestore/s.go": sourceOf("sqlitestore", imports("modernc.org/sqlite")),
		}},
		{"a port that holds a vendor nobody lent it", "no vendor but Temporal", map[string]string{
			"workers/w.go":                   sourceOf("workers", ours("activities/port/inference")),
			"activities/port/inference/i.go": sourceOf("inference", imports("github.com/sashabaranov/go-openai")),
		}},

		{
			"a being that knows Temporal", "psyche without Temporal",
			map[string]string{"internal/psyche/p.go": sourceOf("psyche", imports("go.temporal.io/sdk/client"))},
		},
		{"a face that reaches Temporal", "psyche without Temporal", map[string]string{
			"internal/psyche/openaihttp/o.go": sourceOf("openaihttp", ours("activities")),
			"activities/a.go":                 sourceOf("activities", imports("go.temporal.io/sdk/activity")),
		}},

		{
			"a client that imports the server", "hermes uses the API only",
			map[string]string{"internal/hermes/ui/u.go": sourceOf("ui", ours("internal/psyche"))},
		},
		{
			"a client that imports a store", "hermes uses the API only",
			map[string]string{"internal/hermes/react/r.go": sourceOf("react", ours("internal/sqlitestore"))},
		},
		{
			"a client that links a deployment", "hermes uses the API only",
			map[string]string{"cmd/hermes/main.go": sourceOf("main", ours("internal/deploy"))},
		},
		{
			"a client that starts workflows", "hermes uses the API only",
			map[string]string{"internal/hermes/remote/r.go": sourceOf("remote", imports("go.temporal.io/sdk/client"))},
		},
	}
	covered := map[string]bool{}
	for _, c := range cases {
		covered[c.rule] = true
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			faults, _, err := Inspect(tree(c.files))
			require.NoError(t, err)
			broken := make([]string, 0, len(faults))
			for _, fault := range faults {
				broken = append(broken, fault.Rule)
			}
			require.Contains(t, broken, c.rule, "%v", faults)
		})
	}
	for _, rule := range Rules() {
		require.True(t, covered[rule], "no case shows that %q can fail", rule)
	}
}

func TestWhatTheRulesAllowPasses(t *testing.T) {
	t.Parallel()
	faults, packages, err := Inspect(tree(map[string]string{
		"activities/port/mood/m.go":      sourceOf("mood", "import \"time\"\nvar _ time.Duration\n"),
		"activities/port/mood/m_test.go": "package mood\n" + imports("os") + ours("testsuite/provider"),
		"activities/port/dream/d.go":     sourceOf("dream", ours("activities/port/mood")),
		"internal/hypnagogia/h.go": sourceOf("hypnagogia",
			ours("activities/port/dream")+"import \"math/rand/v2\"\nvar _ = rand.New(rand.NewPCG(1, 2))\n"),
		"activities/port/inference/i.go": sourceOf("inference",
			imports("context")+imports("github.com/tiktoken-go/tokenizer/codec")),
		"activities/port/spend/p.go": sourceOf("spend", ours("activities/port/inference")),
		"activities/port/spend/spendtest/p.go": sourceOf("spendtest",
			ours("activities/port/spend")+imports("github.com/stretchr/testify/require")),
		"internal/sqlitestore/s.go": sourceOf("sqlitestore",
			ours("activities/port/spend")+imports("modernc.org/sqlite")+"import \"os\"\nvar _ = os.Create\n"),
		"internal/sqlitestore/schema/s.go": sourceOf("schema", ""),
		"internal/sqlitestore/s_test.go":   "package sqlitestore_test\n" + ours("activities/port/spend/spendtest"),
		"activities/a.go": sourceOf("activities",
			ours("activities/port/spend")+imports("go.temporal.io/sdk/activity")),
		"workflows/w.go": sourceOf("workflows", ours("activities")+ours("internal/hypnagogia")),
		"workers/w.go":   sourceOf("workers", ours("workflows")),
		"config/c.go":    sourceOf("config", imports("os")+imports("github.com/spf13/viper")),
		"cmd/oneiros/main.go": "// Command oneiros is here.\npackage main\n" + ours("config") +
			ours("workers") + ours("internal/sqlitestore"),
		"cmd/temporald/go.mod":      "module " + Module + "/cmd/temporald",
		"cmd/temporald/main.go":     "// Command temporald is here.\npackage main\n" + imports("net"),
		"testsuite/testdeploy/s.go": sourceOf("testdeploy", ours("workers")+ours("config")+imports("os/exec")),
		"testsuite/chaos/c_test.go": "// Package chaos is here.\npackage chaos_test\n" +
			ours("testsuite/testdeploy"),
		"internal/prompt/testdata/broken.go": "this is not Go",
		"internal/psyche/p.go":               sourceOf("psyche", ours("activities/port/spend")),
		"internal/psyche/openaihttp/h.go":    sourceOf("openaihttp", ours("internal/psyche")+imports("net/http")),
		"internal/hermes/remote/r.go":        sourceOf("remote", imports("net/http")),
		"internal/screen/s.go":               sourceOf("screen", ours("activities/port/dream")),
		"internal/hermes/view/v.go":          sourceOf("view", ours("internal/screen")),
		"internal/hermes/react/r.go":         sourceOf("react", ours("internal/hermes/remote")),
		"activities/port/fabric/f.go":        sourceOf("fabric", ours("activities/port/dream")),
		"internal/localmodel/localmodel.go": sourceOf("localmodel",
			ours("internal/hypnagogia")+ours("activities/port/inference")),
		"internal/importer/importer.go":                sourceOf("importer", ours("activities/port/dream")),
		"internal/console/console.go":                  sourceOf("console", ours("internal/importer")+ours("workflows")),
		"starter/s.go":                                 sourceOf("starter", ours("workflows")),
		"activities/port/inference/inferencetest/i.go": sourceOf("inferencetest", ours("activities/port/inference")),
	}))
	require.NoError(t, err)
	require.Empty(t, faults)
	require.Equal(t, 28, packages)
}

func TestAFileThatIsNotGoIsReported(t *testing.T) {
	t.Parallel()
	_, _, err := Inspect(tree(map[string]string{"activities/port/mood/m.go": "pakcage mood"}))
	require.ErrorContains(t, err, "activities/port/mood/m.go")
}
