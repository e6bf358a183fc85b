package console

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are shown in the help of a command that states none of its own, by the command's path below oneiros.
var examples = map[string]string{
	"agents list":      "oneiros agents list",
	"agents add":       `oneiros agents add iris --persona "a quiet companion"`,
	"agents edit":      "oneiros agents edit iris --auto --cap-day 0.50",
	"agents show":      "oneiros agents show iris",
	"alarm":            "oneiros alarm -a iris --wait",
	"codec decode":     "oneiros codec decode history.json",
	"codec new-key":    "oneiros codec new-key >> seal.keys",
	"codec serve":      "oneiros codec serve --listen 127.0.0.1:8081",
	"config check":     "oneiros config check",
	"config reference": "oneiros config reference > configuration.md",
	"config show":      "oneiros config show --changed",
	"depth explain":    "oneiros depth explain -a iris",
	"doctor":           "oneiros doctor",
	"dream":            "oneiros dream -a iris --estimate\noneiros dream -a iris --watch",
	"dreams cancel":    "oneiros dreams cancel dream/iris/0003",
	"dreams list":      "oneiros dreams list -a iris",
	"dreams redream":   "oneiros dreams redream last -a iris --from rem --estimate",
	"dreams resume":    "oneiros dreams resume -a iris --watch",
	"dreams show":      "oneiros dreams show last -a iris",
	"events":           "oneiros events -a iris --follow",
	"events archive":   "oneiros events archive",
	"events schema":    "oneiros events schema > events.schema.json",
	"events types":     "oneiros events types",
	"feed add": "oneiros feed add harbour --url http://127.0.0.1:9000/wind \\\n" +
		"    --rule 'gale=above wind 60 rearm 50'",
	"feed list":         "oneiros feed list",
	"feed push":         "oneiros feed push harbour wind=61.5 gate=closed",
	"feed remove":       "oneiros feed remove harbour",
	"feed show":         "oneiros feed show harbour",
	"fragments bias":    "oneiros fragments bias -a iris",
	"fragments explain": "oneiros fragments explain onset/1.2 -a iris",
	"fragments list":    "oneiros fragments list -a iris --dream last",
	"fragments show":    "oneiros fragments show onset/1.2 -a iris",
	"health":            "oneiros health -a iris",
	"hooks list":        "oneiros hooks list",
	"hooks test":        "oneiros hooks test audit",
	"journal":           "oneiros journal -a iris -n 3",
	"keys list":         "oneiros keys list",
	"keys revoke":       "oneiros keys revoke k_7f3a",
	"llama":             "oneiros llama --model tiny.gguf --lib llama",
	"mcp":               "oneiros mcp -a iris --role client",
	"memory embed":      "oneiros memory embed -a iris --estimate",
	"memory export":     "oneiros memory export -a iris -o iris.jsonl",
	"memory import":     "oneiros memory import -a iris diary.md",
	"memory list":       "oneiros memory list -a iris -k episode --since 36h",
	"memory owners":     "oneiros memory owners -a iris",
	"memory search":     `oneiros memory search -a iris "What does Tomas repair?"`,
	"memory show":       "oneiros memory show ep_bc408f3c2ef1a8a3 -a iris",
	"memory undo":       "oneiros memory undo last -a iris",
	"playbook export":   "oneiros playbook export -a iris -o PLAYBOOK.md",
	"policy show":       "oneiros policy show -a iris",
	"predictions add": "oneiros predictions add \"The quay price passes 6.\" \\\n" +
		"    --due 14d --confidence 0.6 --criterion \"The harbour feed says so.\"",
	"predictions list":    "oneiros predictions list -a iris --status open",
	"predictions resolve": "oneiros predictions resolve nrem/backward/1 correct -a iris",
	"predictions score":   "oneiros predictions score -a iris",
	"predictions show":    "oneiros predictions show nrem/backward/1 -a iris",
	"predictions watch":   "oneiros predictions watch nrem/backward/1 -a iris \\\n    --rule gale --means correct",
	"review accept":       "oneiros review accept --dream last -a iris",
	"review list":         "oneiros review list -a iris",
	"review reject":       "oneiros review reject integration/2 -a iris",
	"review show":         "oneiros review show integration/2 -a iris",
	"scenarios list":      "oneiros scenarios list -a iris --dream last",
	"scenarios shares":    "oneiros scenarios shares -a iris",
	"scenarios show":      "oneiros scenarios show last -a iris",
	"serve":               "oneiros serve",
	"sleep":               "oneiros sleep -a iris",
	"spend":               "oneiros spend -a iris --by day,phase",
	"steering check":      "oneiros steering check --model tiny.gguf --vector muse.gguf",
	"steering pairs":      "oneiros steering pairs > pairs.json",
	"steering train":      "oneiros steering train --model tiny.gguf -o muse.gguf",
	"store import":        "oneiros store import backup.oneiros",
	"store info":          "oneiros store info",
	"triggers add": "oneiros triggers add nightly --schedule \"03:30\"\n" +
		"oneiros triggers add weekdays --schedule \"mon-fri 03:30\"\n" +
		"oneiros triggers add full --episodes 50\n" +
		"oneiros triggers add mistaken --event PredictionResolved \\\n    --residual 0.5\n" +
		"oneiros triggers add price --rule quay-price",
	"triggers drop": "oneiros triggers drop night -a iris",
	"triggers fire": "oneiros triggers fire -a iris",
	"triggers list": "oneiros triggers list -a iris",
	"up":            "oneiros up",
	"version":       "oneiros version",
	"wake":          "oneiros wake -a iris --for 5m",
	"watch":         "oneiros watch last -a iris",
	"worker":        "oneiros worker",
}

// addExamples gives each command that has no example the one of the table, indented as help shows it.
func addExamples(c *cobra.Command) {
	if text := examples[pathBelow(c)]; text != "" && c.Example == "" {
		c.Example = indented(text)
	}
	for _, sub := range c.Commands() {
		addExamples(sub)
	}
}

// pathBelow is a command's path without the program's name.
func pathBelow(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
