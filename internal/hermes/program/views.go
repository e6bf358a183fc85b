package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/hermes/remote"
	"github.com/seed-56a03226/oneiros/internal/hermes/session"
	"github.com/seed-56a03226/oneiros/internal/hermes/ui"
	"github.com/seed-56a03226/oneiros/internal/hermes/view"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// most is how many entries a list asks the server for.
const most = 50

// sheet is a terminal of a width at this moment.
func (h *hermes) sheet(width, beat int) view.Sheet {
	return view.Sheet{
		Width:  width,
		Colour: h.Colour,
		Zone:   time.Local,
		Now:    h.Now(),
		Beat:   beat,
	}
}

// page is a page whose lines do not change.
func (h *hermes) page(title string, draw func(view.Sheet) []string) ui.Page {
	title = strings.ToUpper(title[:1]) + title[1:]
	return ui.Page{Title: title, Draw: func(width, beat int) []string { return draw(h.sheet(width, beat)) }}
}

// reading makes a view of what one request answers.
func reading[T any](
	h *hermes, name, argument, says string,
	read func(ctx context.Context, argument string) (T, error),
	draw func(T, string, view.Sheet) []string,
) ui.View {
	return ui.View{
		Name: name, Argument: argument, Says: says,
		Load: func(ctx context.Context, argument string) (ui.Page, error) {
			got, err := read(ctx, argument)
			if err != nil {
				return h.trouble(name, err)
			}
			return h.page(says, func(s view.Sheet) []string { return draw(got, argument, s) }), nil
		},
	}
}

// trouble is the page of what the server does not have, or what the key may not see. Other failures are errors.
func (h *hermes) trouble(what string, err error) (ui.Page, error) {
	if !errors.Is(err, api.ErrMissing) && !errors.Is(err, api.ErrRole) {
		return ui.Page{}, err
	}
	return h.page(what, func(s view.Sheet) []string { return view.Trouble(what, err, s) }), nil
}

func plain[T any](draw func(T, view.Sheet) []string) func(T, string, view.Sheet) []string {
	return func(v T, _ string, s view.Sheet) []string { return draw(v, s) }
}

// views are the pages about the agent.
func (h *hermes) views() []ui.View {
	r := h.server
	return []ui.View{
		h.dreamView(),
		reading(h, "dreams", "", "dreams, the newest first",
			func(ctx context.Context, _ string) ([]api.Dream, error) { return r.Dreams(ctx, most) }, plain(view.Dreams)),
		reading(h, "journal", "", "the dream journal",
			func(ctx context.Context, _ string) ([]api.JournalEntry, error) { return r.Journal(ctx, most) }, plain(view.Journal)),
		reading(h, "morning", "[24h]", "what is new since then", h.morning, plain(view.Morning)),
		h.claimsView(),
		reading(h, "predictions", "", "what dreams foretold and is open",
			func(ctx context.Context, _ string) ([]api.Prediction, error) { return r.Predictions(ctx, "", most) },
			plain(view.Predictions)),
		reading(h, "metrics", "", "what the dreams yield, with healthy ranges",
			func(ctx context.Context, _ string) (*api.Quality, error) { return r.Quality(ctx) }, plain(view.Metrics)),
		h.roomsView(),
		reading(h, "memory", "WORDS", "what comes to the agent's mind",
			func(ctx context.Context, words string) ([]api.Memory, error) {
				if words == "" {
					return nil, errors.New("say what it should remember, such as /memory the harbour")
				}
				return r.Memories(ctx, words, most)
			},
			func(found []api.Memory, words string, s view.Sheet) []string { return view.Memories(words, found, s) }),
		reading(h, "status", "", "how the agent is",
			func(ctx context.Context, _ string) (api.Status, error) { return r.Status(ctx) }, plain(view.Status)),
		{
			Name: "doctor", Says: "check the server, the agent, the key and the tools",
			Load: func(ctx context.Context, _ string) (ui.Page, error) {
				return h.doctorPage(append(r.Check(ctx), h.own(h.settings, h.places)...)), nil
			},
		},
		{
			Name: "sessions", Argument: "[WORDS]", Says: "sessions that can be resumed",
			Load: func(_ context.Context, words string) (ui.Page, error) {
				all, err := h.store.List(words)
				if err != nil {
					return ui.Page{}, err
				}
				return ui.Page{Title: "Sessions; /resume ID goes on with one", Draw: func(width, _ int) []string {
					if len(all) == 0 {
						return []string{"No session has these words."}
					}
					return sessionLines(all, width)
				}}, nil
			},
		},
	}
}

