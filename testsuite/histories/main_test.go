package histories_test

import (
	"os"
	"testing"

	"github.com/seed-56a03226/oneiros/testsuite/stage"
)

func TestMain(m *testing.M) {
	stage.Perform()
	os.Exit(m.Run())
}
