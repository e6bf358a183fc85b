package sqlitestore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

func someNotice(i int) presence.WakeNotice {
	at := time.Date(2026, 3, 1, 6, 0, 0, i, time.UTC)
	return presence.WakeNotice{
		Agent:  fmt.Sprint("agent-", i),
		Epoch:  int64(i + 1),
		Cause:  presence.Alarm,
		At:     at,
		Raised: at.Add(1),
	}
}

func TestManyNoticesFitIntoFewDatagrams(t *testing.T) {
	t.Parallel()
	var notices, read []presence.WakeNotice
	for i := range 1000 {
		notices = append(notices, someNotice(i))
	}
	datagrams := encodeNotices(notices)
	require.Less(t, len(datagrams), 12)
	for _, d := range datagrams {
		require.LessOrEqual(t, len(d), maxDatagram)
		some, err := decodeNotices(d)
		require.NoError(t, err)
		read = append(read, some...)
	}
	require.Equal(t, notices, read)
	require.Empty(t, encodeNotices([]presence.WakeNotice{{Agent: strings.Repeat("a", maxName+1), Epoch: 1}}))
	require.Len(t, encodeNotices([]presence.WakeNotice{{Agent: strings.Repeat("\x01", maxName), Epoch: 1}}), 1)
}

func TestSocketPathsAreShortEnoughForEverySystem(t *testing.T) {
	t.Parallel()
	require.Regexp(t, socketName, newSocketName())
	require.NotEqual(t, newSocketName(), newSocketName())
	for n := range 200 {
		folder := socketDir("/" + strings.Repeat("x", n+1))
		require.LessOrEqual(t, len(folder)+1+maxSocketName, maxSocketPath)
	}
}

// FuzzDecodeNotices decodes arbitrary datagrams.
func FuzzDecodeNotices(f *testing.F) {
	f.Add(encodeNotices([]presence.WakeNotice{someNotice(1), someNotice(2)})[0])
	f.Add([]byte(`{"agent":"a","epoch":1}`))
	f.Add([]byte(`{"agent":"a","epoch":1,"Local":true}`))
	f.Add([]byte(`{"agent":"a","epoch":9223372036854775808}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		notices, err := decodeNotices(datagram)
		if err != nil {
			require.Empty(t, notices)
			return
		}
		var again []presence.WakeNotice
		for _, r := range notices {
			require.NoError(t, checkNotice(r))
			require.False(t, r.Local)
		}
		for _, d := range encodeNotices(notices) {
			some, err := decodeNotices(d)
			require.NoError(t, err)
			again = append(again, some...)
		}
		require.Len(t, again, len(notices))
		for i, r := range notices {
			require.Equal(t, r.Agent, again[i].Agent)
			require.Equal(t, r.Epoch, again[i].Epoch)
			require.True(t, r.At.Equal(again[i].At))
		}
	})
}
