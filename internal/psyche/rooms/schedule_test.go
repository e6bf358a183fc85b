package rooms_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dormancy"
	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/prompt"
	"github.com/seed-56a03226/oneiros/internal/psyche"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
)

func TestACheckInCallsAtItsTimeAndMaySaySomethingInTheRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	at := r.now().Add(time.Hour)
	set, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{At: at, Room: "hall", Message: "Look around."})
	require.NoError(t, err)
	require.Equal(t, at, set.Next)
	require.Contains(t, r.looked, "echo")
	next, err := r.Attend(t.Context(), "id-echo")
	require.NoError(t, err)
	require.WithinDuration(t, at, next, time.Second)
	require.Empty(t, r.minds.agentsCalled())
	r.pass(time.Hour + time.Second)
	next, err = r.Attend(t.Context(), "id-echo")
	require.NoError(t, err)
	require.Zero(t, next)
	require.Equal(t, []string{"echo: I hear you."}, r.transcript())
	require.Equal(t, prompt.AtSetTimes, r.minds.calls[0].Wake.Trigger)
	require.Equal(t, "hall", r.minds.calls[0].Wake.Room)
	require.Empty(t, r.checkIns("echo"), "a single call ends it")
}

func (r *rig) checkIns(handle string) []room.CheckIn {
	r.Helper()
	all, err := r.CheckIns(r.ctx, ada, handle)
	require.NoError(r, err)
	return all
}

// A check-in by local time calls at that time on both sides of a change of clocks, and once for each day that no
// process ran on.
func TestACheckInRepeatsItselfByTheLocalClock(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{Name: "morning", Every: "09:00", Room: "hall"})
	require.NoError(t, err)
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	called := func() int { return len(r.minds.callsOf("echo")) }
	days := 0
	for day := range 40 { // from 1 March to 9 April; clocks go forward on 29 March
		next := r.attend("echo")
		require.Equal(t, "09:00", next.In(berlin).Format("15:04"), "day %d", day)
		require.Equal(t, days, called())
		r.pass(next.Sub(r.now()))
		r.attend("echo")
		days++
		require.Equal(t, days, called())
	}
	r.pass(5 * 24 * time.Hour)
	next := r.attend("echo")
	require.Equal(t, days+1, called(), "what was missed is one call")
	require.True(t, next.After(r.now()))
}

func TestACheckInRepeatsItselfAfterADurationUntilItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	began := r.now()
	_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{
		Every: "6h", At: began.Add(time.Hour), Until: began.Add(20 * time.Hour),
	})
	require.NoError(t, err)
	var at []time.Duration
	for {
		next := r.attend("echo")
		if next.IsZero() {
			break
		}
		at = append(at, next.Sub(began))
		r.pass(next.Sub(r.now()))
	}
	require.Equal(t, []time.Duration{time.Hour, 7 * time.Hour, 13 * time.Hour, 19 * time.Hour}, at)
	require.Len(t, r.minds.callsOf("echo"), 4)
	require.Empty(t, r.checkIns("echo"))
}

// Calls of a check-in that repeats itself do not pile up: those of a sleeper are skipped, and while one waits for the
// end of a dream the next ones are. Each is recorded with its reason.
func TestCallsOfACheckInDoNotPileUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{Name: "hourly", Every: "1h", Room: "hall"})
	require.NoError(t, err)
	_, err = r.SetDormancy(t.Context(), ada, "echo", rooms.DormancyRequest{Level: dormancy.Sleep, For: "150m"})
	require.NoError(t, err)
	for range 2 {
		r.pass(time.Hour)
		r.attend("echo")
	}
	r.dreams("echo")
	for range 3 {
		r.pass(time.Hour)
		r.attend("echo")
	}
	require.Empty(t, r.minds.callsOf("echo"))
	r.dreams()
	r.pass(time.Minute)
	r.attend("echo")
	require.Len(t, r.minds.callsOf("echo"), 1)
	records, err := r.Calls(t.Context(), ada, "echo", 0, 0)
	require.NoError(t, err)
	var ends []string
	for _, w := range records {
		ends = append(ends, string(w.Outcome)+" "+w.Reason)
	}
	require.Equal(t, []string{"skipped level", "skipped level", "answered ", "skipped waits", "skipped waits"}, ends)
}

