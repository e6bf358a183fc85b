package forgetting_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/forgetting"
)

func TestKnowledgeOfPeopleAndAgentsIsProtected(t *testing.T) {
	t.Parallel()
	for taint, want := range map[dream.Taint]bool{
		dream.FromHuman: true, dream.FromAgent: true,
		dream.FromTool: false, dream.FromWeb: false, dream.FromDream: false, "": false,
	} {
		require.Equal(t, want, forgetting.Protected(taint), "%q", taint)
	}
}

func TestAGistReplacesItsSourceUnlessItRepeatsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gist, source string
		want         bool
	}{
		{"Quiet pools drain slowly.", "Quiet pools drain slowly.", false},
		{"quiet pools: drain, slowly", "Quiet pools drain slowly!", false},
		{"潮水退去以后，市场很安静。", "潮水退去以后，市场很安静。", false},
		{"Quiet pools drain slowly.", "Quiet pools drain slowly and then all at once, by 40 % or more.", true},
		{"Crowds arrive late and pay for it.", "Fees rose to 50 gwei as the crowd came in at noon.", true},
		{"", "Quiet pools drain slowly.", false},
		{"...", "Quiet pools drain slowly.", false},
		{"the the the the", "the sea", true},
	} {
		require.Equal(t, c.want, forgetting.Replaces(c.gist, c.source), "%q for %q", c.gist, c.source)
	}
}
