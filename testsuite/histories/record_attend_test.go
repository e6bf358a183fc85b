package histories_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/internal/access"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/testdeploy"
	"github.com/seed-56a03226/oneiros/workflows"
)

// attended are the histories of attendants.
var attended = []string{"attend-timer-and-signal"}

// TestRecordAnAttendant records one that is signalled, waits for the end of a sleep, answers what waited and ends.
func TestRecordAnAttendant(t *testing.T) {
	t.Parallel()
	s := newScene(t, provider.Options{}, func(c *testdeploy.Config) { c.Provider = "" }).startWorker()
	owner := psyche.Caller{Key: access.Key{Role: access.Owner, Principal: access.Local}}
	agent, other := s.addAgent("recorded-attended"), s.addAgent("recorded-caller")
	hall := s.deployment.OpenRooms("serve")
	_, err := hall.Create(s.ctx, owner, rooms.CreateRequest{ID: "recorded", Join: []string{agent.Handle}})
	require.NoError(t, err)
	_, err = hall.Join(s.ctx, owner, rooms.JoinRequest{Room: "recorded", Agent: other.Handle})
	require.NoError(t, err)
	_, err = hall.SetDormancy(s.ctx, owner, agent.Handle, rooms.DormancyRequest{Level: dormancy.Sleep, For: "3s"})
	require.NoError(t, err)
	_, err = hall.Post(s.ctx, owner, rooms.PostRequest{Room: "recorded", As: other.Handle, Body: "@" + agent.Handle})
	require.NoError(t, err)
	id := workflows.AttendID(agent.Handle)
	require.NoError(t, s.deployment.Client.GetWorkflow(s.ctx, id, "").Get(s.ctx, nil))
	s.save(id, "attend-timer-and-signal")
}

func TestAttendantsHaveARecordedHistory(t *testing.T) {
	t.Parallel()
	for _, name := range attended {
		require.Contains(t, files(t), "testdata/"+name+".json.gz")
	}
}
