// Package archtest holds the import rules of this repository as one table, and checks every source file against them.
package archtest

import (
	"path"
	"strings"
)

// Module is the import path that all our packages begin with.
const Module = "github.com/seed-56a03226/oneiros"

// Layer is a set of packages that import only from the layers below. Where Leftward is set they may also import the
// packages before them in the list.
type Layer struct {
	Name     string
	Packages []string
	Leftward bool
}

// Layers lists the layers from the lowest up, as docs/ARCHITECTURE.md shows them. An entry is a package with everything
// beneath it, unless the table names a part of it separately. Packages that are planned but not written have entries.
var Layers = []Layer{
	{Name: "values", Leftward: true, Packages: []string{
		"activities/port/mood", "activities/port/dormancy", "activities/port/budget", "activities/port/dream",
		"activities/port/event",
		"internal/prose", "internal/mention", "internal/recall/words", "internal/sentence", "internal/wordlist",
		"internal/hermes/message", "internal/hermes/api", "internal/jsonscan", "internal/jsonobject",
		"internal/payload/readable",
	}},
	{Name: "rules", Packages: []string{
		"internal/hypnagogia", "internal/forgetting", "internal/probe", "internal/prediction", "internal/circadian",
		"internal/journal", "internal/selfcommand", "internal/admission",
		"internal/policy", "internal/alarm", "internal/prompt", "internal/screen", "internal/sample",
		"internal/steering",
		"internal/embedder", "internal/timeword", "internal/utterance", "internal/importer/derive", "internal/jsonshape",
		"internal/claims", "internal/quality", "activities/port/rank", "internal/morning",
		"internal/eval", "internal/hermes/view", "internal/wire/messages", "internal/wire/responses",
	}},
	// Leftward, because spend wraps another port, inference.Model, and store is what all stores share of memory.
	{Name: "ports", Leftward: true, Packages: []string{
		"activities/port/memory", "activities/port/inference", "activities/port/spend", "activities/port/fabric", "activities/port/presence",
		"activities/port/room",
		"internal/access",
		"internal/hostname", "internal/fairqueue", "internal/ratelimit",
		"internal/store", "internal/recall", "internal/review", "internal/triggers", "internal/retention",
		"activities/port/rule",
	}},
	{Name: "adapters", Packages: []string{
		"internal/sqlitestore", "internal/redisstore", "internal/exchange", "internal/openaigw",
		"internal/anthropicgw", "internal/localmodel", "internal/llama",
		"internal/governor",
		"internal/payload", "internal/telemetry", "internal/archive", "internal/feedhttp", "internal/temporalchild",
		"internal/hermes/remote", "internal/hermes/tools", "internal/hermes/plugin", "internal/hermes/session",
		"internal/inflight", "internal/importer/formats",
		"internal/answers",
	}},
	{Name: "activities", Packages: []string{
		"activities", "internal/importer", "internal/psyche",
		"internal/hermes/react",
	}},
	{Name: "workflows", Packages: []string{
		"workflows", "internal/psyche/openaihttp", "internal/psyche/mcpserver", "internal/psyche/dreamhttp",
		"internal/psyche/roomhttp", "internal/psyche/responseshttp", "internal/psyche/messageshttp", "internal/psyche/matrix",
		"internal/hermes/ui",
	}},
	{Name: "processes", Packages: []string{"workers", "starter"}},
	// Leftward, because deploy reads config, and the command line builds and runs deployments.
	{Name: "commands", Leftward: true, Packages: []string{
		"config", "internal/exit", "internal/hermes/program", "internal/deploy", "internal/console",
	}},
	{Name: "programs", Packages: []string{"cmd/oneiros", "cmd/hermes", "cmd/temporald"}},
}

// neighbours are packages of its own layer that a package may import, each with its reason.
var neighbours = map[string][]string{
	// draws with screen, and shows the ranges in which the metrics of quality are healthy
	"internal/hermes/view": {"internal/screen", "internal/quality"},
	// what the gateways of all wires share: one request, made once, without secrets in what it says of failures
	"internal/openaigw":    {"internal/exchange"},
	"internal/anthropicgw": {"internal/exchange"},
}

// testOnly are the folders that only tests may import.
var testOnly = []string{"testsuite", "internal/archtest"}

// rule restricts what some packages may import or call.
type rule struct {
	name     string
	packages []string
	// through forbids reaching it by way of our other packages, too.
	through bool
	imports func(importPath string) bool
	// calls are the names of a standard package that may not be used, or, for only, the sole ones that may.
	calls map[string]names
}

// names is a set of exported names of one package, or with only everything else.
type names struct {
	only bool
	set  string
}

func (n names) forbids(name string) bool { return in(n.set, name) != n.only }

const (
	clock  = "Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker"
	dice   = "New NewPCG NewChaCha8 NewSource NewZipf Rand PCG ChaCha8 Source Source64 Zipf"
	writes = "WriteFile Create CreateTemp OpenFile OpenRoot OpenInRoot NewFile Mkdir MkdirAll MkdirTemp Remove RemoveAll Rename Symlink Link " +
		"Truncate Chmod Chown Lchown Chtimes CopyFS StartProcess"
)

