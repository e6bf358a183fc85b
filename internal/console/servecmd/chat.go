package servecmd

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/program"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
	"github.com/seed-56a03226/oneiros/internal/psyche/turnhttp"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// longestMessage bounds what is read as one message, in bytes.
const longestMessage = 1 << 20

// Chat builds the command oneiros chat.
func Chat(app *cli.App) *cobra.Command {
	var text string
	s := remote.Settings{}
	cmd := &cobra.Command{
		Use:     "chat AGENT",
		Short:   "Talk with an agent, line by line",
		GroupID: cli.RoomGroup,
		Long: `Chat talks with an agent of the server that runs, line by line, and writes the answer as it comes. The
agent remembers the talk. It is held awake until you leave.

Ctrl-C stops an answer, and leaves when none comes; so do /quit and the end of the input. With -m, or with text from a
pipe, chat says that text, prints the answer and leaves.

The server is the one at serve.listen of this machine, unless --server or HERMES_SERVER names another. A key is read
from ONEIROS_KEY or HERMES_KEY. For an agent that works with files and commands, see oneiros hermes.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cli.FirstArgument(view.With(app, view.Handles)),
	}
	cmd.Flags().StringVarP(&text, "message", "m", "", "say `text`, print the answer, and leave")
	cmd.Flags().StringVar(&s.URL, "server", "", "`address` of the server")
	cmd.Flags().StringVar(&s.User, "user", "", "which user of the key speaks, as `name`")
	view.Completes(app, cmd, "server", cli.Nothing)
	view.Completes(app, cmd, "user", cli.Nothing)
	view.Completes(app, cmd, "message", cli.Nothing)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		person := app.Terminal || isTerminal(app.In)
		once := cmd.Flags().Changed("message")
		if app.Json {
			return exit.Usagef("--json has no place here; for JSON: oneiros hermes -a %s --json -p TEXT", args[0])
		}
		if !once && !person {
			text, err = pipedText(app.In)
		}
		if err == nil && (once || !person) && strings.TrimSpace(text) == "" {
			err = exit.Usagef("there is nothing to say; give it with -m TEXT, or through a pipe")
		}
		if err != nil {
			return err
		}
		env := app.Backend.Getenv
		here, _ := app.Backend.Configuration().ServerAddress() // none where it names no port
		s.URL = cmp.Or(s.URL, env("HERMES_SERVER"), here, program.DefaultServer)
		s.Key = cmp.Or(env("ONEIROS_KEY"), env("HERMES_KEY"))
		s.Agent = turnhttp.Handle(args[0])
		s.Conversation = "chat-" + strings.ToLower(rand.Text())
		client, err := connect(cmd.Context(), s)
		if err != nil {
			return err
		}
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer signal.Stop(signals)
		ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context())) // Ctrl-C is for the talk
		defer cancel()
		c := &chat{ctx: ctx, client: client, out: app.Out, signals: signals}
		defer c.hold()()
		if once || !person {
			return c.say(text)
		}
		fmt.Fprintf(app.Err, "You talk with %s. Ctrl-C stops an answer; /quit leaves.\n", client.Agent())
		return c.lines(app.In, app.Err)
	}
	return cmd
}

func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// pipedText reads what another program prints into chat.
func pipedText(in io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, longestMessage+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(text) > longestMessage {
		return "", exit.Usagef("standard input has more than %d bytes", longestMessage)
	}
	return strings.ToValidUTF8(string(text), "\ufffd"), nil
}

// connect finds the server and the agent.
func connect(ctx context.Context, s remote.Settings) (*remote.Client, error) {
	client, err := remote.New(s)
	if err != nil {
		return nil, exit.AsUsage(err)
	}
	found, err := client.Probe(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, unreached(err)
	}
	var near []string
	for _, m := range found.Models {
		if strings.EqualFold(m.ID, s.Agent) {
			near = append(near, m.ID)
		}
	}
	switch {
	case found.HasAgent:
		return client, nil
	case len(near) == 1:
		s.Agent = near[0]
		return remote.New(s)
	case len(found.Models) == 0:
		return nil, exit.NotFoundf("no agent is reached at %s; add one with: oneiros agents add NAME", client.URL())
	}
	names := make([]string, len(found.Models))
	for i, m := range found.Models {
		names[i] = m.ID
	}
	slices.Sort(names)
	return nil, exit.NotFoundf("there is no agent %q at %s; there is %s. Add one with: oneiros agents add NAME",
		s.Agent, client.URL(), strings.Join(names, ", "))
}

// unreached adds the next command to an error of the server.
func unreached(err error) error {
	var refusal *api.Error
	switch {
	case errors.As(err, &refusal) && refusal.Status == 401:
		return exit.Refusedf("%w\nSet ONEIROS_KEY to a key of this server; make one with: oneiros keys add NAME", err)
	case refusal != nil && (refusal.Status == 402 || refusal.Code == "insufficient_quota"):
		return exit.Refusedf("%w", err)
	case refusal != nil, errors.Is(err, remote.ErrBroken):
		return err
	}
	return exit.Errorf(exit.Unreachable, "%w\nStart the server with: oneiros up", err)
}

// chat is a talk under way.
type chat struct {
	ctx     context.Context
	client  *remote.Client
	out     io.Writer
	signals <-chan os.Signal
	talk    []message.Message
	notes   message.Notes // of the last answer
	over    bool          // the person, or the system, wants to leave
}

// hold holds the agent awake until the function that it returns is called. A server that has no sessions is talked with
// all the same.
func (c *chat) hold() (release func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	settled, released := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(released)
		_ = c.client.Hold(ctx, func(h remote.Holding) {
			if h.Presence == remote.Connecting {
				return
			}
			select {
			case settled <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-settled:
	case <-c.signals:
		c.over = true
	}
	return func() {
		cancel()
		<-released
	}
}

// say sends one message and writes the answer as it comes. A signal stops the answer; what had come stays in the talk.
func (c *chat) say(text string) error {
	if c.over {
		return exit.Errorf(exit.Unfinished, "nothing was said")
	}
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	stopped := make(chan bool)
	go func() {
		select {
		case s := <-c.signals:
			c.over = s != os.Interrupt
			cancel()
			stopped <- true
		case <-ctx.Done():
			stopped <- false
		}
	}()
	c.talk = append(c.talk, message.Message{Role: message.User, Content: text})
	whole := true // whether the last line has its end
	reply, err := c.client.Chat(ctx, message.Request{Messages: c.talk}, func(piece string) {
		shown := screen.Printable(piece)
		whole = strings.HasSuffix(shown, "\n")
		_, _ = io.WriteString(c.out, shown) // the app notices a failure
	})
	cancel()
	if !whole {
		fmt.Fprintln(c.out)
	}
	c.notes = reply.Notes
	if reply.Message.Content != "" {
		c.talk = append(c.talk, reply.Message)
	} else {
		c.talk = c.talk[:len(c.talk)-1] // what had no answer may be said again
	}
	switch {
	case <-stopped:
		return exit.Errorf(exit.Unfinished, "the answer was stopped")
	case err != nil:
		return unreached(err)
	}
	return nil
}

// lines says each line of the input until a person leaves. Beside are the prompts and what went wrong.
func (c *chat) lines(in io.Reader, beside io.Writer) error {
	typed := make(chan string)
	failed := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, longestMessage)
		for lines.Scan() {
			select {
			case typed <- strings.ToValidUTF8(strings.TrimSpace(lines.Text()), "\ufffd"):
			case <-c.ctx.Done():
				return
			}
		}
		failed <- lines.Err()
	}()
	for !c.over {
		fmt.Fprint(beside, "> ")
		select {
		case <-c.signals:
			c.over = true
		case err := <-failed:
			fmt.Fprintln(beside)
			return err
		case text := <-typed:
			switch text {
			case "":
			case "/quit":
				return nil
			default:
				if err := c.say(text); err != nil {
					fmt.Fprintln(beside, err)
				} else if c.notes.Recalled > 0 {
					fmt.Fprintf(beside, "(memories recalled: %d)\n", c.notes.Recalled)
				}
			}
		}
	}
	fmt.Fprintln(beside)
	return nil
}
