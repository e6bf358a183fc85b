package sample

import (
	"embed"
	"path"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Chronicle is a diary of some weeks that a demonstration plays day by day. The diaries were written before the code
// that plays them, and hold regularities and false leads that no code knows.
type Chronicle struct {
	Name string // of the file, without its ending
	Text []byte // Markdown under dated headings
}

//go:embed lives/*.md
var chronicles embed.FS

// Chronicles returns the diaries that ship, the one that is played by default first. Every call returns copies.
func Chronicles() []Chronicle {
	all := make([]Chronicle, 0, len(ChronicleNames))
	for _, name := range ChronicleNames {
		text, err := chronicles.ReadFile(path.Join("lives", name+".md"))
		if err != nil {
			panic(err) // the file is part of the program
		}
		all = append(all, Chronicle{Name: name, Text: text})
	}
	return all
}

// ChronicleNames are the names of the lives that ship, the one that is played by default first.
var ChronicleNames = []string{"house", "oncall"}

// Diarist is the agent that lives a life.
func Diarist(handle string, created time.Time) dream.Agent {
	return dream.Agent{
		ID:      strings.ToLower(handle),
		Handle:  strings.ToLower(handle),
		Persona: "a companion that keeps a diary for somebody, and learns from it what follows what",
		Zone:    "UTC",
		Tier:    dream.Hardened,
		Caps:    dream.DefaultCaps,
		Created: created.UTC(),
	}
}
