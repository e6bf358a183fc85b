package docs_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
	"github.com/seed-56a03226/oneiros/internal/hermes/program"
	"github.com/seed-56a03226/oneiros/internal/localmodel"
	"github.com/seed-56a03226/oneiros/testsuite/docs"
	"github.com/seed-56a03226/oneiros/workflows"
)

const root = "../.."

// handbook are the documents whose commands are run, in reading order.
var handbook = []string{
	"README.md", "docs/install.md", "docs/dream.md", "docs/rem.md", "docs/predictions.md", "docs/claims.md", "docs/morning.md",
	"docs/demo.md", "docs/eval.md", "docs/quality.md", "docs/depth.md",
	"docs/observer.md", "docs/memory.md", "docs/money.md", "docs/models.md", "docs/storage.md", "docs/backup.md", "docs/retention.md", "docs/running.md", "docs/operations.md", "docs/waking.md",
	"docs/hooks.md", "docs/policy.md", "docs/events.md", "docs/triggers.md", "docs/review.md", "docs/steering.md",
	"docs/ablation.md", "docs/rooms.md", "docs/dormancy.md", "docs/mentions.md", "docs/webhooks.md",
	"docs/serving.md", "docs/hermes.md", "docs/dreams-api.md", "docs/sealing.md",
	"docs/keys.md", // the last one: from its first key on, the server refuses requests without one
}

// every reads all documents of the repository.
func every(t *testing.T) []docs.Document {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	require.NotEmpty(t, paths)
	var list []docs.Document
	for _, path := range paths {
		path, err := filepath.Rel(root, path)
		require.NoError(t, err)
		d, err := docs.Read(root, path)
		require.NoError(t, err)
		list = append(list, d)
	}
	return list
}

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	titles := map[string]map[string]bool{}
	for _, d := range every(t) {
		titles[d.Path] = d.Titles
	}
	for _, d := range every(t) {
		for _, l := range d.Links {
			if strings.Contains(l.To, "://") {
				continue
			}
			to, anchor, _ := strings.Cut(l.To, "#")
			path := d.Path
			if to != "" {
				path = filepath.Join(filepath.Dir(d.Path), to)
			}
			require.FileExists(t, filepath.Join(root, path), "%s:%d", d.Path, l.Line)
			if anchor != "" {
				require.Contains(t, titles[path], anchor, "%s:%d", d.Path, l.Line)
			}
		}
	}
}

func TestEveryAlertHasItsPartOfTheRunbook(t *testing.T) {
	t.Parallel()
	alerts, err := os.ReadFile(filepath.Join(root, "docs/dashboards/alerts.yaml"))
	require.NoError(t, err)
	page, err := docs.Read(root, "docs/operations.md")
	require.NoError(t, err)
	links := regexp.MustCompile(`runbook: docs/operations\.md#(\S+)`).FindAllSubmatch(alerts, -1)
	require.Len(t, links, strings.Count(string(alerts), "- alert:"))
	for _, link := range links {
		require.Contains(t, page.Titles, string(link[1]))
	}
}

