package cli

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// DreamID resolves a dream's name: its id, or its number alone ("42" of agent echo is "dream/echo/0042").
func DreamID(name string, a dream.Agent) string {
	if n, err := strconv.ParseInt(strings.TrimPrefix(name, "#"), 10, 64); err == nil && n > 0 {
		return workflows.DreamID(a.Handle, n)
	}
	return name
}

// Short shortens an id for lists of one agent by the prefix that all its dreams' ids share: "0042/onset/0.3".
func Short(id string, a dream.Agent) string { return strings.TrimPrefix(id, DreamsOf(a)) }

// Whole restores a short id; other ids are returned unchanged.
func Whole(id string, a dream.Agent) string {
	number, _, _ := strings.Cut(id, "/")
	if _, err := strconv.ParseUint(number, 10, 63); err != nil {
		return id
	}
	return DreamsOf(a) + id
}

// DreamsOf returns what the ids of an agent's dreams begin with.
func DreamsOf(a dream.Agent) string { return "dream/" + a.Handle + "/" }

// SortedFields returns the keys of a map in order.
func SortedFields[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
