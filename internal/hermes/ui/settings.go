package ui

import (
	"context"
	"time"

	"github.com/seed-56a03226/oneiros/internal/hermes/message"
	"github.com/seed-56a03226/oneiros/internal/hermes/react"
)

// Settings are what a screen needs. Talk and Wire are required.
type Settings struct {
	Agent     string // the agent's name
	Workspace string // the folder of the tools
	Talk      Talk
	Wire      *Wire
	// Views are pages about the agent, each with a command of its name.
	Views []View
	// Commands are further commands of the person.
	Commands []Command
	// Open goes on with another session; nil: sessions are not kept.
	Open func(id string) (Talk, error)
	// Files lists files of the workspace for completion; nil: none.
	Files func(limit int) []string
	// Shell runs a command of the person's own; nil: there is none.
	Shell func(ctx context.Context, soft <-chan struct{}, command string) message.Result
	// Price is what the agent's model costs, where it is known.
	Price  message.Price
	Priced bool
	// Window is how many tokens the model reads at once; 0 where it is not known.
	Window int
	Idle   Idle
	// Editor is the command line that edits a file, such as "vi"; empty: none was found.
	Editor string
	// History are the person's words of earlier sessions, the oldest first.
	History []string
	// Notes are said at the beginning, such as what the server does not offer.
	Notes []string
	// Begin is said by the person at once; empty: nothing.
	Begin string
	Now   func() time.Time
}

// Talk is a session that goes on.
type Talk struct {
	ID      string
	Loop    *react.Loop
	Entries []message.Entry // what it has already
	// Keep adds a line for the person alone. May be nil.
	Keep func(note string) error
}

// Idle is when and how the agent looks around by itself.
type Idle struct {
	On     bool
	After  time.Duration // without a key of the person
	Bounds react.Bounds
}

// View is a page about the agent.
type View struct {
	Name     string // of its command, such as "journal"
	Argument string // what the command takes, such as "[ID]"
	Says     string // what it shows, in a few words
	// Load reads what the page shows. Follow is called instead where it is set: it calls update whenever there is
	// something new, until ctx is canceled.
	Load   func(ctx context.Context, argument string) (Page, error)
	Follow func(ctx context.Context, argument string, update func(Page)) error
}

// Page is what a view shows.
type Page struct {
	Title string
	// Draw returns lines of at most width columns, at a beat that grows about twice a second.
	Draw func(width, beat int) []string
}

// Command is something that a person can ask for by a slash and its name.
type Command struct {
	Name     string
	Argument string
	Says     string
	// Do returns what the person is told.
	Do func(ctx context.Context, argument string) (string, error)
}

// Presence tells how the agent is held awake.
type Presence struct {
	Text  string // such as "awake" or "connecting"
	Awake bool
	// Passing tells that this will change by itself, such as while a lost server is tried again.
	Passing bool
}
