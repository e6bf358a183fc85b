package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
	"github.com/seed-56a03226/oneiros/internal/hermes/session"
	"github.com/seed-56a03226/oneiros/internal/hermes/ui"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Command builds the command hermes.
func Command(p Process) *cobra.Command {
	var prompt, resume string
	var asObject, events, goOn, start bool
	cmd := &cobra.Command{
		Use: "hermes", Short: "Talk with an agent that works in your folder",
		Long: `Hermes is a terminal agent: you talk with an agent of a server, and it works in your folder with tools that are
Hermes' own: it reads, searches, writes and edits files, and runs commands. The server runs no tool. Files outside of the
folder cannot be reached, and commands are confined by the kernel where it can (Linux with Landlock). Before it writes or
runs anything it asks; Shift+Tab, or --approval, changes that.

It talks with Oneiros, where the agent remembers and dreams, and with any other server of OpenAI's chat completions. As
long as it runs, the agent is held awake.

Settings are read from flags, else from the environment (HERMES_SERVER, HERMES_KEY, HERMES_AGENT, ...), else from
hermes.yaml in the folder oneiros of your configuration. A key is read from HERMES_KEY or ONEIROS_KEY.`,
		Args: cobra.NoArgs,
	}
	addFlags(cmd.PersistentFlags())
	f := cmd.Flags()
	f.StringVarP(&prompt, "print", "p", "", "say `text`, print what comes of it, and leave; what is piped in goes with it")
	f.BoolVar(&asObject, "json", false, "with -p: print one JSON object at the end")
	f.BoolVar(&events, "events", false, "with -p: print a line of JSON for each event")
	f.StringVarP(&resume, "resume", "r", "", "go on with the session of this `id`; hermes sessions lists them")
	f.BoolVarP(&goOn, "continue", "c", false, "go on with the newest session of this folder and agent")
	f.BoolVar(&start, "up", false, "start oneiros up, and end it when Hermes ends")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		form := asText
		switch {
		case asObject && events:
			return exit.Usagef("--json and --events exclude each other")
		case (asObject || events) && !cmd.Flags().Changed("print"):
			return exit.Usagef("--json and --events need -p TEXT")
		case goOn && resume != "":
			return exit.Usagef("--continue and --resume exclude each other")
		case asObject:
			form = asJSON
		case events:
			form = asEvents
		}
		return p.run(cmd, request{
			headless: cmd.Flags().Changed("print"),
			prompt:   prompt,
			form:     form,
			resume:   resume,
			goOn:     goOn,
			start:    start,
		})
	}
	cmd.AddCommand(p.sessions(), p.export(), p.doctor())
	return cmd
}

// request is what the flags ask for.
type request struct {
	headless     bool
	prompt, form string
	resume       string
	goOn, start  bool
}

func (p Process) run(cmd *cobra.Command, r request) (failed error) {
	pl, err := placesOf(p.getenv)
	if err != nil {
		return err
	}
	s, err := load(p.getenv, cmd.Flags(), pl.config)
	if err != nil {
		return err
	}
	if r.headless {
		r.prompt, err = p.piped(r.prompt)
		if err != nil {
			return err
		}
	}
	ctx, interrupts, stop := untilSignal(cmd.Context())
	defer stop()
	if r.start {
		end, err := p.up(ctx, s)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, end()) }()
	}
	if err := r.find(&s, pl); err != nil {
		return err
	}
	h, err := p.open(ctx, s, pl)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, h.close()) }()
	if r.headless {
		return h.headless(ctx, interrupts, r.resume, r.prompt, r.form)
	}
	return h.show(ctx, interrupts, r.resume)
}

// piped adds what another program prints into Hermes to what is said.
func (p Process) piped(prompt string) (string, error) {
	file, ok := p.In.(*os.File)
	if !ok {
		return prompt, nil
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 && !info.Mode().IsRegular() {
		return prompt, nil
	}
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(text) > most:
		return "", exit.Usagef("standard input has more than %d bytes", most)
	case len(text) == 0:
		return prompt, nil
	}
	return prompt + "\n\n" + strings.ToValidUTF8(string(text), "\ufffd"), nil
}

