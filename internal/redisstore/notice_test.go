package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

func FuzzANoticeIsReadStrictly(f *testing.F) {
	whole, err := encodeNotice(
		wireNotice{"process", presence.WakeNotice{
			Agent:  "echo",
			Epoch:  3,
			Cause:  presence.Alarm,
			At:     time.Unix(1, 2).UTC(),
			Raised: time.Unix(3, 4).UTC(),
		}})
	require.NoError(f, err)
	for _, seed := range []string{
		whole, "", "{}", whole + whole, strings.ToUpper(whole), whole[:len(whole)-1],
		strings.Replace(whole, "3", "-3", 1), `{"from":"x","agent":"\ud800","epoch":1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, wire string) {
		r, err := decodeNotice(wire)
		if err != nil {
			require.Zero(t, r)
			return
		}
		require.LessOrEqual(t, len(wire), longestNotice)
		require.NotEmpty(t, r.From)
		require.NoError(t, r.Validate())
		require.False(t, r.Local)
		spelled, err := encodeNotice(r)
		if err != nil {
			require.ErrorContains(t, err, "bytes", "the escaped notice may be too long to publish")
			return
		}
		again, err := decodeNotice(spelled)
		require.NoError(t, err)
		require.Equal(t, r.From, again.From)
		require.Equal(t, r.Epoch, again.Epoch)
		require.True(t, r.At.Equal(again.At))
		require.True(t, r.Raised.Equal(again.Raised))
	})
}

func TestATooLongNoticeIsNotPublished(t *testing.T) {
	t.Parallel()
	_, err := encodeNotice(wireNotice{"process", presence.WakeNotice{Agent: strings.Repeat("x", longestNotice), Epoch: 1}})
	require.ErrorContains(t, err, "at most 4096")
}
