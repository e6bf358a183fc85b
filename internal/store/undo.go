package store

import (
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/memory/past"
)

// Affect is an entry of an agent's history of affects, with the cause of the write that set it.
type Affect struct {
	Cause  string       `json:"cause"`
	Affect dream.Affect `json:"affect"`
}

// NewAffect is the affect of an agent whose affect was never set.
func NewAffect() dream.Affect { return dream.Affect{Cause: "new"} }

// UndoAffect returns the affect to write when a dream is undone, given the agent's history, oldest first; nil when the
// dream set none that still counts.
func UndoAffect(history []Affect, dreamID string) *dream.Affect {
	writes, affects := make([]string, len(history)), make([]string, len(history))
	for i, a := range history {
		writes[i], affects[i] = a.Cause, a.Affect.Cause
	}
	undoes, at := past.UndoingAffect(writes, affects, dreamID)
	if !undoes {
		return nil
	}
	before := NewAffect()
	if at >= 0 {
		before = history[at].Affect
	}
	return &before
}

// UndoWrite is the write under whose cause an undo of a dream is stored.
func UndoWrite(agent, dreamID string) memory.Write {
	return memory.Write{Agent: agent, Cause: past.UndoCause + dreamID}
}
