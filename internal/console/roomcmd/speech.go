package roomcmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	service "github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

// speaker prints what is said in a room.
type speaker struct {
	app     *cli.App
	handles map[string]string // of agents by id, as they were looked up
}

func newSpeaker(app *cli.App) *speaker { return &speaker{app, map[string]string{}} }

// name is how a member is shown: an agent by its handle.
func (s *speaker) name(ctx context.Context, who room.Who) string {
	if who.Kind != dormancy.Agent {
		return who.ID
	}
	if s.handles[who.ID] == "" {
		a, err := s.app.Store.Agent(ctx, who.ID)
		if err != nil { // it was removed, or the store is away: its id says enough
			return who.ID
		}
		s.handles[who.ID] = a.Handle
	}
	return s.handles[who.ID]
}

// print prints a post: who said it, when, and below what was said.
func (s *speaker) print(p room.Post) {
	if p.Form == room.Announcement {
		s.remark("%s", p.Body)
		return
	}
	about := []string{cli.Clock(p.Created, s.app.Now(), s.app.Zone)}
	if p.ReplyTo != "" {
		about = append(about, "replies to "+p.ReplyTo)
	}
	if p.Thread != "" && p.Thread != p.ReplyTo {
		about = append(about, "in thread "+p.Thread)
	}
	if p.Form == room.Notice {
		about = append(about, "notice")
	}
	if p.Trust == dormancy.Stranger {
		about = append(about, "stranger")
	}
	if !p.Edited.IsZero() && p.State == room.Live {
		about = append(about, "edited")
	}
	fmt.Fprintf(s.app.Out, "%s  %s  %s\n", s.app.Dim(p.ID), s.app.Bold(cli.Flat(p.Name)),
		s.app.Dim(strings.Join(about, ", ")))
	text := p.Body
	if p.State == room.Emptied {
		text = "(deleted)"
	}
	for line := range strings.SplitSeq(cli.Wrap(text, s.app.Width, "  "), "\n") {
		fmt.Fprintln(s.app.Out, strings.TrimRight(line, " "))
	}
}

// remark prints what nobody said.
func (s *speaker) remark(format string, args ...any) {
	text := cli.Wrap(cli.Flat(fmt.Sprintf(format, args...)), s.app.Width, "  ")
	fmt.Fprintln(s.app.Out, s.app.Dim("* "+strings.TrimPrefix(text, "  ")))
}

// usualPosts is how many of the newest posts are shown by default.
const usualPosts = 20

func history(app *cli.App) *cobra.Command {
	var thread, before string
	limit := usualPosts
	cmd := &cobra.Command{
		Use: "history ROOM", Short: "Read what was said in a room, oldest first", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app, rooms),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > room.MaxPage {
				return exit.Usagef("--limit is %d; it must be 1 to %d", limit, room.MaxPage)
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				if _, err := named(ctx, s, args[0]); err != nil {
					return err
				}
				q := room.Query{Room: args[0], Limit: limit}
				var err error
				q.Thread, err = postIn(args[0], thread, "--thread")
				if err != nil {
					return err
				}
				until, err := postIn(args[0], before, "--before")
				if err != nil {
					return err
				}
				if until != "" {
					_, q.Before, _ = room.ParsePostID(until)
				}
				return showPage(ctx, app, s, q)
			})
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&thread, "thread", "", "only the thread that hangs on this `post`, such as hall/12 or 12")
	fs.StringVar(&before, "before", "", "only what was said before this `post`")
	fs.IntVar(&limit, "limit", usualPosts, "how `many` of the newest to print")
	for _, flag := range []string{"thread", "before", "limit"} {
		view.Completes(app, cmd, flag, cli.Nothing)
	}
	return cmd
}