// A process that is killed between the call of a check-in and the time of the next one makes no second call.
func TestACheckInOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for step := 1; step <= 2; step++ {
		for _, before := range []bool{true, false} {
			r := newRig(t, "echo")
			r.hall("echo")
			_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{Every: "2h", Room: "hall"})
			require.NoError(t, err)
			r.pass(2 * time.Hour)
			killed := r.over(&mortal{Store: r.store.Rooms(), dies: step, before: before}, "killed")
			_, err = killed.Attend(t.Context(), "id-echo")
			require.Error(t, err)
			next := r.attend("echo")
			require.Len(t, r.minds.callsOf("echo"), 1, "step %d, before %t", step, before)
			require.Equal(t, 2*time.Hour, next.Sub(r.now()))
		}
	}
}

func TestACheckInIsCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall("echo")
	for range 2 { // a repeated request sets nothing more
		_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{Name: "noon", Every: "mon-fri 12:00"})
		require.NoError(t, err)
	}
	require.Len(t, r.checkIns("echo"), 1)
	_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{Name: "noon", Every: "13:00"})
	require.ErrorContains(t, err, `echo has another check-in named "noon"`)
	_, err = r.CancelCheckIn(t.Context(), ada, "echo", "noon")
	require.NoError(t, err)
	require.Empty(t, r.checkIns("echo"))
	require.Zero(t, r.attend("echo"))
	_, err = r.CancelCheckIn(t.Context(), ada, "echo", "noon")
	require.ErrorContains(t, err, `echo has no check-in "noon"`)
}

func TestACheckInIsRefusedWithTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall()
	soon := r.now().Add(time.Hour)
	for want, request := range map[string]rooms.CheckInRequest{
		"at is missing":          {},
		"which is past":          {At: r.now().Add(-time.Minute)},
		"at most a year ahead":   {At: r.now().Add(400 * 24 * time.Hour)},
		"echo":                   {At: soon, Room: "hall"},
		"a duration is 1h":       {Every: "59m"},
		"is 1h to 744h":          {Every: "9000h"},
		"neither a duration":     {Every: "often"},
		"once an hour":           {Every: "*/20 * * * *"},
		"zone is \"Berlin\"":     {Every: "09:00", Zone: "Berlin"},
		"no local time is given": {Every: "6h", Zone: "Europe/Berlin"},
		"until is given without": {At: soon, Until: soon.Add(time.Hour)},
		"before the first call":  {Every: "6h", Until: soon},
		"name is \"No Name\"":    {At: soon, Name: "No Name"},
	} {
		_, err := r.CheckIn(t.Context(), ada, "echo", request)
		require.ErrorContains(t, err, want)
	}
	_, err := r.CheckIn(t.Context(), client, "echo", rooms.CheckInRequest{At: soon})
	var fault *psyche.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "role_required", fault.Code)
	for n := range room.MaxCheckIns {
		_, err := r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{At: soon, Name: fmt.Sprint("n", n)})
		require.NoError(t, err)
	}
	_, err = r.CheckIn(t.Context(), ada, "echo", rooms.CheckInRequest{At: soon})
	require.ErrorContains(t, err, "has 20 check-ins, which is the most")
	require.NoError(t, r.Sweep(t.Context(), 2*time.Hour))
	require.True(t, slices.Contains(r.looked, "echo"))
}

func TestAPersonIsNotShownUnderAnAgentsName(t *testing.T) {
	t.Parallel()
	r := newRig(t, "echo")
	r.hall()
	_, err := r.Join(t.Context(), ada, rooms.JoinRequest{Room: "hall", Person: "mallory", Name: "echo"})
	require.ErrorContains(t, err, `name is "echo", which is an agent's`)
}
