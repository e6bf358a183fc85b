package payload_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/payload"
	"github.com/seed-56a03226/oneiros/workflows"
)

func written(body string) *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     []byte(body),
	}
}

// Inputs of a later build, and those that a person types, may hold durations in words.
func TestDurationsAreReadInNanosecondsAndInWords(t *testing.T) {
	t.Parallel()
	data, _ := payload.New(payload.Keys{})
	for _, body := range []string{
		`{"idle_timeout":900000000000,"min_gap":3600000000000,"jitter":0}`,
		`{"idle_timeout":"15m0s","min_gap":"1h","jitter":"0s"}`,
		`{"idle_timeout":"15m","min_gap":3600000000000}`,
	} {
		var s workflows.Settings
		require.NoError(t, data.FromPayload(written(body), &s), body)
		require.Equal(t, workflows.Settings{IdleTimeout: 15 * time.Minute, MinGap: time.Hour}, s, body)
	}
	var spec activities.Spec
	require.NoError(t, data.FromPayload(written(
		`{"seed":18446744073709551615,"resume_ttl":"6h","knobs":{"call_timeout":"2m30s","half_life":5}}`), &spec))
	require.Equal(t, uint64(1<<64-1), spec.Seed)
	require.Equal(t, 6*time.Hour, spec.ResumeTTL)
	require.Equal(t, 150*time.Second, spec.Knobs.CallTimeout)
	require.Equal(t, 5*time.Nanosecond, spec.Knobs.HalfLife)

	type inner struct{ Every time.Duration }
	var nested struct {
		inner
		List  []inner
		Named map[string]*time.Duration
	}
	require.NoError(t, data.FromPayload(written(
		`{"Every":"1s","List":[{"Every":"2s"},{"Every":3}],"Named":{"a":"4s"}}`), &nested))
	require.Equal(t, time.Second, nested.Every)
	require.Equal(t, []inner{{2 * time.Second}, {3}}, nested.List)
	require.Equal(t, 4*time.Second, *nested.Named["a"])
}

func TestWhatIsNoDurationIsRefusedAsBefore(t *testing.T) {
	t.Parallel()
	data, _ := payload.New(payload.Keys{})
	for _, body := range []string{
		`{"idle_timeout":"soon"}`, `{"idle_timeout":["15m"]}`, `{"auto":"15m"}`, `{"idle_timeout":"15m"`, `"15m"`,
	} {
		var s workflows.Settings
		mine := data.FromPayload(written(body), &s)
		theirs := converter.GetDefaultDataConverter().FromPayload(written(body), &s)
		require.ErrorIs(t, mine, converter.ErrUnableToDecode, body)
		require.Equal(t, theirs.Error(), mine.Error(), body)
	}
}

// What this build writes is what earlier builds read.
func TestDurationsAreWrittenInNanoseconds(t *testing.T) {
	t.Parallel()
	data, _ := payload.New(payload.Keys{})
	for _, value := range []any{
		workflows.Settings{IdleTimeout: time.Hour},
		activities.Spec{ResumeTTL: time.Hour, Knobs: dream.DefaultKnobs()},
		[]byte("words"), nil, "words", 7,
	} {
		mine, err := data.ToPayload(value)
		require.NoError(t, err)
		theirs, err := converter.GetDefaultDataConverter().ToPayload(value)
		require.NoError(t, err)
		require.Equal(t, theirs.String(), mine.String())
	}
}

func FuzzDurations(f *testing.F) {
	f.Add(`{"idle_timeout":"15m0s"}`)
	f.Add(`{"idle_timeout":"x","min_gap":"1h","triggers":[{}],"windows":[1]}`)
	f.Add(`{"idle_timeout":{"idle_timeout":"1s"}}`)
	data, _ := payload.New(payload.Keys{})
	f.Fuzz(func(t *testing.T, body string) {
		var mine, theirs workflows.Settings
		err := data.FromPayload(written(body), &mine)
		if converter.GetDefaultDataConverter().FromPayload(written(body), &theirs) == nil {
			require.NoError(t, err)
			require.Equal(t, theirs, mine)
		}
	})
}
