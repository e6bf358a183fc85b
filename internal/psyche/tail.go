package psyche

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// longestTail is how much of an answer is held back at most: what follows its last closing brace.
const longestTail = 64 << 10

// tail adds the usage to an answer in one piece when the provider reports none: it is counted and written before the
// closing brace. Every other byte passes unchanged.
type tail struct {
	outlet
	held  []byte
	all   []byte // of the answer, as long as it is short enough to parse
	open  bool   // nothing is held back any more
	count func() counted
}

func (t *tail) push(b []byte, end bool) {
	if t.open {
		t.out = append(t.out, b...)
		return
	}
	t.all, t.held = append(t.all, b...), append(t.held, b...)
	if at := bytes.LastIndexByte(t.held, '}'); at >= 0 {
		t.out, t.held = append(t.out, t.held[:at]...), t.held[at:]
	} else {
		t.out, t.held = append(t.out, t.held...), t.held[:0]
	}
	switch {
	case len(t.held) > longestTail || len(t.all) > mostHeard:
		t.open = true
	case !end:
		return
	case t.lacksUsage():
		u := t.count()
		t.out = fmt.Appendf(t.out, `,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, u.prompt,
			u.completion, u.total)
	}
	t.out, t.held, t.all = append(t.out, t.held...), nil, nil
}

// lacksUsage reports whether what was read is a complete answer without usage.
func (t *tail) lacksUsage() bool {
	var a struct {
		Choices []json.RawMessage `json:"choices"`
		Usage   *json.RawMessage  `json:"usage"`
		Error   *json.RawMessage  `json:"error"`
	}
	return bytes.HasPrefix(bytes.TrimSpace(t.held), []byte("}")) && json.Unmarshal(t.all, &a) == nil &&
		len(a.Choices) > 0 && a.Usage == nil && a.Error == nil && !bytes.Contains(t.all, []byte(`"usage"`))
}