// showPage prints a page of posts, oldest first.
func showPage(ctx context.Context, app *cli.App, s *deploy.RoomSession, q room.Query) error {
	if q.Thread != "" {
		if _, err := s.Find(ctx, local, q.Thread); err != nil {
			return noPost(err, q.Thread)
		}
	}
	page, err := s.History(ctx, local, q)
	if err != nil {
		return err
	}
	for i, j := 0, len(page.Posts)-1; i < j; i, j = i+1, j-1 {
		page.Posts[i], page.Posts[j] = page.Posts[j], page.Posts[i]
	}
	if app.Json {
		return app.Answer(struct {
			Posts []room.Post `json:"posts"`
			More  bool        `json:"more"`
		}{cli.OrEmpty(page.Posts), page.More})
	}
	if len(page.Posts) == 0 && q.Before > 0 {
		app.Note("Nothing was said in %s before %s.", q.Room, room.PostID(q.Room, q.Before))
		return nil
	}
	if len(page.Posts) == 0 {
		app.Note("Nothing was said in %s yet. Say something: oneiros say %s TEXT", q.Room, q.Room)
		return nil
	}
	out := newSpeaker(app)
	for _, p := range page.Posts {
		out.print(p)
	}
	if page.More {
		app.Note("There is more: oneiros rooms history %s --before %d", q.Room, page.Posts[0].Offset)
	}
	return nil
}

// noPost words the error that there is no such post.
func noPost(err error, post string) error {
	if errors.Is(err, memory.ErrNotFound) {
		id, _, _ := strings.Cut(post, "/")
		return exit.NotFoundf("there is no post %s; oneiros rooms history %s shows what there is", post, id)
	}
	return err
}

// notYours words the error that a post may not be changed by who asks for it.
func (s *speaker) notYours(ctx context.Context, err error, p room.Post, what string) error {
	if !errors.Is(err, room.ErrForbidden) {
		return err
	}
	text := fmt.Sprintf("%s was written by %s, who alone may %s it", p.ID, s.name(ctx, p.Author), what)
	if p.Author.Kind == dormancy.Agent {
		text += " (--as " + s.name(ctx, p.Author) + ")"
	}
	return exit.Refusedf("%s", text)
}

func edit(app *cli.App) *cobra.Command {
	r, f := service.EditRequest{}, waitFlags{}
	cmd := &cobra.Command{
		Use: "edit POST TEXT", Short: "Change what you said, or with --as what an agent said",
		Args: cobra.MinimumNArgs(2), ValidArgsFunction: completes(app),
		Long: `Edit replaces the text of a post. Agents that it names now, and did not name before, are called as by a new
post.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, _, err := room.ParsePostID(args[0])
			if err != nil {
				return exit.Usagef("POST: %w", err)
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			r.Post, r.Body = args[0], strings.Join(args[1:], " ")
			if err := cli.CheckUTF8("TEXT", r.Body); err != nil {
				return err
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				p, err := s.Find(ctx, local, r.Post)
				if err != nil {
					return noPost(err, r.Post)
				}
				r.Revision, r.As = p.Revision, bare(r.As)
				c := newConversation(app, s, id, f)
				return c.hold(ctx, func() (service.PostResult, error) {
					done, err := s.Edit(ctx, local, r)
					return done, c.out.notYours(ctx, err, p, "edit")
				})
			})
		},
	}
	cmd.Flags().StringVar(&r.As, "as", "", "the `agent` that said it")
	view.Completes(app, cmd, "as", flagAgents(app))
	f.add(app, cmd)
	return cmd
}

func remove(app *cli.App) *cobra.Command {
	as := ""
	cmd := &cobra.Command{
		Use: "delete POST", Short: "Empty a post; its place in the room stays", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completes(app),
		Long: `Delete takes the text out of a post of yours, of an agent with --as, or of anybody in a room that you own. An
agent that has yet to answer it no longer does.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := room.ParsePostID(args[0]); err != nil {
				return exit.Usagef("POST: %w", err)
			}
			return within(app, cmd, func(ctx context.Context, s *deploy.RoomSession) error {
				p, err := s.Find(ctx, local, args[0])
				if err != nil {
					return noPost(err, args[0])
				}
				deleted, err := s.Delete(ctx, local, p.ID, bare(as))
				if err != nil || app.Json {
					return orAnswer(app, newSpeaker(app).notYours(ctx, err, p, "delete"), deleted)
				}
				app.Say("Deleted %s.", p.ID)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&as, "as", "", "the `agent` that said it")
	view.Completes(app, cmd, "as", flagAgents(app))
	return cmd
}
