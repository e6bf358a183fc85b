package hermes_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-56a03226/oneiros/testsuite/hermes"
)

// task is one thing that a person asks for, what the model does about it, and what must be so afterwards.
type task struct {
	asks   string
	files  map[string]string // before
	steps  []hermes.Step
	answer string            // in the answer
	after  map[string]string // files after; "" for one that is gone
	seen   string            // in some result of a tool, as the next request has it
}

func call(tool string, arguments ...any) hermes.Call {
	all := map[string]any{}
	for i := 0; i < len(arguments); i += 2 {
		all[arguments[i].(string)] = arguments[i+1]
	}
	return hermes.Call{Tool: tool, Arguments: all}
}

func does(calls ...hermes.Call) hermes.Step { return hermes.Step{Calls: calls} }
func says(text string) hermes.Step          { return hermes.Step{Say: text} }

const lens = "package lamp\n\n// Turn is how far the lens turns in a minute.\nfunc Turn() int { return 3 }\n"

// tasks are the thirty tasks.
var tasks = []task{
	{
		asks: "Task 01: what does the lens do?", files: map[string]string{"lens.go": lens},
		steps:  []hermes.Step{does(call("read_file", "path", "lens.go")), says("It turns 3 degrees.")},
		answer: "3 degrees", seen: "return 3",
	},
	{
		asks: "Task 02: which files are there?", files: map[string]string{"a/one.md": "1", "b/two.md": "2"},
		steps: []hermes.Step{does(call("list_files")), says("Two.")}, answer: "Two", seen: "a/one.md",
	},
	{
		asks: "Task 03: where is the lamp named?", files: map[string]string{"log.md": "dusk\nthe lamp is lit\n", "x.md": "no"},
		steps: []hermes.Step{does(call("search_files", "pattern", "lamp")), says("In log.md.")}, answer: "log.md", seen: "log.md:2",
	},
	{
		asks:   "Task 04: begin a diary.",
		steps:  []hermes.Step{does(call("write_file", "path", "diary/28.md", "content", "# Saturday\n")), says("Begun.")},
		answer: "Begun", after: map[string]string{"diary/28.md": "# Saturday\n"},
	},
	{
		asks: "Task 05: turn it twice as fast.", files: map[string]string{"lens.go": lens},
		steps: []hermes.Step{
			does(call("read_file", "path", "lens.go")), does(call("edit_file", "path", "lens.go", "old", "return 3", "new", "return 6")),
			says("Done."),
		},
		after: map[string]string{"lens.go": strings.Replace(lens, "return 3", "return 6", 1)},
	},
	{
		asks:  "Task 06: count the lines.",
		files: map[string]string{"log.md": "a\nb\nc\n"},
		steps: []hermes.Step{does(call("run", "command", "wc -l < log.md")), says("Three.")}, answer: "Three", seen: "3",
	},
	{
		asks: "Task 07: the first edit misses.", files: map[string]string{"log.md": "dusk\n"},
		steps: []hermes.Step{
			does(call("edit_file", "path", "log.md", "old", "dawn", "new", "noon")),
			does(call("edit_file", "path", "log.md", "old", "dusk", "new", "noon")), says("Now it fits."),
		},
		after: map[string]string{"log.md": "noon\n"},
	},
	{
		asks: "Task 08: an edit that fits twice.", files: map[string]string{"log.md": "a a\n"},
		steps: []hermes.Step{
			does(call("edit_file", "path", "log.md", "old", "a", "new", "b")),
			does(call("edit_file", "path", "log.md", "old", "a", "new", "b", "all", true)), says("Both."),
		},
		after: map[string]string{"log.md": "b b\n"}, seen: "2",
	},
	{
		asks:  "Task 09: two at once.",
		steps: []hermes.Step{does(call("write_file", "path", "a", "content", "1"), call("write_file", "path", "b", "content", "2")), says("Two files.")},
		after: map[string]string{"a": "1", "b": "2"},
	},
	{
		asks:  "Task 10: a file that is not there.",
		steps: []hermes.Step{does(call("read_file", "path", "gone.md")), says("It is not there.")}, answer: "not there", seen: "gone.md",
	},
	{
		asks:  "Task 11: a command that fails.",
		steps: []hermes.Step{does(call("run", "command", "echo no >&2; exit 3")), says("It failed with 3.")}, answer: "failed", seen: "3",
	},
	{
		asks:  "Task 12: outside of the folder.",
		steps: []hermes.Step{does(call("read_file", "path", "../../etc/passwd")), says("I cannot.")}, answer: "cannot",
	},
	{
		asks:  "Task 13: a key of the person.",
		steps: []hermes.Step{does(call("run", "command", "echo key=[$HERMES_KEY$ONEIROS_KEY$OPENAI_API_KEY]")), says("None.")}, answer: "None", seen: "key=[]",
	},
	{
		asks:  "Task 14: ordinary words.",
		steps: []hermes.Step{says("Good **morning**.")}, answer: "Good **morning**.",
	},
	{
		asks: "Task 15: rename by a command.", files: map[string]string{"old.md": "x"},
		steps: []hermes.Step{does(call("run", "command", "mv old.md new.md")), says("Renamed.")},
		after: map[string]string{"old.md": "", "new.md": "x"},
	},
	{
		asks: "Task 16: a part of a long file.", files: map[string]string{"long.md": strings.Repeat("line\n", 999) + "the end\n"},
		steps: []hermes.Step{does(call("read_file", "path", "long.md", "offset", 1000, "limit", 1)), says("It ends.")}, seen: "the end",
	},
	{
		asks:  "Task 17: a tool that does not exist.",
		steps: []hermes.Step{does(call("fly")), says("I walk.")}, answer: "walk", seen: "there is no tool",
	},
	{
		asks:  "Task 18: arguments that are wrong.",
		steps: []hermes.Step{does(call("read_file", "file", "a")), says("I see.")}, seen: "path",
	},
	{
		asks: "Task 19: other scripts.", files: map[string]string{"灯台.md": "مصباح\n"},
		steps: []hermes.Step{
			does(call("read_file", "path", "灯台.md")), does(call("write_file", "path", "ランプ.md", "content", "光\n")), says("光。"),
		},
		answer: "光。", seen: "مصباح", after: map[string]string{"ランプ.md": "光\n"},
	},
	{
		asks: "Task 20: many steps.", files: map[string]string{"n": "0"},
		steps: append(steps(12, func(i int) hermes.Step {
			return does(call("write_file", "path", "n", "content", strings.Repeat("i", i+1)))
		}), says("Twelve.")),
		after: map[string]string{"n": strings.Repeat("i", 12)},
	},
	{
		asks: "Task 21: line endings stay.", files: map[string]string{"dos.txt": "one\r\ntwo\r\n"},
		steps: []hermes.Step{does(call("edit_file", "path", "dos.txt", "old", "two", "new", "three")), says("Kept.")},
		after: map[string]string{"dos.txt": "one\r\nthree\r\n"},
	},
	{
		asks: "Task 22: only Go files.", files: map[string]string{"a.go": "lamp", "a.md": "lamp"},
		steps: []hermes.Step{does(call("search_files", "pattern", "lamp", "glob", "*.go")), says("One.")}, seen: "a.go:1",
	},
	{
		asks: "Task 23: what is ignored.", files: map[string]string{".gitignore": "secret*\n", "secret.md": "x", "open.md": "y"},
		steps: []hermes.Step{does(call("list_files")), says("One open file.")}, seen: "open.md",
	},
	{
		asks:  "Task 24: much output.",
		steps: []hermes.Step{does(call("run", "command", "seq 1 200000")), says("Much.")}, seen: "200000",
	},
	{
		asks:   "Task 25: it says what it does.",
		steps:  []hermes.Step{{Say: "I write it down.", Calls: []hermes.Call{call("write_file", "path", "w", "content", "w")}}, says("Written.")},
		answer: "Written", after: map[string]string{"w": "w"},
	},
	{
		asks: "Task 26: a script that it writes and runs.",
		steps: []hermes.Step{
			does(call("write_file", "path", "sum.sh", "content", "echo $((40 + 2))\n")), does(call("run", "command", "sh sum.sh")), says("42."),
		},
		answer: "42", seen: "42",
	},
	{
		asks: "Task 27: undo by hand.", files: map[string]string{"a.md": "before\n"},
		steps: []hermes.Step{
			does(call("edit_file", "path", "a.md", "old", "before", "new", "after")),
			does(call("edit_file", "path", "a.md", "old", "after", "new", "before")), says("As it was."),
		},
		after: map[string]string{"a.md": "before\n"},
	},
	{
		asks:  "Task 28: several files by one command.",
		steps: []hermes.Step{does(call("run", "command", "mkdir -p d && for i in 1 2 3; do echo $i > d/$i; done && ls d")), says("Three.")},
		after: map[string]string{"d/1": "1\n", "d/3": "3\n"}, seen: "3",
	},
	{
		asks: "Task 29: an empty file.", files: map[string]string{"empty": "\x00"},
		steps:  []hermes.Step{does(call("read_file", "path", "empty")), does(call("write_file", "path", "empty", "content", "")), says("Empty.")},
		answer: "Empty",
	},
	{
		asks: "Task 30: a small program.",
		steps: []hermes.Step{
			does(call("list_files")),
			does(call("write_file", "path", "lamp.sh", "content", "#!/bin/sh\nprintf 'lamp %s\\n' \"$1\"\n")),
			does(call("run", "command", "sh lamp.sh on | tee out.txt && grep -c on out.txt")),
			says("It works: `lamp on`."),
		},
		answer: "It works", after: map[string]string{"out.txt": "lamp on\n"}, seen: "lamp on",
	},
}

func steps(n int, make func(int) hermes.Step) []hermes.Step {
	var all []hermes.Step
	for i := range n {
		all = append(all, make(i))
	}
	return all
}

// script is what the worker knows of all tasks.
func script() map[string][]hermes.Step {
	all := map[string][]hermes.Step{}
	for _, t := range tasks {
		name, _, _ := strings.Cut(t.asks, ":")
		all[name] = t.steps
	}
	return all
}

// prepare writes the files of a task into a new folder.
func (t task) prepare(dir string) error {
	for name, text := range t.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