func TestConfigurationsInDocumentsAreRight(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, d := range every(t) {
		for _, b := range d.Blocks {
			if b.Language == "yaml" && d.Path == "docs/hermes.md" {
				path := filepath.Join(t.TempDir(), "hermes.yaml")
				require.NoError(t, os.WriteFile(path, []byte(strings.Join(b.Lines, "\n")), 0o600))
				require.NoError(t, program.CheckFile(path))
				continue
			}
			// Those of docs/kubernetes.md are values of the chart, which testsuite/operating renders.
			if b.Language == "yaml" && d.Path != "docs/kubernetes.md" {
				files[d.Path+": "+b.Under+": "+b.Lines[1]] = strings.Join(b.Lines, "\n")
			}
		}
	}
	require.GreaterOrEqual(t, len(files), 8)
	examples, err := filepath.Glob(filepath.Join(root, "docs/examples/oneiros*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, examples)
	for _, path := range examples {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		files[path] = string(body)
	}
	for name, body := range files {
		path := filepath.Join(t.TempDir(), "oneiros.yaml")
		require.NoError(t, os.WriteFile(path, []byte(body), 0o600))
		c, err := config.Load(
			config.Options{File: path, Env: []string{"HOME=" + t.TempDir()}, BuiltIn: localmodel.Specs()})
		require.NoError(t, err, name)
		require.NoError(t, c.Validate(), name)
		require.Empty(t, c.Warnings, name)
	}
}

func TestTheMeasurementsNameEveryBenchmarkAndOnlyFilesThatExist(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join(root, "docs/measurements/README.md"))
	require.NoError(t, err)
	promised := map[string]bool{}
	for _, row := range strings.Split(string(body), "\n") {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != 4 || !strings.HasPrefix(cells[2], "`") {
			continue
		}
		promised[strings.Trim(cells[1], "`")] = true
		if cells[3] != "-" {
			require.FileExists(t, filepath.Join(root, "docs/measurements", strings.Trim(cells[2], "`")),
				"%s: a figure without its file", cells[0])
		}
	}
	there := map[string]bool{}
	benchmark := regexp.MustCompile(`(?m)^func (Benchmark\w+)\(`)
	err = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		body, err := os.ReadFile(path)
		for _, m := range benchmark.FindAllStringSubmatch(string(body), -1) {
			there[m[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	for name := range promised {
		if strings.HasPrefix(name, "Benchmark") {
			require.True(t, there[name], "%s is promised and does not exist", name)
		}
	}
	for name := range there {
		require.True(t, promised[name], "%s is not in docs/measurements/README.md", name)
	}
}

func TestTheSearchAttributesToCreateAreOurs(t *testing.T) {
	t.Parallel()
	d, err := docs.Read(root, "docs/running.md")
	require.NoError(t, err)
	line := ""
	for _, c := range d.Commands() {
		if strings.HasPrefix(c.Text, "temporal operator search-attribute create") {
			line = c.Text
		}
	}
	for _, name := range []string{
		workflows.AttrAgent.GetName(), workflows.AttrPhase.GetName(), workflows.AttrDepth.GetName(),
		workflows.AttrOutcome.GetName(), workflows.AttrAgentState.GetName(),
	} {
		require.Contains(t, line, " --name "+name+" --type Keyword")
	}
	require.Contains(t, line, " --name "+workflows.AttrSpend.GetName()+" --type Int")
	require.Contains(t, line, " --name "+workflows.AttrInterruptedOn.GetName()+" --type KeywordList")
	require.Equal(t, 7, strings.Count(line, "--name"))
}

func TestThePicturesAreSmallAndOfRealRuns(t *testing.T) {
	t.Parallel()
	for path, shown := range map[string][]string{
		"docs/hermes.svg": {"bin/oneiros hermes", "Turn the lens twice as fast.", "edit_file", "Shift+Tab"},
		"docs/night.svg":  {"bin/oneiros dream --demo", "Built-in model, for trying things out"},
		"docs/demo.svg": {
			"bin/oneiros demo", "NIGHT  DAY", "+ passed: ", "From here on no dream: these days only judge.",
			"In the last 14 days, which no dream knew of:", "Question: What comes with smoke?", "the same days, and no night",
		},
	} {
		file, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		body := string(file)
		require.Less(t, len(body), 60<<10, path)
		require.NoError(t, xml.Unmarshal(file, new(struct{})), path)
		for _, text := range shown {
			require.Contains(t, body, text, path)
		}
		for _, m := range regexp.MustCompile(`textLength="([\d.]+)"`).FindAllStringSubmatch(body, -1) {
			wide, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			require.LessOrEqual(t, wide, 80*8.5, "%s: a line is wider than 80 columns", path)
		}
	}
}
