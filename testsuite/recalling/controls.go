package recalling

import (
	"encoding/json"
	"fmt"
)

// without leaves turns of one dialogue out of a file.
func without(body []byte, dialogue string, drop func(turn string) bool) ([]byte, error) {
	var file []map[string]json.RawMessage
	if err := json.Unmarshal(body, &file); err != nil {
		return nil, err
	}
	for _, d := range file {
		var name string
		if err := json.Unmarshal(d["sample_id"], &name); err != nil || name != dialogue {
			continue
		}
		var talk map[string]json.RawMessage
		if err := json.Unmarshal(d["conversation"], &talk); err != nil {
			return nil, fmt.Errorf("conversation of %s: %w", name, err)
		}
		for key, raw := range talk {
			var turns []map[string]json.RawMessage
			if json.Unmarshal(raw, &turns) != nil {
				continue
			}
			var kept []map[string]json.RawMessage
			for _, t := range turns {
				var id string
				if json.Unmarshal(t["dia_id"], &id) != nil || !drop(id) {
					kept = append(kept, t)
				}
			}
			var err error
			talk[key], err = json.Marshal(kept)
			if err != nil {
				return nil, err
			}
		}
		var err error
		d["conversation"], err = json.Marshal(talk)
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(file)
}
