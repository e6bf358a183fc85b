package dream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

func TestALabelIsTheLeastTrustedOfThoseItWasMadeFrom(t *testing.T) {
	t.Parallel()
	human := dream.FromHuman
	agent := dream.FromAgent
	tool := dream.FromTool
	web := dream.FromWeb
	dreamt := dream.FromDream
	for _, c := range []struct {
		taints []dream.Taint
		want   dream.Taint
	}{
		{[]dream.Taint{human}, human},
		{[]dream.Taint{agent}, agent},
		{[]dream.Taint{human, human}, human},
		{[]dream.Taint{human, agent}, agent},
		{[]dream.Taint{agent, human}, agent},
		{[]dream.Taint{agent, tool}, tool},
		{[]dream.Taint{tool, agent, human}, tool},
		{[]dream.Taint{tool, web}, web},
		{[]dream.Taint{web, tool}, web},
		{[]dream.Taint{web, dreamt}, dreamt},
		{[]dream.Taint{human, agent, tool, web, dreamt}, dreamt},
		{[]dream.Taint{agent, "rumour"}, dreamt},
		{[]dream.Taint{agent, ""}, dreamt},
		{nil, dreamt},
	} {
		require.Equal(t, c.want, dream.LeastTrusted(c.taints...), "%v", c.taints)
	}
}
