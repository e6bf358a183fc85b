package formats

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// gptConversation is one conversation of a ChatGPT export: a tree of messages, of which one path is the current one.
type gptConversation struct {
	Title        string             `json:"title"`
	ID           string             `json:"id"`
	Conversation string             `json:"conversation_id"`
	CreateTime   json.RawMessage    `json:"create_time"`
	Current      string             `json:"current_node"`
	Mapping      map[string]gptNode `json:"mapping"`
}

type gptNode struct {
	Message *gptMessage `json:"message"`
	Parent  string      `json:"parent"`
}

type gptMessage struct {
	Author struct {
		Role string `json:"role"`
		Name string `json:"name"`
	} `json:"author"`
	CreateTime json.RawMessage `json:"create_time"`
	Recipient  string          `json:"recipient"`
	Content    struct {
		Type   string            `json:"content_type"`
		Parts  []json.RawMessage `json:"parts"`
		Text   string            `json:"text"`
		Result string            `json:"result"`
	} `json:"content"`
	Metadata struct {
		Hidden bool `json:"is_visually_hidden_from_conversation"`
	} `json:"metadata"`
}

func readChatGPT(src *Source, to *Sink) error {
	in := elements{in: src.In}
	return in.each(to, func(raw []byte, line int) error {
		var c gptConversation
		if err := json.Unmarshal(raw, &c); err != nil {
			to.Bad(line, notJSON(err))
			return nil
		}
		if len(c.Mapping) == 0 {
			to.Bad(line, "mapping is missing or empty; a conversation of a ChatGPT export has one")
			return nil
		}
		return src.gptTalk(&c, to, line)
	})
}

// gptTalk walks a conversation from its beginning to its current node.
func (s *Source) gptTalk(c *gptConversation, to *Sink, line int) error {
	session := cmp.Or(oneLine(c.Conversation), oneLine(c.ID), s.origin(line))
	when, reported, err := firstTime(s.Zone, c.CreateTime)
	if err != nil {
		to.Bad(line, "create_time: "+err.Error())
	}
	x := &exchanger{src: s, to: to, roles: true, scene: about(c.Title)}
	for _, node := range c.path() {
		m := node.Message
		if m == nil || m.Metadata.Hidden {
			continue
		}
		switch m.Author.Role {
		case "", "system", "developer":
			continue
		}
		own, dated, err := firstTime(s.Zone, m.CreateTime)
		if err != nil {
			to.Bad(line, "message create_time: "+err.Error())
			continue
		}
		if dated {
			when, reported = own, true
		}
		t := message{
			line:    line,
			Turn:    derive.Turn{Speaker: speakerOf(m.Author.Role, m.Author.Name), Taint: m.taint(), Text: m.text()},
			session: session,
			when:    when,
			undated: !reported,
		}
		if err := x.take(t); err != nil {
			return err
		}
	}
	return x.end()
}

// path is the way from the root to the current node. Without a usable current node it ends at the newest leaf.
func (c *gptConversation) path() []gptNode {
	id := c.Current
	if _, ok := c.Mapping[id]; !ok {
		id = c.newestLeaf()
	}
	var up []gptNode
	walked := map[string]bool{}
	for !walked[id] {
		node, ok := c.Mapping[id]
		if !ok {
			break
		}
		walked[id] = true
		up = append(up, node)
		id = node.Parent
	}
	slices.Reverse(up)
	return up
}

func (c *gptConversation) newestLeaf() string {
	parents := map[string]bool{}
	for _, node := range c.Mapping {
		parents[node.Parent] = true
	}
	best, bestAt := "", 0.0
	for id, node := range c.Mapping {
		if parents[id] {
			continue
		}
		var at float64
		if node.Message != nil && json.Unmarshal(node.Message.CreateTime, &at) != nil {
			at = 0
		}
		if best == "" || at > bestAt || at == bestAt && id > best {
			best, bestAt = id, at
		}
	}
	return best
}

// taint is web for the result of a browsing tool, whatever the tool is called.
func (m *gptMessage) taint() dream.Taint {
	switch {
	case m.Author.Role != "tool":
		return taintOf(m.Author.Role)
	case strings.HasPrefix(m.Content.Type, "tether_"), strings.Contains(m.Author.Name, "web"),
		strings.Contains(m.Author.Name, "browser"):
		return dream.FromWeb
	default:
		return dream.FromTool
	}
}

// text is the text of a message; a tool call is described, settings of the account are left out.
func (m *gptMessage) text() string {
	if m.Content.Type == "user_editable_context" || m.Content.Type == "model_editable_context" {
		return ""
	}
	if m.Author.Role == "assistant" && m.Recipient != "" && m.Recipient != "all" {
		return "(uses the tool " + derive.Flat(m.Recipient) + ")"
	}
	var out []string
	for _, part := range m.Content.Parts {
		if text := partText(part); text != "" {
			out = append(out, text)
		}
	}
	for _, text := range []string{m.Content.Text, m.Content.Result} {
		if text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, "\n")
}
