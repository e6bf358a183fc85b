package console

import (
	"sort"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/workflows"
)

// dreamID resolves a dream's name: its id, or its number alone ("42" of agent echo is "dream/echo/0042").
func dreamID(name string, a dream.Agent) string {
	if n, err := strconv.ParseInt(strings.TrimPrefix(name, "#"), 10, 64); err == nil && n > 0 {
		return workflows.DreamID(a.Handle, n)
	}
	return name
}

// short shortens an id for lists of one agent by the prefix that all its dreams' ids share: "0042/onset/0.3".
func short(id string, a dream.Agent) string { return strings.TrimPrefix(id, dreamsOf(a)) }

// whole restores a short id; other ids are returned unchanged.
func whole(id string, a dream.Agent) string {
	number, _, _ := strings.Cut(id, "/")
	if _, err := strconv.ParseUint(number, 10, 63); err != nil {
		return id
	}
	return dreamsOf(a) + id
}

func dreamsOf(a dream.Agent) string { return "dream/" + a.Handle + "/" }

func sortedFields[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
