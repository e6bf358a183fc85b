package roomcmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// Say builds the command oneiros say.
func Say(app *cli.App) *cobra.Command {
	r, f := service.PostRequest{}, waitFlags{}
	reply, thread := "", ""
	cmd := &cobra.Command{
		Use: "say ROOM TEXT", Short: "Say something in a room, and read what agents answer", GroupID: cli.RoomGroup,
		Args: cobra.MinimumNArgs(2), ValidArgsFunction: completes(app, rooms),
		Long: `Say posts TEXT in a room. Agents that it names, as in @iris, are woken and answer, or choose to be silent;
those that are subscribed see it and may answer, too. TEXT may be several words; - reads it from standard input.

It waits until they have answered, at most as long as --timeout says, and names those who were not called, and why.
The answers are made in this process. What is not answered when it ends waits for a server, or for oneiros agents
wake. With --no-wait it leaves all answers to them.

With --as an agent speaks that lives elsewhere. While it sleeps its posts are held until it wakes, but for commands to
itself, such as "@self awake".

Exit codes: 0 posted, and every call has come to its end; 1 a call failed; 3 no such room, agent or post;
4 a role or a cap forbids it; 5 an agent has not answered in time.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			r.Room = args[0]
			var err error
			r.ReplyTo, err = postIn(r.Room, reply, "--reply-to")
			if err != nil {
				return err
			}
			r.Thread, err = postIn(r.Room, thread, "--thread")
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("as") && bare(r.As) == "" {
				return exit.Usagef("--as is empty; it must be the handle of an agent")
			}
			r.Body, err = textOf(app, args[1:])
			if err != nil {
				return err
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				return say(ctx, app, s, r, f)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&r.As, "as", "", "speak as this `agent`")
	fs.StringVar(&reply, "reply-to", "", "the `post` that it answers, such as hall/12 or 12")
	fs.StringVar(&thread, "thread", "", "the `post` that its thread hangs on")
	fs.BoolVar(&r.Notice, "notice", false, "no agent answers it, though it names one")
	view.Completes(app, cmd, "as", flagAgents(app))
	view.Completes(app, cmd, "reply-to", cli.Nothing)
	view.Completes(app, cmd, "thread", cli.Nothing)
	f.add(app, cmd)
	return cmd
}

// textOf is what is to be said: the words of a command line, or standard input for a dash.
func textOf(app *cli.App, words []string) (string, error) {
	text := strings.Join(words, " ")
	if text == "-" {
		body, err := io.ReadAll(io.LimitReader(app.In, room.MaxBody+1))
		if err != nil {
			return "", fmt.Errorf("read what to say from standard input: %w", err)
		}
		text = strings.TrimRight(string(body), "\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", exit.Usagef("TEXT is empty; it must say something")
	}
	if len(text) > room.MaxBody {
		return "", exit.Usagef("TEXT has %d bytes or more; a post has at most %d", len(text), room.MaxBody)
	}
	return text, cli.CheckUTF8("TEXT", text)
}

func say(ctx context.Context, app *cli.App, s *deploy.RoomSession, r service.PostRequest, f waitFlags) error {
	if _, err := named(ctx, s, r.Room); err != nil {
		return err
	}
	if r.As != "" {
		a, err := view.FindAgent(ctx, app.Deployment, bare(r.As))
		if err != nil {
			return err
		}
		r.As = a.Handle
	}
	for flag, post := range map[string]string{"--reply-to": r.ReplyTo, "--thread": r.Thread} {
		if post == "" {
			continue
		}
		if _, err := s.Find(ctx, local, post); err != nil {
			return fmt.Errorf("%s: %w", flag, noPost(err, post))
		}
	}
	c := newConversation(app, s, r.Room, f)
	return c.hold(ctx, func() (service.PostResult, error) {
		done, err := s.Post(ctx, local, r)
		if r.As != "" {
			return done, notIn(err, r.Room, r.As)
		}
		return done, member(err, r.Room)
	})
}

// waitFlags say how long a command waits for answers.
type waitFlags struct {
	timeout time.Duration
	not     bool
}

const usualTimeout = time.Minute

func (f *waitFlags) add(app *cli.App, cmd *cobra.Command) {
	f.timeout = usualTimeout
	cli.SpanVar(cmd.Flags(), &f.timeout, "timeout", "how long to wait for answers; 60s when absent (`duration`)")
	cmd.Flags().BoolVar(&f.not, "no-wait", false, "end at once; answers are left to a server")
	view.Completes(app, cmd, "timeout", cli.Nothing)
}

func (f *waitFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if changed("timeout") && f.timeout <= 0 {
		return exit.Usagef("--timeout is %s; it must be longer than zero, as in 30s; --no-wait does not wait", f.timeout)
	}
	if changed("timeout") && f.not {
		return exit.Usagef("--timeout and --no-wait contradict each other; keep one")
	}
	return nil
}
