// Package hermes tries the terminal client as people use it: the real program against the real server, in a real
// terminal, with a provider that follows a list of tasks.
package hermes

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Step is what the model does next in a task: it says something, or calls tools, or both.
type Step struct {
	Say   string
	Calls []Call
	// Pause is before each piece of what it says, so that somebody can interrupt it.
	Pause time.Duration
}

// Call is one call of a tool.
type Call struct {
	Tool      string
	Arguments map[string]any
}

// Worker is a model that works through tasks: the newest words of a person name one, and each request gets its next
// step. It checks that a conversation is whole, as a provider does, and refuses one in which a call has no result.
type Worker struct {
	URL string // with /v1

	mu       sync.Mutex
	tasks    map[string][]Step
	requests []map[string]any
	server   *http.Server
}

// Work starts a worker with tasks by the words that name them.
func Work(tasks map[string][]Step) (*Worker, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Worker{URL: "http://" + l.Addr().String() + "/v1", tasks: tasks}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", w.chat)
	mux.HandleFunc("GET /v1/models", func(res http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(res, `{"object":"list","data":[{"id":"worker","object":"model"}]}`)
	})
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = w.server.Serve(l) }()
	return w, nil
}

// Close ends it.
func (w *Worker) Close() { _ = w.server.Close() }

// Requests are the bodies of all requests.
func (w *Worker) Requests() []map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]map[string]any(nil), w.requests...)
}

type wireMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

func (w *Worker) chat(res http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	var request struct {
		Stream   bool          `json:"stream"`
		Messages []wireMessage `json:"messages"`
		Tools    []any         `json:"tools"`
	}
	var whole map[string]any
	if json.Unmarshal(body, &request) != nil || json.Unmarshal(body, &whole) != nil {
		http.Error(res, `{"error":{"message":"no JSON"}}`, http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.requests = append(w.requests, whole)
	w.mu.Unlock()
	if fault := open(request.Messages); fault != "" {
		http.Error(res, fmt.Sprintf(`{"error":{"message":%q}}`, fault), http.StatusBadRequest)
		return
	}
	step := w.next(request.Messages)
	if !request.Stream {
		writeWhole(res, step)
		return
	}
	writeStream(res, req, step)
}

// open names a call without a result, or a result without a call.
func open(messages []wireMessage) string {
	calls := map[string]bool{}
	for _, m := range messages {
		if m.Role == "tool" {
			if !calls[m.ToolCallID] {
				return "a result without a call: " + m.ToolCallID
			}
			delete(calls, m.ToolCallID)
			continue
		}
		if m.Role != "system" && len(calls) > 0 {
			return fmt.Sprintf("calls without a result: %v", calls)
		}
		for _, c := range m.ToolCalls {
			calls[c.ID] = true
		}
	}
	return ""
}

// next is the step that follows as many answers as there are since the task was named.
func (w *Worker) next(messages []wireMessage) Step {
	answers := 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := messages[i]
		if m.Role == "assistant" {
			answers++
		}
		if m.Role != "user" {
			continue
		}
		text := string(m.Content)
		for name, steps := range w.tasks {
			if strings.Contains(text, name) {
				if answers < len(steps) {
					return steps[answers]
				}
				return Step{Say: "There is nothing more to do."}
			}
		}
		return Step{Say: "I know no such task."}
	}
	return Step{Say: "Nobody said anything."}
}

func toolCalls(step Step) []any {
	var all []any
	for i, c := range step.Calls {
		arguments, _ := json.Marshal(c.Arguments)
		all = append(all, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d_%d", time.Now().UnixNano(), i), "type": "function",
			"function": map[string]any{"name": c.Tool, "arguments": string(arguments)},
		})
	}
	return all
}

func finish(step Step) string {
	if len(step.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func writeWhole(res http.ResponseWriter, step Step) {
	m := map[string]any{"role": "assistant", "content": step.Say}
	if calls := toolCalls(step); calls != nil {
		m["tool_calls"] = calls
	}
	res.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(res).Encode(map[string]any{
		"id": "w", "object": "chat.completion", "created": 1, "model": "worker",
		"choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": finish(step)}},
		"usage":   map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
	})
}

func writeStream(res http.ResponseWriter, req *http.Request, step Step) {
	res.Header().Set("Content-Type", "text/event-stream")
	send := func(v any) {
		text, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(res, "data: %s\n\n", text)
		_ = http.NewResponseController(res).Flush()
	}
	chunk := func(delta map[string]any, finish any) map[string]any {
		return map[string]any{
			"id": "w", "object": "chat.completion.chunk", "created": 1, "model": "worker",
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	send(chunk(map[string]any{"role": "assistant", "content": ""}, nil))
	for _, word := range strings.SplitAfter(step.Say, " ") {
		if word == "" {
			continue
		}
		select {
		case <-time.After(step.Pause):
		case <-req.Context().Done():
			return
		}
		send(chunk(map[string]any{"content": word}, nil))
	}
	if calls := toolCalls(step); calls != nil {
		send(chunk(map[string]any{"tool_calls": calls}, nil))
	}
	send(chunk(map[string]any{}, finish(step)))
	usage := chunk(nil, nil)
	usage["choices"] = []any{}
	usage["usage"] = map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
	send(usage)
	_, _ = io.WriteString(res, "data: [DONE]\n\n")
}
