package readable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/seed-56a03226/oneiros/activities"
	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/payload/readable"
	"github.com/seed-56a03226/oneiros/workflows"
)

func written(body string) *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     []byte(body),
	}
}

// Inputs of an earlier build hold nanoseconds, and a person may type either.
func TestDurationsAreReadInNanosecondsAndInWords(t *testing.T) {
	t.Parallel()
	data := readable.Converter()
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

func TestWhatIsNoDurationIsRefused(t *testing.T) {
	t.Parallel()
	data := readable.Converter()
	for _, body := range []string{
		`{"idle_timeout":"soon"}`, `{"idle_timeout":["15m"]}`, `{"auto":"15m"}`, `{"idle_timeout":"15m"`, `"15m"`,
	} {
		var s workflows.Settings
		require.ErrorIs(t, data.FromPayload(written(body), &s), converter.ErrUnableToDecode, body)
	}
}

// What is no duration is written as the SDK writes it, and durations are in words. What is written is read.
func TestDurationsAreWrittenInWords(t *testing.T) {
	t.Parallel()
	data := readable.Converter()
	settings, err := data.ToPayload(workflows.Settings{IdleTimeout: 15 * time.Minute, MinGap: time.Hour})
	require.NoError(t, err)
	require.Contains(t, string(settings.GetData()), `"idle_timeout":"15m0s","min_gap":"1h0m0s"`)
	require.NotContains(t, string(settings.GetData()), "client_timeout", "zero and left out")

	spec := activities.Spec{Dream: "<&>", Seed: 1<<64 - 1, ResumeTTL: time.Hour, Knobs: dream.DefaultKnobs()}
	body, err := data.ToPayload(spec)
	require.NoError(t, err)
	require.Contains(t, string(body.GetData()), `"call_timeout":"`)
	var read activities.Spec
	require.NoError(t, data.FromPayload(body, &read))
	require.Equal(t, spec, read)

	for _, value := range []any{
		[]byte("words"), nil, "words <&>", 7,
		map[string]any{"b": nil, "a": []int(nil)},
		time.Unix(0, 0).UTC(),
		&workflows.Result{Outcome: dream.Completed}, &commonpb.Payload{Data: []byte("x")},
	} {
		mine, err := data.ToPayload(value)
		require.NoError(t, err)
		theirs, err := converter.GetDefaultDataConverter().ToPayload(value)
		require.NoError(t, err)
		require.Equal(t, theirs.String(), mine.String())
	}
	_, err = data.ToPayload(func() {})
	require.ErrorIs(t, err, converter.ErrUnableToEncode)
}

func FuzzDurations(f *testing.F) {
	f.Add(`{"idle_timeout":"15m0s"}`)
	f.Add(`{"idle_timeout":"x","min_gap":"1h","triggers":[{}],"windows":[1]}`)
	f.Add(`{"idle_timeout":{"idle_timeout":"1s"}}`)
	data := readable.Converter()
	f.Fuzz(func(t *testing.T, body string) {
		var mine, theirs workflows.Settings
		err := data.FromPayload(written(body), &mine)
		if converter.GetDefaultDataConverter().FromPayload(written(body), &theirs) == nil {
			require.NoError(t, err)
			require.Equal(t, theirs, mine)
		}
	})
}
