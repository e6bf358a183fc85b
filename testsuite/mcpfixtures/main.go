// Command mcpfixtures serves the MCP endpoint with the tools, prompts and documents that its conformance suite asks
// for, built as the product builds it and behind the same front. It has no model and no store: it is for tests.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-56a03226/oneiros/internal/access/accesstest"
	"github.com/seed-56a03226/oneiros/internal/psyche/front"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver"
	"github.com/seed-56a03226/oneiros/internal/psyche/mcpserver/mcpservertest"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "a loopback address")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, listen string) error {
	being := &mcpservertest.Service{Handles: []string{"iris"}}
	face := mcpserver.New(being, &mcpservertest.Dreams{Being: being},
		mcpserver.Options{Version: "fixtures", Rooms: &mcpservertest.Rooms{}, Adjust: adjust, Extend: extend})
	defer face.Close()
	server, err := front.New(front.Options{Routes: face.Routes(), Keys: accesstest.With(), Keyless: true})
	if err != nil {
		return err
	}
	on, err := server.Listen(ctx, listen)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", on)
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		return err
	}
	return <-served
}

// adjust lets the library announce what the fixtures add.
func adjust(o *mcp.ServerOptions) {
	o.Capabilities = nil
	o.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
	}
	o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
	o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
}

func extend(s *mcp.Server) {
	answers(s)
	notices(s)
	questions(s)
	rounds(s)
	documents(s)
	prompts(s)
}