func (h *hermes) morning(ctx context.Context, argument string) (api.Morning, error) {
	ago := 24 * time.Hour
	if argument != "" {
		d, err := time.ParseDuration(argument)
		if err != nil || d <= 0 {
			return api.Morning{}, fmt.Errorf("%q is no time span; one looks like 24h or 90m", argument)
		}
		ago = d
	}
	return h.server.Morning(ctx, h.Now().Add(-ago))
}

func (h *hermes) claimsView() ui.View {
	return ui.View{
		Name: "claims", Argument: "[ID]", Says: "what keeps coming true; with an ID, why",
		Load: func(ctx context.Context, id string) (ui.Page, error) {
			if id == "" {
				all, err := h.server.Claims(ctx, most)
				if err != nil {
					return h.trouble("claims", err)
				}
				return h.page("What keeps coming true", func(s view.Sheet) []string { return view.Claims(all, s) }), nil
			}
			one, err := h.server.Claim(ctx, id)
			if err != nil {
				return h.trouble("claims", err)
			}
			return h.page("Claim "+id, func(s view.Sheet) []string { return view.ClaimExplanation(one, s) }), nil
		},
	}
}

func (h *hermes) roomsView() ui.View {
	return ui.View{
		Name: "rooms", Argument: "[ROOM]", Says: "rooms and who is in them; with a name, what was said",
		Load: func(ctx context.Context, id string) (ui.Page, error) {
			if id == "" {
				all, err := h.rooms(ctx)
				if err != nil {
					return h.trouble("rooms", err)
				}
				return h.page("Rooms", func(s view.Sheet) []string { return view.Rooms(all, s) }), nil
			}
			room, err := h.server.Room(ctx, id)
			if err != nil {
				return h.trouble("rooms", err)
			}
			posts, err := h.server.Posts(ctx, id, most)
			if err != nil {
				return h.trouble("rooms", err)
			}
			return h.page("Room "+id, func(s view.Sheet) []string { return view.Room(room, posts, s) }), nil
		},
	}
}

