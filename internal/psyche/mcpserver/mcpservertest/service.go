// Package mcpservertest is a service without a model, whose agents answer, remember and feel by fixed rules, for
// tests of the MCP server.
package mcpservertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
)

// Secret is text of journals and playbooks that only operators may see.
const Secret = "the-orchard-under-the-sea"

// Wait is the message that an agent answers with three dots, and then with nothing until the call ends.
const Wait = "wait"

// Service holds agents in memory. Its zero value holds none.
type Service struct {
	Handles []string

	// Messages gets the message of each call that has begun, Ended the end of each that waited; both may be nil.
	Messages chan string
	Ended    chan error
	// Switched gets the switches of each conversation that was completed; may be nil.
	Switched chan psyche.Switches

	mu       sync.Mutex
	memories map[string][]psyche.Memory
	feelings map[string]psyche.Emotion
	sessions map[string]string // owners by session id
	calls    []string
}

var _ mcpserver.Service = (*Service)(nil)

// Calls are the names of the methods that were called, in order.
func (s *Service) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Sessions counts those that hold an agent awake.
func (s *Service) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

func (s *Service) ask(method string, c psyche.Caller, agent string, need access.Role) error {
	s.mu.Lock()
	s.calls = append(s.calls, method)
	s.mu.Unlock()
	if !slices.Contains(s.Handles, agent) || !c.Key.Reaches(agent) {
		return psyche.Refuse(http.StatusNotFound, "agent_not_found", "",
			"there is no agent %q", agent).From(errors.New(Secret))
	}
	if !c.Key.Role.Includes(need) {
		return psyche.Refuse(http.StatusForbidden, "role_missing", "",
			"%s", "that needs a key of role "+string(need)).From(errors.New(Secret))
	}
	return nil
}

// Agents lists those that the caller reaches.
func (s *Service) Agents(_ context.Context, c psyche.Caller) (reached []dream.Agent, _ error) {
	for _, h := range s.Handles {
		if c.Key.Reaches(h) {
			reached = append(reached, dream.Agent{ID: "agent_" + h, Handle: h})
		}
	}
	return reached, nil
}

// Say repeats the message word by word.
func (s *Service) Say(ctx context.Context, t psyche.Turn, message string,
	token func(string),
) (psyche.Completion, psyche.TurnReport, error) {
	c, agent, conversation := t.Caller, t.Agent, t.Conversation
	if err := s.ask("Say", c, agent, access.Client); err != nil {
		return psyche.Completion{}, psyche.TurnReport{}, err
	}
	if conversation == "" {
		conversation = "of " + message
	}
	if s.Messages != nil {
		s.Messages <- message
	}
	if message == Wait {
		if token != nil {
			token("...")
		}
		<-ctx.Done()
		if s.Ended != nil {
			s.Ended <- ctx.Err()
		}
		return psyche.Completion{}, psyche.TurnReport{}, fmt.Errorf("ask the provider: %w", ctx.Err())
	}
	reply := "You said: " + message
	for _, word := range strings.SplitAfter(reply, " ") {
		if token != nil {
			token(word)
		}
	}
	return psyche.Completion{Text: reply, Finish: "stop"}, psyche.TurnReport{
		Agent:        agent,
		Conversation: conversation,
		Epoch:        1,
		Model:        "echo",
		Skipped:      "nothing",
	}, nil
}

// Complete repeats the body that it was asked with, and calls every tool that the body has.
func (s *Service) Complete(_ context.Context, t psyche.Turn, token func(string),
) (psyche.Completion, psyche.TurnReport, error) {
	if err := s.ask("Complete", t.Caller, t.Agent, access.Client); err != nil {
		return psyche.Completion{}, psyche.TurnReport{}, err
	}
	var body struct {
		Tools []struct {
			Function struct{ Name string }
		}
	}
	if err := json.Unmarshal(t.Body.Bytes(), &body); err != nil {
		return psyche.Completion{}, psyche.TurnReport{}, err
	}
	answer := psyche.Completion{Text: string(t.Body.Bytes()), Finish: "stop"}
	for i, tool := range body.Tools {
		answer.Finish = "tool_calls"
		answer.Calls = append(answer.Calls,
			psyche.ToolCall{ID: fmt.Sprintf("call_%d", i), Name: tool.Function.Name, Arguments: "{}"})
	}
	if token != nil {
		token(answer.Text)
	}
	if s.Switched != nil {
		s.Switched <- t.Switches
	}
	return answer, psyche.TurnReport{Agent: t.Agent, Conversation: t.Conversation, Model: "echo"}, nil
}

// Recall returns the memories that contain the query.
func (s *Service) Recall(_ context.Context, c psyche.Caller, agent string, r psyche.RecallRequest) ([]psyche.Memory, error) {
	if err := s.ask("Recall", c, agent, access.Client); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []psyche.Memory
	for _, m := range s.memories[agent+c.Owner()] {
		if len(found) < r.Limit && strings.Contains(m.Content, r.Query) {
			found = append(found, m)
		}
	}
	if r.Dreamt {
		found = append(found, psyche.Memory{
			ID:      "dream/iris/0001/onset/1.1",
			Kind:    dream.KindFragment,
			At:      time.Unix(0, 0),
			Content: "A dream of " + r.Query,
			Taint:   dream.FromDream,
			Score:   .5,
			Dreamt:  true,
			Dream:   "dream/iris/0001",
			Label:   psyche.DreamtLabel,
		})
	}
	return found, nil
}

