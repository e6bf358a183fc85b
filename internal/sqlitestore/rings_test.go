package sqlitestore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

func someRing(i int) presence.Ring {
	at := time.Date(2026, 3, 1, 6, 0, 0, i, time.UTC)
	return presence.Ring{Agent: fmt.Sprint("agent-", i), Epoch: int64(i + 1), Cause: presence.Alarm, At: at, Raised: at.Add(1)}
}

func TestManyRingsFitIntoFewDatagrams(t *testing.T) {
	t.Parallel()
	var rings, read []presence.Ring
	for i := range 1000 {
		rings = append(rings, someRing(i))
	}
	datagrams := encodeRings(rings)
	require.Less(t, len(datagrams), 12)
	for _, d := range datagrams {
		require.LessOrEqual(t, len(d), datagramMost)
		some, err := decodeRings(d)
		require.NoError(t, err)
		read = append(read, some...)
	}
	require.Equal(t, rings, read)
	require.Empty(t, encodeRings([]presence.Ring{{Agent: strings.Repeat("a", nameMost+1), Epoch: 1}}))
	require.Len(t, encodeRings([]presence.Ring{{Agent: strings.Repeat("\x01", nameMost), Epoch: 1}}), 1)
}

func TestASocketsPathFitsEverySystem(t *testing.T) {
	t.Parallel()
	require.Regexp(t, socketName, newSocketName())
	require.NotEqual(t, newSocketName(), newSocketName())
	for n := range 200 {
		folder := belfry("/" + strings.Repeat("x", n+1))
		require.LessOrEqual(t, len(folder)+1+socketNameMost, addressMost)
	}
}

// FuzzDecodeRings reads whatever somebody may send.
func FuzzDecodeRings(f *testing.F) {
	f.Add(encodeRings([]presence.Ring{someRing(1), someRing(2)})[0])
	f.Add([]byte(`{"agent":"a","epoch":1}`))
	f.Add([]byte(`{"agent":"a","epoch":1,"Local":true}`))
	f.Add([]byte(`{"agent":"a","epoch":9223372036854775808}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, datagram []byte) {
		rings, err := decodeRings(datagram)
		if err != nil {
			require.Empty(t, rings)
			return
		}
		var again []presence.Ring
		for _, r := range rings {
			require.NoError(t, checkRing(r))
			require.False(t, r.Local)
		}
		for _, d := range encodeRings(rings) {
			some, err := decodeRings(d)
			require.NoError(t, err)
			again = append(again, some...)
		}
		require.Len(t, again, len(rings))
		for i, r := range rings {
			require.Equal(t, r.Agent, again[i].Agent)
			require.Equal(t, r.Epoch, again[i].Epoch)
			require.True(t, r.At.Equal(again[i].At))
		}
	})
}
