// Package sample has the two invented diaries that ship with the product, so that a first dream has memories to dream
// about.
//
// The memories were written for this project and are under its licence. People, places, markets and prices are
// invented.
package sample

import (
	_ "embed"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// Diary is an agent and what it remembers. Memories is JSONL, one item a line, oldest first: episodes, semantic entries
// and playbook entries, without ids, so that the importer names them by their content and a second import adds nothing.
type Diary struct {
	Agent    dream.Agent
	Memories []byte
}

//go:embed echo.jsonl
var echoMemories string

//go:embed tally.jsonl
var tallyMemories string

// born is before the oldest line of either diary.
var born = time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)

// Diaries returns both diaries, the companion's first. Every call returns copies.
func Diaries() []Diary {
	return []Diary{
		{Agent: echo(), Memories: []byte(echoMemories)},
		{Agent: tally(), Memories: []byte(tallyMemories)},
	}
}

func echo() dream.Agent {
	return agent("echo",
		"Echo sits on a kitchen shelf in a harbour town and keeps Mara company through her sleepless hours and her work on an old boat. "+
			"It listens first, speaks plainly, keeps confidences and remembers what people put down and forget.",
		"the boat Patience", "the Hallow Light", "the missing third verse", "Mara and her brother", "tides", "sleep")
}

func tally() dream.Agent {
	return agent("tally",
		"Tally reads the chalkboard of the Vell River Exchange and writes notes for Odile Marsh, who keeps a small storehouse. "+
			"It watches and advises, never trades, puts a chance on every forecast and owns up to the wrong ones.",
		"tin", "salt", "wool", "barge freight", "the rain index", "the gauge at Sallow Lock",
		"forecasts and how they ended")
}

func agent(name, persona string, interests ...string) dream.Agent {
	return dream.Agent{
		ID:        "sample-" + name,
		Handle:    name,
		Persona:   persona,
		Interests: interests,
		Zone:      "UTC",
		Tier:      dream.Hardened,
		Caps:      dream.DefaultCaps,
		Created:   born,
	}
}
