package rooms_test

import (
	"os"
	"testing"

	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
)

func TestMain(m *testing.M) {
	testdeploy.RunIfWorkerProcess()
	os.Exit(m.Run())
}
