package moving

import (
	"os"
	"testing"

	"github.com/seed-56a03226/oneiros/testsuite/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
