package view

import (
	"cmp"
	"fmt"

	"github.com/seed-56a03226/oneiros/internal/hermes/api"
	"github.com/seed-56a03226/oneiros/internal/screen"
)

// Rooms lists rooms with their members, as far as these were read.
func Rooms(rooms []api.Room, s Sheet) []string {
	d := draw(s)
	if len(rooms) == 0 {
		return d.nothing("You are in no room. Make one with: oneiros rooms create NAME --with AGENT")
	}
	for _, r := range rooms {
		d.blank()
		d.roomHead(r)
		d.members(r.Members)
	}
	return d.lines
}

func (d *drawing) roomHead(r api.Room) {
	head := r.ID
	if r.Title != "" {
		head += " · " + r.Title
	}
	d.text("", head, screen.Bold)
	d.text("", fmt.Sprintf("%s · made by %s, %s", screen.Count(int(r.Posts), "post"), cmp.Or(r.By.ID, "nobody"),
		d.when(r.Created)), screen.Faint)
}

// Room shows a room: its members, and what was written in it, the oldest first.
func Room(r api.Room, posts []api.Post, s Sheet) []string {
	d := draw(s)
	d.roomHead(r)
	d.members(r.Members)
	d.blank()
	if len(posts) == 0 {
		return d.nothing("Nobody has written here yet. Say something with: oneiros say %s TEXT", r.ID)
	}
	for _, p := range posts {
		d.post(p)
	}
	return d.lines
}

func (d *drawing) post(p api.Post) {
	d.blank()
	head := cmp.Or(p.Name, p.Author.ID, "somebody") + " · " + d.when(p.Created)
	if p.Form != "" && p.Form != "message" {
		head += " · " + p.Form
	}
	if p.ReplyTo != "" {
		head += " · replies to " + p.ReplyTo
	}
	if p.Trust == "stranger" {
		head += " · stranger"
	}
	if !p.Edited.IsZero() {
		head += " · edited"
	}
	ink := screen.Teal
	if p.Author.Kind == "person" {
		ink = screen.Blue
	}
	d.text("", head+" · "+p.ID, ink)
	if p.State == "deleted" {
		d.text("  ", "(deleted)", screen.Faint)
		return
	}
	d.body("  ", p.Body)
}

// members writes a line for each: whether an agent is awake, and how reachable it is.
func (d *drawing) members(members []api.Member) {
	columns := 0
	for _, m := range members {
		columns = max(columns, screen.Width(screen.Clean(m.Name)))
	}
	columns = min(columns, 24)
	for _, m := range members {
		mark, state, ink := presenceOf(m)
		badge, level, badgeInk := badgeOf(m)
		name := screen.Pad(screen.Cut(screen.Clean(cmp.Or(m.Name, m.ID)), columns), columns)
		text := state
		if m.Trust == "stranger" {
			text += ", stranger"
		}
		if m.Role != "" && m.Role != "writer" {
			text += ", " + m.Role
		}
		if m.Kind == "agent" && m.Subscribed {
			text += ", sees all posts"
		}
		head := "  " + mark + " " + name + "  "
		lines := screen.Wrap(screen.Clean(text), max(8, d.columns()-screen.Width(head)))
		for i, line := range lines {
			if i == 0 {
				d.raw("  " + d.st.Paint(ink, mark) + " " + name + "  " + line)
				continue
			}
			d.text("      ", line, screen.Unpainted)
		}
		if badge == "" {
			continue
		}
		if m.Dormancy.Reason != "" {
			level += ", because: " + m.Dormancy.Reason
		}
		if !m.Dormancy.Until.IsZero() {
			level += ", until " + d.when(m.Dormancy.Until)
		}
		indent := "      "
		for i, line := range screen.Wrap(screen.Clean(level), d.columns()-screen.Width(indent)-2) {
			if i == 0 {
				d.raw(indent + d.st.Paint(badgeInk, badge+" "+line))
				continue
			}
			d.raw(indent + "  " + d.st.Paint(badgeInk, line))
		}
	}
}

// presenceOf is the mark and the word for whether a member is there.
func presenceOf(m api.Member) (mark, state string, ink screen.Ink) {
	switch {
	case m.Kind != "agent":
		return "@", "person", screen.Blue
	case m.Dreaming:
		return "◐", "dreaming", screen.Violet
	case m.Online:
		return "●", "awake", screen.Green
	}
	return "○", "asleep", screen.Faint
}

// badgeOf is the badge of a member that has made itself less reachable: gray, blue and dark, by its level.
func badgeOf(m api.Member) (badge, level string, ink screen.Ink) {
	if m.Dormancy == nil {
		return "", "", screen.Unpainted
	}
	switch m.Dormancy.Level {
	case "mention-only":
		return "◔", "mention-only: answers what names it", screen.Faint
	case "human-only":
		return "◑", "human-only: answers people, and what names it", screen.Blue
	case "sleep":
		return "◕", "sleep: what names it waits until it wakes", screen.Dark
	case "", "active":
		return "", "", screen.Unpainted
	}
	return "◌", screen.Clean(m.Dormancy.Level), screen.Faint
}
