// Command cmd runs the scripted provider as a process of its own, for tests that kill processes and for experiments.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seed-56a03226/oneiros/testsuite/provider"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	seed := flag.Uint64("seed", 1, "seed of answers and faults")
	each := flag.Duration("each", 20*time.Millisecond, "delay before every token")
	first := flag.Duration("first", 100*time.Millisecond, "delay before the first token")
	share := flag.Float64("faulty", 0, "share of calls that go wrong, in [0, 1]")
	names := flag.String("faults", "", "comma-separated faults to choose from; empty for all")
	flag.Parse()
	faults := provider.Faults
	if *names != "" {
		faults = nil
		for name := range strings.SplitSeq(*names, ",") {
			faults = append(faults, provider.Fault(name))
		}
	}
	s, err := provider.Start(provider.Options{
		Addr:  *addr,
		Seed:  *seed,
		First: *first,
		Each:  *each,
		Plan:  provider.Seeded(*seed, *share, faults...),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL) // the ready line
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	s.Close()
}