// rooms are the rooms with their members.
func (h *hermes) rooms(ctx context.Context) ([]api.Room, error) {
	all, err := h.server.Rooms(ctx)
	if err != nil {
		return nil, err
	}
	for i, each := range all {
		all[i], err = h.server.Room(ctx, each.ID)
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// dreamView shows the dream under way as it goes on, or a past one; or it begins one.
func (h *hermes) dreamView() ui.View {
	return ui.View{
		Name: "dream", Argument: "[now|ID]", Says: "the dream as it goes on; a past one by its number; now begins one",
		Load: func(ctx context.Context, argument string) (ui.Page, error) {
			night, err := h.night(ctx, argument)
			if err != nil {
				return h.trouble("dreams", err)
			}
			return h.nightPage(night), nil
		},
		Follow: h.followDream,
	}
}

func (h *hermes) nightPage(n view.Night) ui.Page {
	return ui.Page{Title: "Dream", Draw: func(width, beat int) []string {
		if n.Dream.Ended != nil {
			beat = 0 // what is over does not pulse
		}
		return view.Dream(n, h.sheet(width, beat))
	}}
}

// night reads a dream: the one that is named, else the newest.
func (h *hermes) night(ctx context.Context, argument string) (view.Night, error) {
	d, err := h.dreamOf(ctx, argument)
	if err != nil {
		return view.Night{}, err
	}
	n := view.NightOf(d)
	over := false
	if past, err := h.server.Past(ctx, remote.Filter{Dream: d.ID}); err == nil {
		for _, e := range past {
			n = view.Follow(n, e)
			over = over || e.Type == dreamEnded
		}
	}
	if over && d.Ended == nil {
		return h.refreshed(ctx, n), nil // it ended while it was read
	}
	return h.withYield(ctx, n), nil
}

// dreamOf reads the dream that is named, or the newest, or begins one.
func (h *hermes) dreamOf(ctx context.Context, argument string) (api.Dream, error) {
	switch argument {
	case "now":
		h.hold.letGo() // an agent that is held awake does not dream
		return h.server.BeginDream(ctx, remote.DreamRequest{})
	case "":
		all, err := h.server.Dreams(ctx, 1)
		if err != nil {
			return api.Dream{}, err
		}
		if len(all) == 0 {
			return api.Dream{}, errNoDream
		}
		return h.server.Dream(ctx, all[0].ID)
	}
	return h.server.Dream(ctx, h.server.DreamID(argument))
}

// tryAgain is after which time a refusal may be none any more; 0 where it stands. An agent that was let go takes a
// moment to fall asleep.
func tryAgain(err error) time.Duration {
	e, ok := errors.AsType[*api.Error](err)
	switch {
	case !ok:
		return 0
	case e.Retry == 0 && e.Status == http.StatusConflict:
		return 2 * time.Second
	}
	return e.Retry
}

// within says how long something takes at most; empty for a moment.
func within(d time.Duration) string {
	if d < 5*time.Second {
		return ""
	}
	return ", in " + api.Span(d) + " at the latest"
}

func waitPage(err error) ui.Page {
	return ui.Page{Title: "Dream", Draw: func(width, _ int) []string {
		text := "Not yet: the agent stays awake for a little while after it was talked to. The dream begins by itself" +
			within(tryAgain(err)) + ". Esc gives up."
		return strings.Split(ansi.Wrap(screen.Printable(text), width, ""), "\n")
	}}
}

var errNoDream = errors.New("there is no dream yet; /dream now begins one")

// dreamEnded is the event behind which nothing of a dream comes.
const dreamEnded = "DreamEnded"

// withYield adds what the dream made, as far as the key may see it.
func (h *hermes) withYield(ctx context.Context, n view.Night) view.Night {
	var insights, fragments, scenarios error
	n.Insights, insights = h.server.Insights(ctx, n.Dream.ID)
	n.Fragments, fragments = h.server.Fragments(ctx, n.Dream.ID)
	n.Scenarios, scenarios = h.server.Scenarios(ctx, n.Dream.ID)
	n.Denied = cmp.Or(scenarios, fragments, insights)
	return n
}

// followDream shows a dream and then every event of it; without a name also of the next ones.
func (h *hermes) followDream(ctx context.Context, argument string, update func(ui.Page)) error {
	n, err := h.night(ctx, argument)
	for again := tryAgain(err); argument == "now" && again > 0; again = tryAgain(err) {
		update(waitPage(err))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(again, 5*time.Second)):
		}
		n, err = h.night(ctx, argument)
	}
	switch {
	case errors.Is(err, errNoDream):
		update(ui.Page{Title: "Dream", Draw: func(int, int) []string {
			return []string{"No dream yet. One that begins is shown here; /dream now begins one."}
		}})
		n = view.Night{Dream: api.Dream{Agent: h.Agent}}
	case err != nil:
		page, err := h.trouble("dreams", err)
		if err == nil {
			update(page)
		}
		return err
	default:
		update(h.nightPage(n))
	}
	filter := remote.Filter{}
	if argument != "" && argument != "now" {
		filter.Dream = n.Dream.ID
		if n.Dream.Ended != nil {
			return nil
		}
	}
	return h.server.Events(ctx, filter, n.Seq, func(e api.Event) {
		n = view.Follow(n, e)
		if n.Dream.Dream == "" {
			return // what the agent does before its first dream
		}
		if e.Type == dreamEnded {
			n = h.refreshed(ctx, n)
			h.wire.Present(ui.Presence{Text: "asleep; what you say wakes it"})
		}
		update(h.nightPage(n))
	})
}

// refreshed reads the record of a dream that is over.
func (h *hermes) refreshed(ctx context.Context, n view.Night) view.Night {
	d, err := h.server.Dream(ctx, n.Dream.ID)
	if err != nil {
		return n
	}
	after := view.NightOf(d)
	after.Recent, after.Breaks = n.Recent, n.Breaks
	after.Deepest, after.Seq = n.Deepest, n.Seq
	return h.withYield(ctx, after)
}

