package chaos_test

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
const patience = 8 * time.Minute

// full says whether the proofs run at their full size.
var full = os.Getenv("PROVE") == "full"

// seed of the randomised proofs; ONEIROS_SEED sets another.
var seed = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ONEIROS_SEED"), 10, 64); err == nil {
		return n
	}
	return 42
}()

// faultyDreams is how many dreams the proof of the caps runs: ONEIROS_FAULTY_DREAMS, else 200 in full and 24 reduced.
var faultyDreams = func() int {
	if n, err := strconv.Atoi(os.Getenv("ONEIROS_FAULTY_DREAMS")); err == nil && n > 0 {
		return n
	}
	if full {
		return 200
	}
	return 24
}()

func TestMain(m *testing.M) {
	testdeploy.RunIfWorkerProcess()
	flag.Parse()
	// no number was given on the command line
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "6") // these tests wait for Temporal's timeouts more than they compute
	}
	os.Exit(m.Run())
}