// Forget erases memories of the caller's by id; every other selection finds none.
func (s *Service) Forget(_ context.Context, c psyche.Caller, agent string, f psyche.ForgetRequest) (psyche.Erasure, error) {
	if err := s.ask("Forget", c, agent, access.Owner); err != nil {
		return psyche.Erasure{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	whose := agent + c.Owner()
	done := psyche.Erasure{DryRun: f.DryRun}
	var kept []psyche.Memory
	for _, m := range s.memories[whose] {
		if !slices.Contains(f.IDs, m.ID) {
			kept = append(kept, m)
			continue
		}
		done.Erase = append(done.Erase, psyche.ErasedMemory{ID: m.ID, Kind: m.Kind, Why: "named"})
	}
	if !f.DryRun {
		s.memories[whose] = kept
		done.Forgotten = len(done.Erase)
	}
	return done, nil
}

// Remember stores a memory under the id of its content.
func (s *Service) Remember(_ context.Context, c psyche.Caller, agent, content string,
	importance float64,
) (string, error) {
	if err := s.ask("Remember", c, agent, access.Client); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	whose := agent + c.Owner()
	for _, m := range s.memories[whose] {
		if m.Content == content {
			return m.ID, nil
		}
	}
	if s.memories == nil {
		s.memories = map[string][]psyche.Memory{}
	}
	id := fmt.Sprintf("episode/%d", len(s.memories[whose])+1)
	s.memories[whose] = append(s.memories[whose], psyche.Memory{
		ID:      id,
		Kind:    dream.KindEpisode,
		At:      time.Unix(0, 0),
		Content: content,
		Taint:   dream.FromTool,
		Score:   importance,
	})
	return id, nil
}

// Emotion is the last emotion.
func (s *Service) Emotion(_ context.Context, c psyche.Caller, agent string) (psyche.Emotion, error) {
	if err := s.ask("Emotion", c, agent, access.Client); err != nil {
		return psyche.Emotion{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.feelings[agent]; ok {
		return e, nil
	}
	return psyche.Emotion{Word: "calm"}, nil
}

// Feel makes every event pleasant.
func (s *Service) Feel(_ context.Context, c psyche.Caller, agent, event string,
	intensity float64,
) (psyche.Emotion, error) {
	if err := s.ask("Feel", c, agent, access.Client); err != nil {
		return psyche.Emotion{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.feelings == nil {
		s.feelings = map[string]psyche.Emotion{}
	}
	s.feelings[agent] = psyche.Emotion{
		PAD:       mood.PAD{Pleasure: intensity},
		Valence:   intensity,
		Intensity: intensity,
		Word:      "glad",
		Since:     time.Unix(0, 0),
		Cause:     event,
	}
	return s.feelings[agent], nil
}

// Status is that of an agent that sleeps while no session is open.
func (s *Service) Status(_ context.Context, c psyche.Caller, agent string) (psyche.Status, error) {
	if err := s.ask("Status", c, agent, access.Client); err != nil {
		return psyche.Status{}, err
	}
	status := psyche.Status{Agent: agent, State: "sleeping", Leases: s.Sessions(), Emotion: psyche.Emotion{Word: "calm"}}
	if status.Leases > 0 {
		status.State = "awake"
	}
	return status, nil
}

// Journal holds one entry with the secret.
func (s *Service) Journal(_ context.Context, c psyche.Caller, agent string, _ int) ([]*dream.Journal, error) {
	if err := s.ask("Journal", c, agent, access.Operator); err != nil {
		return nil, err
	}
	return []*dream.Journal{{
		Head: dream.Head{
			ID:    "journal/1",
			Agent: agent,
			Kind:  dream.KindJournal,
			At:    time.Unix(0, 0),
			Taint: dream.FromDream,
			Dream: "dream/" + agent + "/0001",
		},
		Content: "I walked through " + Secret + ".", Significance: .7,
	}}, nil
}

// Playbook holds the secret, too.
func (s *Service) Playbook(_ context.Context, c psyche.Caller, agent string) (string, error) {
	if err := s.ask("Playbook", c, agent, access.Operator); err != nil {
		return "", err
	}
	return "# Playbook\n\n- Remember " + Secret + ".\n", nil
}

// Open begins or renews a session.
func (s *Service) Open(_ context.Context, c psyche.Caller, agent, id string, ttl time.Duration) (psyche.Session, error) {
	if err := s.ask("Open", c, agent, access.Client); err != nil {
		return psyche.Session{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions == nil {
		s.sessions = map[string]string{}
	}
	woke := len(s.sessions) == 0
	if id == "" {
		id = fmt.Sprintf("session_%d", len(s.sessions)+1)
	}
	s.sessions[id] = c.Owner()
	return psyche.Session{ID: id, Agent: agent, Until: time.Unix(0, 0).Add(ttl), Woke: woke}, nil
}

// Leave ends a session of the caller's.
func (s *Service) Leave(_ context.Context, c psyche.Caller, agent, id string) error {
	if err := s.ask("Leave", c, agent, access.Client); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] != c.Owner() {
		return psyche.Refuse(http.StatusNotFound, "session_not_found", "", "there is no such session of yours")
	}
	delete(s.sessions, id)
	return nil
}
