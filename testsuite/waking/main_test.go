package waking_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

// patience bounds one test; nothing is measured by it.
const patience = 2 * time.Minute

// waiting bounds how long parallel subtests may wait for their turn.
var waiting = func() time.Duration {
	if full {
		return 2 * time.Hour
	}
	return 10 * time.Minute
}()

// full says whether the proofs run at their full size.
var full = os.Getenv("PROVE") == "full"

// seed of the randomised proofs; ONEIROS_SEED sets another.
var seed = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ONEIROS_SEED"), 10, 64); err == nil {
		return n
	}
	return 42
}()

func TestMain(m *testing.M) {
	testdeploy.RunIfWorkerProcess()
	flag.Parse()
	// no number was given on the command line
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "6") // these tests wait more than they compute
	}
	os.Exit(m.Run())
}
