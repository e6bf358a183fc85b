package redisstore

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
)

// The sort keys compare like the values, for any year and below zero.
func TestSortKeysCompareLikeTheirValues(t *testing.T) {
	t.Parallel()
	times := []time.Time{
		{},
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), time.Date(1677, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(-1, 999),
		time.Unix(0, 0),
		time.Unix(0, 1), time.Unix(1, 0), dusk, dusk.Add(1), time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
	}
	for i := 1; i < len(times); i++ {
		require.Negative(t, bytes.Compare(timeKey(times[i-1]), timeKey(times[i])), times[i])
		require.Positive(t, bytes.Compare(inverted(timeKey(times[i-1])), inverted(timeKey(times[i]))), times[i])
	}
	grades := []float64{
		math.Inf(-1), -1, -1e-300, 0, 5e-324, .1, .1 + .2, .3 + 1e-16, .5, 1, math.MaxFloat64,
		math.Inf(1),
	}
	slices.Sort(grades)
	for i := 1; i < len(grades); i++ {
		if grades[i] != grades[i-1] {
			require.Negative(t, bytes.Compare(numberKey(grades[i-1]), numberKey(grades[i])), grades[i])
		}
	}
	require.Equal(t, numberKey(0), numberKey(math.Copysign(0, -1)))
	require.Nil(t, next([]byte{255, 255}))
	require.Equal(t, []byte{2, 0}, next([]byte{1, 255}))
}

func FuzzARowIsReadAsItWasWritten(f *testing.F) {
	f.Add("id", "text", "cause", 3, .5)
	f.Add("a b\x00c", "{\n 12 {", "undo:d", 12, -1e9)
	f.Fuzz(func(t *testing.T, id, content, cause string, number int, salience float64) {
		e := &dream.Episode{
			Head: dream.Head{
				ID:      id,
				Agent:   who,
				Kind:    dream.KindEpisode,
				At:      dusk,
				State:   dream.Live,
				Sources: []string{cause},
			}, Content: content, Salience: salience,
		}
		r, err := encodeItem(who, e, cause, dusk)
		if err != nil {
			return
		}
		require.Len(t, r.places, placeBytes)
		packed, err := r.packed()
		require.NoError(t, err)
		number = max(1, number)
		back, err := parseRow(id, strconv.Itoa(number)+" "+packed, true)
		require.NoError(t, err)
		require.Equal(t, number, back.number)
		require.Equal(t, r.places, back.places)
		require.Equal(t, r.body, back.body)
		require.Equal(t, r.marks.Text, back.marks.Text)
		item, err := back.item()
		require.NoError(t, err)
		require.Equal(t, number, item.Header().Revision)
	})
}

func FuzzParsingAnyRowDoesNotPanic(f *testing.F) {
	f.Add("1 " + string(make([]byte, placeBytes)) + "episode{}\n{}")
	f.Add("1 short")
	f.Fuzz(func(t *testing.T, kept string) {
		if r, err := parseRow("id", kept, true); err == nil {
			_, _ = r.item()
		}
	})
}