// allowedLibraries are the libraries that a port or a rule may import although it may import no vendor, each with its
// reason. They only compute; none of them opens a file or a connection.
var allowedLibraries = map[string][]string{
	"activities/port/inference": {"github.com/tiktoken-go/tokenizer"}, // counts tokens before a call is paid for
	// products of vectors
	"activities/port/memory/index": {"gonum.org/v1/gonum/blas/blas32"},

	// Unicode's normal forms, so that no spelling hides a word
	"internal/policy": {"golang.org/x/text/unicode/norm"},

	// Student's distribution and the binomial one
	"internal/eval": {"gonum.org/v1/gonum/stat/distuv"},

	// what is code, a quote, a link or an address in Markdown
	"internal/prose": {
		"github.com/yuin/goldmark/ast", "github.com/yuin/goldmark/extension", "github.com/yuin/goldmark/parser",
		"github.com/yuin/goldmark/text", "github.com/yuin/goldmark/util",
	},

	// JSON in which durations are words, in the form that Temporal's SDK takes
	"internal/payload/readable": {
		"github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext",
		"github.com/go-json-experiment/json/v1", "go.temporal.io/api/common/v1", "go.temporal.io/sdk/converter",
	},

	// how many columns of a terminal a character takes
	"internal/screen": {"github.com/rivo/uniseg"},

	// accents are taken off as the model's own tokenizer does
	"internal/embedder/wordpiece": {"golang.org/x/text/unicode/norm"},
	// whether the processor multiplies eight numbers at once
	"internal/embedder/minilm": {"golang.org/x/sys/cpu"},

	// Boundaries of words, forms of characters, and stems: tables and automata.
	"internal/recall/words": {
		"github.com/rivo/uniseg", "golang.org/x/text/unicode/norm",
		"github.com/blevesearch/snowballstem",
	},
}

// mayShareCode are modules of their own that may import ours: one makes data that the program embeds, with its code,
// and one is what a program of another module looks like.
var mayShareCode = map[string]bool{"tools/distill": true, "testsuite/outside": true}

var (
	valuePackages = packagesOf("values")
	purePackages  = packagesOf("rules")
)

// rules are all rules except the order of layers.
var rules = []rule{
	{
		name: "purity", packages: append(valuePackages, purePackages...),
		imports: func(p string) bool { return under(p, "os", "net", "context", "syscall", "crypto/rand") || vendor(p) },
		calls: map[string]names{
			"time": {set: clock}, "math/rand": {only: true, set: dice},
			"math/rand/v2": {only: true, set: dice},
		},
	},
	{
		name: "no side effects", packages: append([]string{"workflows", "activities"}, purePackages...), through: true,
		imports: func(p string) bool {
			return under(p, "os/exec", "net", "syscall", "plugin", "io/ioutil", "golang.org/x/sys")
		},
		calls: map[string]names{"os": {set: writes}},
	},
	{
		// The healthy ranges of the validation metrics are for people to read; nothing in a dream may depend on them.
		name:     "shares are only reported",
		packages: []string{"workflows", "activities", "starter", "workers", "internal/policy", "internal/prompt"},
		calls: map[string]names{
			Module + "/internal/hypnagogia": {set: "Shares Share CountFragments UsedBand StagedBand ShareWindow"},
		},
	},
	{
		name: "no vendor but Temporal", packages: []string{
			"activities", "workflows", "starter",
			"workers",
		}, through: true,
		imports: func(p string) bool { return vendor(p) && !under(p, "go.temporal.io") },
	},
	{
		name: "psyche without Temporal", packages: []string{"internal/psyche"}, through: true,
		imports: func(p string) bool { return under(p, "go.temporal.io") },
	},
	{
		name: "hermes uses the API only", packages: []string{"internal/hermes", "cmd/hermes"}, through: true,
		imports: func(p string) bool {
			return under(p, "go.temporal.io", Module+"/internal/psyche", Module+"/activities/port/memory",
				Module+"/internal/sqlitestore", Module+"/internal/redisstore", Module+"/internal/deploy",
				Module+"/config", Module+"/starter", Module+"/workers", Module+"/workflows")
		},
	},
}

func packagesOf(layer string) []string {
	for _, f := range Layers {
		if f.Name == layer {
			return f.Packages[:len(f.Packages):len(f.Packages)]
		}
	}
	return nil
}

// position is the place of a package in the table: its entry, its layer, and its place in the layer.
type position struct {
	pkg           string
	layer, column int
}

// positionOf finds the entry of a package's folder: the longest entry of the table at or above it.
func positionOf(dir string) (found position, ok bool) {
	for f, layer := range Layers {
		for c, pkg := range layer.Packages {
			if under(dir, pkg) && len(pkg) > len(found.pkg) {
				found, ok = position{pkg, f, c}, true
			}
		}
	}
	return found, ok
}

// suite says whether dir is the exported contract suite of the port above it, such as
// activities/port/memory/memorytest.
func suite(dir string) bool { return path.Base(dir) == path.Base(path.Dir(dir))+"test" }

// vendor says whether an import is neither ours nor the standard library's.
func vendor(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".") && !under(importPath, Module)
}

// under says whether p is one of the roots or below one.
func under(p string, roots ...string) bool {
	for _, root := range roots {
		if p == root || strings.HasPrefix(p, root+"/") {
			return true
		}
	}
	return false
}

func in(set, name string) bool {
	for each := range strings.FieldsSeq(set) {
		if each == name {
			return true
		}
	}
	return false
}
