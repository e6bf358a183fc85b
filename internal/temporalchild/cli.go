package temporalchild

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// tuning configures the development server of the temporal command like temporald: its history queues are polled often
// enough for steps of milliseconds, each queue has one partition, and cancellations are pushed to workers.
var tuning = []string{
	"frontend.WorkerCommandsEnabled=true", "system.enableCancelActivityWorkerCommand=true",
	"history.transferProcessorMaxPollRPS=2000", "history.timerProcessorMaxPollRPS=2000",
	"history.outboundProcessorMaxPollRPS=2000",
	"history.longPollExpirationInterval=\"1s\"",
	"matching.numTaskqueueReadPartitions=1", "matching.numTaskqueueWritePartitions=1",
	"frontend.enableCancelWorkerPollsOnShutdown=true",
}

// searchAttributes of our workflows, which temporald registers by itself.
var searchAttributes = []string{
	"OneirosAgent=Keyword", "OneirosPhase=Keyword", "OneirosDepth=Keyword", "OneirosOutcome=Keyword",
	"OneirosSpendMicros=Int", "OneirosState=Keyword", "OneirosInterruptedOn=KeywordList",
}

// guard runs a program until it ends, a signal arrives, or the process $1 has ended.
const guard = `parent=$1; shift
"$@" &
child=$!
trap 'kill "$child" 2>/dev/null' TERM INT
while kill -0 "$parent" 2>/dev/null && kill -0 "$child" 2>/dev/null; do sleep 0.5; done
kill "$child" 2>/dev/null
wait "$child"`

// startCLI runs `temporal server start-dev` behind the guard, since that command would outlive this process.
func (c *Child) startCLI(ctx context.Context, o Options) error {
	port, uiPort, err := twoPorts(o.Port, o.UIPort)
	if err != nil {
		return err
	}
	args := []string{
		"-c", guard, "guard", strconv.Itoa(os.Getpid()), o.Binary.Path, "server", "start-dev", "--ip", "127.0.0.1",
		"--port", strconv.Itoa(port), "--namespace", o.Namespace, "--log-level", "error",
	}
	if uiPort < 0 {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(uiPort))
		c.UI = "http://127.0.0.1:" + strconv.Itoa(uiPort)
	}
	if o.DB != "" {
		args = append(args, "--db-filename", o.DB, "--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma",
			"synchronous=NORMAL")
	}
	for _, value := range tuning {
		args = append(args, "--dynamic-config-value", value)
	}
	for _, attribute := range searchAttributes {
		args = append(args, "--search-attribute", attribute)
	}
	c.Address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	c.cmd = exec.Command("/bin/sh", args...)
	c.cmd.Stdout = c.last
	if err := c.launch(o.Binary.Path); err != nil {
		return err
	}
	go c.reap()
	return c.awaitPort(ctx, o.Binary.Path)
}

// awaitPort waits until the server listens on its port.
func (c *Child) awaitPort(ctx context.Context, name string) error {
	dialer := net.Dialer{Timeout: time.Second}
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		if conn, err := dialer.DialContext(ctx, "tcp", c.Address); err == nil {
			tick.Stop()
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-c.done:
			tick.Stop()
			return fmt.Errorf("%s server start-dev ended before it was ready%s", name, c.last)
		case <-ctx.Done():
			tick.Stop()
			return errors.Join(fmt.Errorf("%s server start-dev was not ready within %s", name, readyWithin), c.Stop())
		}
	}
}

// twoPorts finds free ports for a server that cannot choose its own.
func twoPorts(port, uiPort int) (int, int, error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close()
		}
	}()
	free := func(wanted int) (int, error) {
		if wanted != 0 {
			return wanted, nil
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		held = append(held, l)
		return l.Addr().(*net.TCPAddr).Port, nil
	}
	p, err := free(port)
	if err != nil {
		return 0, 0, err
	}
	u, err := free(uiPort)
	return p, u, err
}
