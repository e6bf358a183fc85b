// Command bare is a worker process that does nothing but hold idle workflows: what agents at rest are compared with.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const queue = "bare"

func main() {
	address := flag.String("address", "", "of the Temporal server")
	count := flag.Int("workflows", 0, "how many idle workflows to start")
	flag.Parse()
	if err := run(*address, *count); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts the workflows, prints one line when all have begun, and holds them until its standard input ends. Its
// options are those of a worker of oneiros up on loopback.
func run(address string, count int) error {
	c, err := client.Dial(client.Options{
		HostPort: address, Logger: silent{},
		ConnectionOptions: client.ConnectionOptions{GrpcCompression: &client.GrpcCompressionNone{}},
	})
	if err != nil {
		return err
	}
	defer c.Close()
	worker.SetStickyWorkflowCacheSize(500)
	w := worker.New(c, queue, worker.Options{
		MaxConcurrentWorkflowTaskPollers: 4,
		MaxConcurrentActivityTaskPollers: 4,
		StickyScheduleToStartTimeout:     500 * time.Millisecond,
		DisableRegistrationAliasing:      true,
	})
	w.RegisterWorkflowWithOptions(idle, workflow.RegisterOptions{Name: "Idle"})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	if err := start(c, count); err != nil {
		return err
	}
	fmt.Println("begun")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return nil
}

// start starts the workflows, as many at the same time as maintenance starts agents.
func start(c client.Client, count int) error {
	failed := make([]error, count)
	slots := make(chan struct{}, 8)
	var starts sync.WaitGroup
	for i := range count {
		slots <- struct{}{}
		starts.Go(func() {
			defer func() { <-slots }()
			_, failed[i] = c.ExecuteWorkflow(context.Background(),
				client.StartWorkflowOptions{ID: fmt.Sprintf("idle/%06d", i), TaskQueue: queue}, "Idle")
		})
	}
	starts.Wait()
	return errors.Join(failed...)
}

// idle waits for a signal, or for an hour, which is longer than it is measured.
func idle(ctx workflow.Context) error {
	timer := workflow.NewTimer(ctx, time.Hour)
	signal := workflow.GetSignalChannel(ctx, "wake")
	return workflow.Await(ctx, func() bool { return timer.IsReady() || signal.Len() > 0 })
}

// silent drops the client's log.
type silent struct{}

var _ log.Logger = silent{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
