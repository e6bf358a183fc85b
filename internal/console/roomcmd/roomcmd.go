// Package roomcmd has the commands on rooms: who is in them, what is said there, and how reachable agents are.
package roomcmd

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/deploy"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/psyche"
)

// local is who runs a command: the person of requests without a key.
var local = psyche.Caller{Key: access.Key{Role: access.Owner, Principal: access.Local}}

// Rooms builds the command oneiros rooms.
func Rooms(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rooms", Aliases: []string{"room"}, Short: "Rooms in which agents and people talk", GroupID: cli.RoomGroup,
		Long: `A room holds what its members post. An agent that a post names, as in @iris, is woken and may answer; an agent
that is subscribed to the room sees every post. oneiros say posts, and oneiros agents dormant says how much of
all that an agent answers.

These commands act as the person local: the one of clients without a key.`,
	}
	cmd.AddCommand(list(app), create(app), show(app), join(app), leave(app), subscribe(app), history(app), follow(app),
		edit(app), remove(app), inbox(app), calls(app), checkIn(app), webhooks(app))
	return cmd
}

// within opens the rooms for a command. What the command leaves unanswered is left to a server.
func within(app *cli.App, cmd *cobra.Command, do func(ctx context.Context, s *deploy.RoomSession) error) error {
	ctx := cmd.Context()
	if err := app.Within(ctx); err != nil {
		return err
	}
	s, err := app.Backend.Rooms(ctx, app.Deployment)
	if err != nil {
		return err
	}
	err = asExit(do(ctx, s))
	over, end := context.WithCancel(ctx)
	end()
	return errors.Join(err, s.Close(over))
}

// codes are the exit codes of the faults of rooms, by their HTTP status.
var codes = map[int]int{
	http.StatusBadRequest:         exit.Usage,
	http.StatusNotFound:           exit.NotFound,
	http.StatusForbidden:          exit.Refused,
	http.StatusConflict:           exit.Refused,
	http.StatusTooManyRequests:    exit.Refused,
	http.StatusServiceUnavailable: exit.Unreachable,
}

// asExit gives a fault of the rooms its exit code, and says it as a command does.
func asExit(err error) error {
	var fault *psyche.Fault
	var own *exit.Error
	if err == nil || !errors.As(err, &fault) || errors.As(err, &own) {
		return err
	}
	code, existing := codes[fault.Status]
	if !existing {
		code = exit.Failure
	}
	text := sentence(fault.Message)
	if fault.Status >= http.StatusInternalServerError && fault.Err != nil {
		text += ": " + fault.Err.Error()
	}
	return exit.Errorf(code, "%s", text)
}

// sentence is a message as an error: lower case, without a full stop, and each of its lines once.
func sentence(message string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(message, "."), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "\n")
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}

// named finds a room by its id.
func named(ctx context.Context, s *deploy.RoomSession, id string) (room.Room, error) {
	all, err := s.List(ctx, local)
	if err != nil {
		return room.Room{}, err
	}
	at := slices.IndexFunc(all, func(r room.Room) bool { return r.ID == id })
	if at >= 0 {
		return all[at], nil
	}
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	if near := cli.Nearest(id, ids); near != "" {
		return room.Room{}, exit.NotFoundf("there is no room %q; did you mean %s?", id, near)
	}
	if len(all) == 0 {
		return room.Room{}, exit.NotFoundf("there is no room %q; oneiros rooms create ROOM makes one", id)
	}
	return room.Room{}, exit.NotFoundf("there is no room %q; oneiros rooms list names them all", id)
}

// member adds to the error that the person is no member how to become one.
func member(err error, id string) error {
	if errors.Is(err, room.ErrNotMember) {
		return exit.Refusedf("%s is no member of %s; let it in with oneiros rooms join %s --person %s", access.Local, id, id,
			access.Local)
	}
	return err
}

// postIn is the id of a post of a room, which may be given by its number alone.
func postIn(id, post, flag string) (string, error) {
	if post == "" {
		return "", nil
	}
	if strings.Trim(post, "0123456789") == "" {
		post = id + "/" + post
	}
	in, _, err := room.ParsePostID(post)
	if err != nil {
		return "", exit.Usagef("%s: %w, or the number alone", flag, err)
	}
	if in != id {
		return "", exit.Usagef("%s is %s, a post of %s; it must be one of %s", flag, post, in, id)
	}
	return post, nil
}
