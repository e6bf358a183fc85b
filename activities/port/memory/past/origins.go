package past

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// after lists the reference fields that name what came after an item, not what it was made from.
var after = []string{"newer", "insights", "confirmed", "contradicted", "decided_by", "claim_ids", "playbook_ids"}

// Origins lists the ids of what an item was made from, each once.
func Origins(item dream.Item) ([]string, error) {
	body, err := json.Marshal(item)
	if err != nil {
		return nil, fmt.Errorf("read what %s was made from: %w", item.Header().ID, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("read what %s was made from: %w", item.Header().ID, err)
	}
	for _, name := range after {
		delete(fields, name)
	}
	body, err = json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("read what %s was made from: %w", item.Header().ID, err)
	}
	return Named(body)
}

// Text is something that a dream wrote, with the ids of what it was made from.
type Text struct {
	ID, Dream string
	Origins   []string
}

// Descend marks every text that was made from one of these ids, directly or through other texts. It also marks every
// text without origins by a dream that wrote such a text, because the dream's prompts may have shown the same memories.
func Descend(texts []Text, ids ...string) map[string]bool {
	from, dreams, marked := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, id := range ids {
		from[id] = true
	}
	for before := -1; before < len(marked); {
		before = len(marked)
		for _, t := range texts {
			if from[t.ID] || !descends(t, from, dreams) {
				continue
			}
			from[t.ID], dreams[t.Dream], marked[t.ID] = true, true, true
		}
	}
	return marked
}

func descends(t Text, from, dreams map[string]bool) bool {
	if len(t.Origins) == 0 {
		return dreams[t.Dream]
	}
	return slices.ContainsFunc(t.Origins, func(id string) bool { return from[id] })
}