// find looks up which session is meant, and whose it is where no agent was named.
func (r *request) find(s *settings, pl places) error {
	if !r.goOn && r.resume == "" {
		return nil
	}
	store, err := session.Open(pl.sessionsOf(*s))
	if err != nil {
		return err
	}
	if r.resume != "" {
		header, _, err := store.Read(r.resume)
		if err != nil {
			return exit.AsUsage(err)
		}
		s.Agent = cmp.Or(s.Agent, header.Agent)
		return nil
	}
	all, err := store.List("")
	if err != nil {
		return err
	}
	folder := workspaceOf(*s)
	for _, each := range all {
		if each.Workspace == folder && (s.Agent == "" || each.Agent == s.Agent) {
			r.resume, s.Agent = each.ID, each.Agent
			return nil
		}
	}
	return exit.NotFoundf("there is no session in %s yet", folder)
}

// show opens the screen.
func (h *hermes) show(ctx context.Context, interrupts <-chan struct{}, resume string) error {
	talk, err := h.talk(resume)
	if err != nil {
		return err
	}
	holding, letGo := context.WithCancel(ctx)
	held := make(chan struct{})
	go func() {
		defer close(held)
		h.keepAwake(holding)
	}()
	defer func() {
		letGo()
		<-held
	}()
	s := h.screen(talk)
	if h.Plain || h.Reader || !h.Terminal {
		err = ui.Linear(ctx, s, h.In, h.Out, width(h.Process), interrupts)
	} else {
		err = ui.Run(ctx, s, ui.Terminal{In: h.In, Out: h.Process.Screen, Env: h.Env, Inline: h.Inline})
	}
	if err == nil && h.Terminal && len(talk.Loop.Conversation()) > 0 {
		fmt.Fprintf(h.Err, "Go on with: %s --resume %s\n", h.Again, talk.ID)
	}
	return err
}

func width(p Process) int {
	if p.Width > 0 {
		return p.Width
	}
	return 80
}

// screen is what the screen needs.
func (h *hermes) screen(talk ui.Talk) ui.Settings {
	return ui.Settings{
		Agent:     h.Agent,
		Workspace: h.Workspace,
		Talk:      talk,
		Wire:      h.wire,
		Views:     h.views(),
		Commands:  h.commands(),
		Open:      h.talk,
		Files:     h.box.Files,
		Shell:     h.box.Shell,
		Price:     h.price,
		Priced:    h.priced,
		Window:    h.window,
		Idle:      h.idle(),
		Editor:    h.editor(),
		History:   h.history(),
		Notes:     h.note,
		Now:       h.Now,
	}
}

// priceOf is what the server says of the model that answers for an agent.
func priceOf(found remote.Server, agent string) (price message.Price, priced bool, window int) {
	for _, m := range found.Models {
		if m.ID != agent {
			continue
		}
		if m.Pricing == nil {
			return message.Price{}, false, m.Context
		}
		return message.Price{Input: float64(m.Pricing.Prompt), Output: float64(m.Pricing.Completion)}, true, m.Context
	}
	return message.Price{}, false, 0
}

// idle decides whether the agent looks around: always where it is switched on, else where its model is known to cost
// nothing.
func (h *hermes) idle() ui.Idle {
	on := h.Idle.On == "on" || h.Idle.On == "free" && h.priced && h.price == message.Price{}
	return ui.Idle{
		On:    on,
		After: h.Idle.After,
		Bounds: react.Bounds{
			Calls:   h.Idle.Calls,
			Time:    h.Idle.Time,
			Dollars: h.Idle.Dollars,
			Price:   h.price,
			Priced:  h.priced,
		},
	}
}

func (h *hermes) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if value := h.getenv(name); value != "" {
			return value
		}
	}
	for _, each := range []string{"/usr/bin/editor", "/usr/bin/nano", "/usr/bin/vi"} {
		if _, err := os.Stat(each); err == nil {
			return each
		}
	}
	return ""
}

