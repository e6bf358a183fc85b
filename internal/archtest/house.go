// Package archtest holds the floors and walls of the house as one table, and reads the sources to see that they stand.
package archtest

import (
	"path"
	"strings"
)

// Module is the import path all our packages begin with.
const Module = "github.com/seed-56a03226/oneiros"

// Floor is one storey: its rooms import only from the storeys below. Where Leftward is set they may also import the
// rooms to their left.
type Floor struct {
	Name     string
	Rooms    []string
	Leftward bool
}

// Floors from the ground up, as docs/ARCHITECTURE.md draws them. A room is a package with everything beneath it,
// unless the table names a part of it apart. Not every room is built yet; its walls stand already.
var Floors = []Floor{
	{Name: "words", Leftward: true, Rooms: []string{
		"internal/mood", "internal/mention", "internal/budget", "internal/dream", "internal/event",
	}},
	{Name: "laws", Rooms: []string{
		"internal/hypnagogia", "internal/forgetting", "internal/probe", "internal/prediction", "internal/circadian",
		"internal/journal", "internal/dormancy",
		"internal/policy", "internal/alarm", "internal/prompt", "internal/screen", "internal/sample",
		"internal/steering",
		"internal/embedder", "internal/timeword", "internal/utterance",
		"internal/recall/words", "internal/recall/rank",
	}},
	// Leftward, because spend is a port around another: it wraps inference.Model; and store is what all stores share of
	// memory.
	{Name: "ports", Leftward: true, Rooms: []string{
		"internal/memory", "internal/inference", "internal/spend", "internal/fabric", "internal/presence",
		"internal/access",
		"internal/hostname",
		"internal/store", "internal/recall",
	}},
	{Name: "rim", Rooms: []string{
		"internal/sqlitestore", "internal/redisstore", "internal/openaigw", "internal/localmodel", "internal/llama",
		"internal/governor",
		"internal/payload", "internal/telemetry", "internal/archive", "internal/feedhttp", "internal/temporalchild",
		"internal/hermes/remote", "internal/hermes/tools",
	}},
	{Name: "deeds", Rooms: []string{"activities", "internal/importer", "internal/psyche", "internal/hermes/react"}},
	{Name: "story", Rooms: []string{
		"workflows", "internal/psyche/openaihttp", "internal/psyche/mcpserver", "internal/psyche/dreamhttp",
		"internal/psyche/roomhttp",
		"internal/hermes/ui",
	}},
	{Name: "hands", Rooms: []string{"workers", "starter", "internal/console"}},
	// Leftward, because the doors, and only they, import config.
	{Name: "doors", Leftward: true, Rooms: []string{"config", "cmd/oneiros", "cmd/temporald"}},
}

// beside are the folders only tests may import: they stand beside the house, not in it.
var beside = []string{"testsuite", "internal/archtest"}

// ban is a wall on what some rooms may import or call.
type ban struct {
	wall  string
	rooms []string
	// through tells whether the rooms may not reach it by way of our other packages either.
	through bool
	imports func(importPath string) bool
	// calls are the names of a standard package that may not be used, or, for only, the sole ones that may.
	calls map[string]names
}

// names is a set of exported names of one package, or everything but them.
type names struct {
	only bool
	set  string
}

func (n names) ban(name string) bool { return in(n.set, name) != n.only }

const (
	clock  = "Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker"
	dice   = "New NewPCG NewChaCha8 NewSource NewZipf Rand PCG ChaCha8 Source Source64 Zipf"
	writes = "WriteFile Create CreateTemp OpenFile OpenRoot OpenInRoot NewFile Mkdir MkdirAll MkdirTemp Remove RemoveAll Rename Symlink Link " +
		"Truncate Chmod Chown Lchown Chtimes CopyFS StartProcess"
)

// lent are the libraries a port or a law may hold although it names no vendor, each for its reason. They compute; none
// of them opens a file or a connection.
var lent = map[string][]string{
	"internal/inference": {"github.com/tiktoken-go/tokenizer"}, // tokens are counted before a call is paid for
	// no spelling hides a word: tables of Unicode's own forms
	"internal/policy": {"golang.org/x/text/unicode/norm"},

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

// sharing are the modules of their own that may import ours: they make what the program carries, with its code.
var sharing = map[string]bool{"tools/distill": true}

var (
	words = rooms("words")
	laws  = rooms("laws")
)

// bans is every wall that is not a floor.
var bans = []ban{
	{
		wall: "purity", rooms: append(words, laws...),
		imports: func(p string) bool { return under(p, "os", "net", "context", "syscall", "crypto/rand") || vendor(p) },
		calls: map[string]names{
			"time": {set: clock}, "math/rand": {only: true, set: dice},
			"math/rand/v2": {only: true, set: dice},
		},
	},
	{
		wall: "no hands", rooms: append([]string{"workflows", "activities"}, laws...), through: true,
		imports: func(p string) bool {
			return under(p, "os/exec", "net", "syscall", "plugin", "io/ioutil", "golang.org/x/sys")
		},
		calls: map[string]names{"os": {set: writes}},
	},
	{
		// The healthy ranges of the validation metrics are shown to people; nothing that dreams may know them.
		wall:  "shares are only watched",
		rooms: []string{"workflows", "activities", "starter", "workers", "internal/policy", "internal/prompt"},
		calls: map[string]names{
			Module + "/internal/hypnagogia": {set: "Shares Share CountFragments UsedBand StagedBand ShareWindow"},
		},
	},
	{
		wall: "no vendor but Temporal", rooms: []string{"activities", "workflows", "starter", "workers"}, through: true,
		imports: func(p string) bool { return vendor(p) && !under(p, "go.temporal.io") },
	},
	{
		wall: "psyche knows no Temporal", rooms: []string{"internal/psyche"}, through: true,
		imports: func(p string) bool { return under(p, "go.temporal.io") },
	},
	{
		wall: "hermes knows the wire only", rooms: []string{"internal/hermes"}, through: true,
		imports: func(p string) bool {
			return under(p, "go.temporal.io", Module+"/internal/psyche", Module+"/internal/memory",
				Module+"/internal/sqlitestore",
				Module+"/internal/redisstore")
		},
	},
}

func rooms(floor string) []string {
	for _, f := range Floors {
		if f.Name == floor {
			return f.Rooms[:len(f.Rooms):len(f.Rooms)]
		}
	}
	return nil
}

// place is where a package stands: its room, how high, and how far right.
type place struct {
	room          string
	floor, column int
}

// placeOf finds the room of a package's folder: the longest entry of the table at or above it.
func placeOf(dir string) (found place, ok bool) {
	for f, floor := range Floors {
		for c, room := range floor.Rooms {
			if under(dir, room) && len(room) > len(found.room) {
				found, ok = place{room, f, c}, true
			}
		}
	}
	return found, ok
}

// suite tells whether dir is the exported contract suite of the port above it, such as internal/memory/memorytest.
func suite(dir string) bool { return path.Base(dir) == path.Base(path.Dir(dir))+"test" }

// vendor tells whether an import is neither ours nor the standard library's.
func vendor(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".") && !under(importPath, Module)
}

// under tells whether p is one of the roots or lies beneath one.
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
