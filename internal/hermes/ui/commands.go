package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// own are the commands that the screens have themselves.
var own = []Command{
	{Name: "help", Says: "the keys and commands"},
	{Name: "mode", Argument: "[read|ask|edit|auto]", Says: "how tools are approved"},
	{Name: "compact", Says: "replace the talk so far by a summary"},
	{Name: "rewind", Argument: "[N]", Says: "go back to before one of your messages"},
	{Name: "queue", Says: "take back what you said while it works"},
	{Name: "resume", Argument: "ID", Says: "go on with another session"},
	{Name: "editor", Says: "write in your editor"},
	{Name: "quit", Says: "leave; the session can be resumed"},
}

// catalogue lists every command there is, by name.
func (s Settings) catalogue() []Command {
	all := slices.Clone(own)
	for _, v := range s.Views {
		all = append(all, Command{Name: v.Name, Argument: v.Argument, Says: v.Says})
	}
	all = append(all, s.Commands...)
	slices.SortFunc(all, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (s Settings) view(name string) (View, bool) {
	for _, v := range s.Views {
		if v.Name == name {
			return v, true
		}
	}
	return View{}, false
}

func (s Settings) command(name string) (Command, bool) {
	for _, c := range s.Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command{}, false
}

// modes lists the approval modes; the one that holds is marked.
func modes(now react.Mode) string {
	var b strings.Builder
	b.WriteString("How tools are approved; /mode NAME or Shift+Tab changes it:")
	for _, m := range react.Modes {
		mark := "  "
		if m == now {
			mark = "> "
		}
		fmt.Fprintf(&b, "\n%s%-5s %s", mark, m, m.Says())
	}
	return b.String()
}

// unknown says that there is no such command, and which is meant.
func (s Settings) unknown(name string) string {
	for _, c := range s.catalogue() {
		if strings.HasPrefix(c.Name, name) || len(name) > 2 && strings.Contains(c.Name, name) {
			return fmt.Sprintf("There is no command /%s. Is /%s meant? /help lists all.", name, c.Name)
		}
	}
	return fmt.Sprintf("There is no command /%s. /help lists all.", name)
}

// parse splits what a person typed into a command and its argument.
func parse(text string) (name, argument string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok || rest == "" || strings.HasPrefix(rest, "/") || strings.ContainsAny(firstWord(rest), "/.\\") {
		return "", "", false
	}
	name, argument, _ = strings.Cut(rest, " ")
	return name, strings.TrimSpace(argument), true
}

func firstWord(text string) string {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// keys are the keys of the full screen, as /help lists them.
var keys = [][2]string{
	{"Enter", "say it; while the agent works, it is queued"},
	{"Alt+Enter, Ctrl+J", "a new line"},
	{"Esc", "interrupt; close a view; refuse a call"},
	{"Esc Esc", "go back to before one of your messages"},
	{"Shift+Tab", "switch how tools are approved; /mode lists the ways"},
	{"y, a, n, e", "allow a call; allow it for this session; refuse; refuse and say why"},
	{"Tab", "complete a /command or an @file"},
	{"Up, Down", "what you said before"},
	{"PgUp, PgDn", "scroll; Ctrl+Home begin, Ctrl+End end"},
	{"Ctrl+O", "show results of tools in full"},
	{"Ctrl+G", "write in your editor"},
	{"Ctrl+L", "draw anew"},
	{"Ctrl+C", "interrupt, clear the line, or leave"},
	{"!command", "run a command of your own; the agent sees what it prints"},
	{"% full", "at the bottom right: how much of what the model can read at once this conversation takes"},
}

// help is the page of keys and commands.
func (s Settings) help() Page {
	return Page{Title: "Help", Draw: func(width, _ int) []string {
		lines := []string{"Keys", ""}
		for _, k := range keys {
			lines = append(lines, row(k[0], 20, k[1], width)...)
		}
		lines = append(lines, "", "Commands", "")
		for _, c := range s.catalogue() {
			lines = append(lines, row(strings.TrimSpace("/"+c.Name+" "+c.Argument), 28, c.Says, width)...)
		}
		return lines
	}}
}

// row is a name and what it means, hanging under each other.
func row(name string, column int, says string, width int) []string {
	column = min(column, width/2)
	var lines []string
	for i, line := range wrapped(says, width-column) {
		if i == 0 {
			lines = append(lines, padded(name, column-1)+" "+line)
			continue
		}
		lines = append(lines, strings.Repeat(" ", column)+line)
	}
	return lines
}

// shellNote is what the model is told of a command of the person's own.
func shellNote(command string, r message.Result) string {
	return fmt.Sprintf("[The person ran this command themselves: %s]\n%s", command, r.Text)
}

// explored is what the person is told about an idle exploration when they are back.
func explored(e react.Exploration) string {
	cost := ""
	if e.Dollars > 0 {
		cost = fmt.Sprintf(", $%.4f", e.Dollars)
	}
	found := e.Found
	if found == "" {
		found = "Nothing worth telling."
	}
	return fmt.Sprintf("While you were away (%s, %s%s; %s): %s",
		count(e.Calls, "call"), count(e.Tools, "look"), cost, e.Why, screen.Printable(found))
}

// exploredNote is what the model is told about it.
func exploredNote(e react.Exploration) string {
	return "[Found by you while the person was away, by reading their workspace; nobody said it]\n" + e.Found
}