func (p Process) doctorPage(lines []api.Line) ui.Page {
	return ui.Page{Title: "Doctor", Draw: func(width, _ int) []string {
		return view.Doctor(lines, view.Sheet{Width: width, Colour: p.Colour})
	}}
}

// own are the checks of what is Hermes' own.
func (p Process) own(s settings, pl places) []api.Line {
	lines := []api.Line{
		{Name: "settings", Level: api.OK, Says: settingsRead(pl.config)},
		{Name: "sessions", Level: api.OK, Says: "kept in " + pl.state},
	}
	commands := api.Line{Name: "commands", Level: api.OK, Says: "confined to the workspace by the kernel"}
	box, err := boxOf(s, workspaceOf(s), filepath.Join(pl.state, "doctor"), pl.cacheOf(workspaceOf(s)))
	if err != nil {
		commands.Level, commands.Says = api.Failure, err.Error()
		return append(lines, commands)
	}
	defer box.Close()
	if confined, why := box.Confined(); !confined {
		commands.Level, commands.Says, commands.Fix = api.Warning, "not confined: "+why, "Each command needs your approval."
	}
	return append(lines, commands)
}

// settingsRead says where settings came from.
func settingsRead(file string) string {
	if _, err := os.Stat(file); err != nil {
		return "flags and HERMES_ variables; there is no " + file
	}
	return "flags, HERMES_ variables and " + file
}

// commands are what a person can ask for besides views.
func (h *hermes) commands() []ui.Command {
	return []ui.Command{
		{Name: "remember", Argument: "TEXT", Says: "tell the agent something to keep", Do: h.remember},
		{Name: "restore", Argument: "[N]", Says: "put files back as they were at a checkpoint", Do: h.restore},
		{Name: "export", Argument: "[FILE]", Says: "write the session as Markdown", Do: h.export},
		{Name: "cancel-dream", Says: "end the dream under way with what it has", Do: h.cancelDream},
	}
}

func (h *hermes) remember(ctx context.Context, text string) (string, error) {
	if text == "" {
		return "", errors.New("say what to keep, such as: /remember The bakery closes on Mondays")
	}
	_, err := h.server.Remember(ctx, text)
	if err != nil {
		return "", err
	}
	return h.Agent + " keeps it, as your own words.", nil
}

// restore lists the checkpoints, or puts files back.
func (h *hermes) restore(_ context.Context, argument string) (string, error) {
	all := h.box.Checkpoints()
	if argument == "" {
		if len(all) == 0 {
			return "No tool has written a file in this session.", nil
		}
		var b strings.Builder
		b.WriteString("Checkpoints, each from before one of your messages; /restore N puts back what was written since:\n")
		for _, c := range all {
			fmt.Fprintf(&b, "%d  %s  %s\n", c.ID, c.At.Local().Format("15:04:05"), firstLine(c.Label))
			for _, f := range c.Files {
				fmt.Fprintf(&b, "     %s\n", f)
			}
		}
		return strings.TrimRight(b.String(), "\n"), nil
	}
	var n int
	if _, err := fmt.Sscanf(argument, "%d", &n); err != nil {
		return "", fmt.Errorf("%q is no number of a checkpoint; /restore lists them", argument)
	}
	files, err := h.box.Restore(n)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "Nothing was written since.", nil
	}
	return "Put back: " + strings.Join(files, ", ") + ".", nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > 60 {
		line = string(runes[:60]) + "…"
	}
	return line
}

func (h *hermes) cancelDream(ctx context.Context, _ string) (string, error) {
	all, err := h.server.Dreams(ctx, 1)
	if err != nil {
		return "", err
	}
	if len(all) == 0 || all[0].Ended != nil {
		return "", errors.New("no dream is under way")
	}
	d, err := h.server.CancelDream(ctx, all[0].ID)
	if err != nil {
		return "", err
	}
	return "Dream " + d.Dream + " ends with what it has.", nil
}

// export writes the session under way into a file of the workspace.
func (h *hermes) export(_ context.Context, file string) (string, error) {
	if file == "" {
		file = "hermes-" + h.session + ".md"
	}
	header, entries, err := h.store.Read(h.session)
	if err != nil {
		return "", err
	}
	if err := writeNew(h.Workspace, file, session.Export(header, entries)); err != nil {
		return "", err
	}
	return "Written to " + file + ".", nil
}
