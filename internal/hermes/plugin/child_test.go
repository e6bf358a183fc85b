package plugin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// as is the variable that makes the test's own program a server of a kind.
const as = "HERMES_TEST_SERVER"

func TestMain(m *testing.M) {
	kind, child := os.LookupEnv(as)
	if !child {
		os.Exit(m.Run())
	}
	switch kind {
	case "clock":
		clock(false)
	case "stubborn":
		clock(true)
	case "silent":
		stubborn()
		fmt.Fprintln(os.Stderr, "pid", os.Getpid())
		forever()
	case "ends":
		fmt.Fprintln(os.Stderr, "no \x1b[31mlicence\x1b[0m was found")
		os.Exit(3)
	case "bad":
		raw(badTools)
	case "noise":
		fmt.Println("Welcome to the noisy server!")
		forever()
	}
}

// forever waits to be killed. An empty select would do, but a program without cgo would end by it: the runtime calls it a
// deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// stubborn lets the program ignore that its input has ended, and the signal that asks it to end.
func stubborn() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT) }

type word struct {
	Text string `json:"text"`
}

// clock is a server with tools that behave and misbehave.
func clock(ignoring bool) {
	s := mcp.NewServer(&mcp.Implementation{Name: "clock", Version: "1"}, nil)
	add := func(name string, do func(ctx context.Context, in word) *mcp.CallToolResult) {
		mcp.AddTool(s, &mcp.Tool{
			Name:        name,
			Description: "does " + name,
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, func(ctx context.Context, _ *mcp.CallToolRequest, in word) (*mcp.CallToolResult, any, error) {
			return do(ctx, in), nil, nil
		})
	}
	text := func(all ...string) *mcp.CallToolResult {
		r := &mcp.CallToolResult{}
		for _, each := range all {
			r.Content = append(r.Content, &mcp.TextContent{Text: each})
		}
		return r
	}
	add("echo", func(_ context.Context, in word) *mcp.CallToolResult { return text(in.Text, "and again: "+in.Text) })
	add("environment", func(context.Context, word) *mcp.CallToolResult {
		return text(strings.Join(os.Environ(),
			"\n"))
	})
	add("pid", func(context.Context, word) *mcp.CallToolResult { return text(fmt.Sprint(os.Getpid())) })
	add("nothing", func(context.Context, word) *mcp.CallToolResult { return text() })
	add("fails", func(context.Context, word) *mcp.CallToolResult {
		r := text("the sundial needs sun")
		r.IsError = true
		return r
	})
	add("pictures", func(context.Context, word) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "Look:"},
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("123")},
			&mcp.ResourceLink{URI: "file:///a\x1b[2J", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "note:1", Text: "a note"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
				URI: "note:2", MIMEType: "x/y",
				Blob: []byte("1234"),
			}},
		}}
	})
	add("large", func(context.Context, word) *mcp.CallToolResult {
		return text("begin " + strings.Repeat("é", 1<<20) + " end")
	})
	add("endless", func(context.Context, word) *mcp.CallToolResult { return text(strings.Repeat("x", 20<<20)) })
	add("floods", func(context.Context, word) *mcp.CallToolResult {
		for range 20_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("tick ", 40))
		}
		fmt.Fprint(os.Stderr, strings.Repeat("without a line's end ", 100_000))
		return text("flooded")
	})
	add("waits", func(ctx context.Context, in word) *mcp.CallToolResult {
		fmt.Fprintln(os.Stderr, "waiting")
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "told to stop")
		return text("stopped")
	})
	add("starts another", func(context.Context, word) *mcp.CallToolResult {
		other := exec.Command("sleep", "1000")
		if err := other.Start(); err != nil {
			return text(err.Error())
		}
		return text(fmt.Sprint(other.Process.Pid))
	})
	add("dies", func(context.Context, word) *mcp.CallToolResult {
		os.Exit(7)
		return nil
	})
	if ignoring {
		stubborn()
	}
	_ = s.Run(context.Background(), &mcp.StdioTransport{})
	if ignoring {
		forever()
	}
}

// badTools are schemas that the library's own server would not offer.
const badTools = `[
	{"name":"good","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}},
	{"name":"none"},
	{"name":"text","inputSchema":"anything"},
	{"name":"list","inputSchema":{"type":"array","items":{}}},
	{"name":"numbers","inputSchema":{"type":"object","properties":7}},
	{"name":"word","inputSchema":{"type":"object","properties":{"a":{"type":"objekt"}}}},
	{"name":"deep","inputSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"tree"}}}}},
	{"name":"far","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.org/schema"}}}},
	{"name":"a.very/strange name","inputSchema":{"type":"object"}},
	{"name":"a_very/strange.name","inputSchema":{"type":"object"}},
	{"name":"long_%s","inputSchema":{"type":"object"}},
	{"name":"good","inputSchema":{"type":"object"}},
	{"name":"large","inputSchema":{"type":"object","description":"%s"}}
]`

// raw is a server without the library.
func raw(tools string) {
	tools = fmt.Sprintf(strings.ReplaceAll(tools, "\n", ""), strings.Repeat("x", 90), strings.Repeat("x", 50<<10))
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		result := `"error":{"code":-32601,"message":"there is no such method"}`
		switch r.Method {
		case "initialize":
			result = `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/list":
			result = `"result":{"tools":` + tools + `}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", r.ID, result)
	}
}