// history are the person's words of the newest sessions of this folder, the oldest first.
func (h *hermes) history() []string {
	all, err := h.store.List("")
	if err != nil {
		return nil
	}
	var words []string
	for i := min(len(all), 10) - 1; i >= 0; i-- {
		if all[i].Workspace != h.Workspace {
			continue
		}
		_, entries, err := h.store.Read(all[i].ID)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Message != nil && e.Message.Role == message.User {
				words = append(words, e.Message.Content)
			}
		}
	}
	return words
}

// sessions builds hermes sessions.
func (p Process) sessions() *cobra.Command {
	return &cobra.Command{
		Use: "sessions [WORDS]", Short: "List the sessions that can be resumed",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := p.openStore(cmd)
			if err != nil {
				return err
			}
			all, err := store.List(strings.Join(args, " "))
			if err != nil {
				return err
			}
			if len(all) == 0 {
				fmt.Fprintln(p.Out, "No sessions yet. Begin one: "+p.Again)
				return nil
			}
			for _, line := range sessionLines(all, width(p)) {
				fmt.Fprintln(p.Out, line)
			}
			return nil
		},
	}
}

// sessionLines are two lines for each session.
func sessionLines(all []session.Summary, width int) []string {
	var lines []string
	for _, each := range all {
		lines = append(lines,
			fmt.Sprintf("%s  %s  %s, %s", each.ID, each.Last.Local().Format("2006-01-02 15:04"), each.Agent, turns(each.Turns)),
			"    "+ansi.Truncate(screen.Clean(each.Workspace+": "+each.First), width-4, "…"))
	}
	return lines
}

func turns(n int) string {
	if n == 1 {
		return "1 turn"
	}
	return fmt.Sprintf("%d turns", n)
}

func (p Process) openStore(cmd *cobra.Command) (*session.Store, error) {
	pl, err := placesOf(p.getenv)
	if err != nil {
		return nil, err
	}
	s, err := load(p.getenv, cmd.Flags(), pl.config)
	if err != nil {
		return nil, err
	}
	return session.Open(pl.sessionsOf(s))
}

// export builds hermes export.
func (p Process) export() *cobra.Command {
	return &cobra.Command{
		Use: "export ID", Short: "Write a session as Markdown",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := p.openStore(cmd)
			if err != nil {
				return err
			}
			header, entries, err := store.Read(args[0])
			if err != nil {
				return exit.NotFoundf("%w", err)
			}
			_, err = io.WriteString(p.Out, session.Export(header, entries))
			return err
		},
	}
}

// doctor builds hermes doctor.
func (p Process) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the server, the agent, the key and the tools",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pl, err := placesOf(p.getenv)
			if err != nil {
				return err
			}
			s, err := load(p.getenv, cmd.Flags(), pl.config)
			if err != nil {
				return err
			}
			return p.check(cmd.Context(), s, pl)
		},
	}
}

func (p Process) check(ctx context.Context, s settings, pl places) error {
	client, err := remote.New(remote.Settings{URL: s.Server, Key: s.Key, Agent: s.Agent, User: s.User})
	if err != nil {
		return exit.AsUsage(err)
	}
	if found, err := client.Probe(ctx); err == nil && s.Agent == "" && len(found.Models) == 1 {
		client, err = remote.New(remote.Settings{URL: s.Server, Key: s.Key, Agent: found.Models[0].ID, User: s.User})
		if err != nil {
			return err
		}
	}
	lines := append(client.Check(ctx), p.own(s, pl)...)
	for _, line := range p.doctorPage(lines).Draw(width(p), 0) {
		fmt.Fprintln(p.Out, line)
	}
	for _, line := range lines {
		if line.Level == api.Failure {
			return exit.Errorf(exit.Unwell, "%s: %s", line.Name, line.Says)
		}
	}
	return nil
}
