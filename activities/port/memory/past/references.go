package past

import (
	"encoding/json"
	"slices"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// References are the JSON fields in which items name other items.
var References = []string{
	"sources", "newer", "replaces", "scenario", "hypothesis", "parent", "parents", "seeds",
	"fragment", "episodes", "insights", "confirmed", "contradicted", "decided_by", "claim_ids", "playbook_ids",
}

// Named lists the ids that an item's JSON names in its reference fields, each once.
func Named(body []byte) ([]string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range References {
		list, one := read(fields[name])
		for _, r := range replaced(fields[name]) {
			list = append(list, r.ID)
		}
		if one != "" {
			list = append(list, one)
		}
		for _, id := range list {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// Scrub removes ids from the reference fields of an item's JSON. changed is false when it names none of them.
func Scrub(kind dream.Kind, body []byte, removed map[string]bool) (scrubbed []byte, changed bool, err error) {
	item, err := dream.Decode(kind, body)
	if err != nil {
		return nil, false, err
	}
	plain, err := json.Marshal(item) // decoding and encoding gives every field its one spelling
	if err != nil {
		return nil, false, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(plain, &fields); err != nil {
		return nil, false, err
	}
	for _, name := range References {
		if whole := replaced(fields[name]); len(whole) > 0 { // their words go as well
			kept := slices.DeleteFunc(slices.Clone(whole), func(r dream.EarlierVersion) bool { return removed[r.ID] })
			if len(kept) < len(whole) {
				fields[name], err = json.Marshal(kept)
				if err != nil {
					return nil, false, err
				}
				changed = true
			}
			continue
		}
		list, one := read(fields[name])
		kept := slices.DeleteFunc(slices.Clone(list), func(id string) bool { return removed[id] })
		switch {
		case len(kept) < len(list):
			fields[name], err = json.Marshal(kept)
			if err != nil {
				return nil, false, err
			}
			changed = true
		case removed[one]:
			delete(fields, name)
			changed = true
		}
	}
	if !changed {
		return nil, false, nil
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, false, err
	}
	item, err = dream.Decode(kind, rest)
	if err != nil {
		return nil, false, err
	}
	scrubbed, err = json.Marshal(item)
	return scrubbed, err == nil, err
}

// replaced reads a field as a list of corrected items; nil when it is not one.
func replaced(raw json.RawMessage) (list []dream.EarlierVersion) {
	if len(raw) < 2 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// read reads a field as a list of ids or as one id.
func read(raw json.RawMessage) (list []string, one string) {
	if raw == nil || json.Unmarshal(raw, &list) == nil {
		return list, ""
	}
	if json.Unmarshal(raw, &one) != nil {
		return nil, ""
	}
	return nil, one
}
