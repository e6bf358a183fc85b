package payload_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

// line derives a key from its id, so that tests need no randomness.
func line(id string) string {
	raw := make([]byte, 32)
	copy(raw, "a key for tests, made of its id: ")
	copy(raw[24:], id)
	return id + " " + base64.StdEncoding.EncodeToString(raw)
}

func keys(t require.TestingT, ids ...string) payload.Keys {
	lines := make([]string, len(ids))
	for i, id := range ids {
		lines[i] = line(id)
	}
	k, err := payload.Parse(strings.Join(lines, "\n"))
	require.NoError(t, err)
	return k
}

func payloads(r *rapid.T) *commonpb.Payload {
	p := &commonpb.Payload{Data: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "data")}
	if rapid.Bool().Draw(r, "metadata") {
		p.Metadata = rapid.MapOfN(rapid.StringN(0, 20, 40), rapid.SliceOfN(rapid.Byte(), 0, 40), 0, 4).Draw(r,
			"metadata of it")
	}
	return p
}

func TestOpeningASealedPayloadReturnsTheOriginal(t *testing.T) {
	t.Parallel()
	codec := payload.Codec(keys(t, "new", "old"))
	rapid.Check(t, func(r *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(payloads), 0, 4).Draw(r, "payloads")
		sealed, err := codec.Encode(list)
		require.NoError(r, err)
		for i, s := range sealed {
			require.Equal(r, "new", string(s.Metadata[payload.KeyID]))
			require.LessOrEqual(r, proto.Size(s)-proto.Size(list[i]), payload.Overhead)
		}
		opened, err := codec.Decode(sealed)
		require.NoError(r, err)
		require.Len(r, opened, len(list))
		for i := range list {
			require.True(r, proto.Equal(list[i], opened[i]), "%v is not %v", opened[i], list[i])
		}
	})
}

func TestEverySealIsDifferentAndHidesTheContent(t *testing.T) {
	t.Parallel()
	codec := payload.Codec(keys(t, "one"))
	plain := &commonpb.Payload{
		Metadata: map[string][]byte{"encoding": []byte("json/plain")},
		Data:     []byte(`"a lighthouse, again a lighthouse"`),
	}
	seen := map[string]bool{}
	for range 1000 {
		sealed, err := codec.Encode([]*commonpb.Payload{plain})
		require.NoError(t, err)
		body, err := proto.Marshal(sealed[0])
		require.NoError(t, err)
		require.NotContains(t, string(body), "lighthouse")
		require.NotContains(t, string(body), "json/plain")
		seen[string(sealed[0].Data)] = true
	}
	require.Len(t, seen, 1000)
}

// flip flips one bit of a payload: in a metadata key, its value, or the data.
func flip(r *rapid.T, p *commonpb.Payload) *commonpb.Payload {
	p = proto.Clone(p).(*commonpb.Payload)
	turn := func(b []byte) []byte {
		at := rapid.IntRange(0, len(b)*8-1).Draw(r, "bit")
		b = append([]byte(nil), b...)
		b[at/8] ^= 1 << (at % 8)
		return b
	}
	name := rapid.SampledFrom([]string{converter.MetadataEncoding, payload.KeyID}).Draw(r, "name")
	switch rapid.SampledFrom([]string{"name", "value", "data"}).Draw(r, "part") {
	case "name":
		value := p.Metadata[name]
		delete(p.Metadata, name)
		p.Metadata[string(turn([]byte(name)))] = value
	case "value":
		p.Metadata[name] = turn(p.Metadata[name])
	case "data":
		p.Data = turn(p.Data)
	}
	return p
}

func TestAnyFlippedBitIsRefused(t *testing.T) {
	t.Parallel()
	codec := payload.Codec(keys(t, "a", "b", "c")) // the ids differ by one bit, so a flipped id names another key
	rapid.Check(t, func(r *rapid.T) {
		sealed, err := codec.Encode([]*commonpb.Payload{payloads(r)})
		require.NoError(r, err)
		_, err = codec.Decode([]*commonpb.Payload{flip(r, sealed[0])})
		var unopened *payload.OpenError
		require.ErrorAs(r, err, &unopened)
	})
}

func TestAddedMetadataBreaksTheSeal(t *testing.T) {
	t.Parallel()
	codec := payload.Codec(keys(t, "one"))
	sealed, err := codec.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	sealed[0].Metadata["type"] = []byte("Keyword")
	_, err = codec.Decode(sealed)
	require.ErrorContains(t, err, `sealed with key "one": the seal is broken`)
}

func TestTruncatedDataIsRefused(t *testing.T) {
	t.Parallel()
	codec := payload.Codec(keys(t, "one"))
	sealed, err := codec.Encode([]*commonpb.Payload{{Data: []byte("x")}})
	require.NoError(t, err)
	for n := range sealed[0].Data {
		cut := proto.Clone(sealed[0]).(*commonpb.Payload)
		cut.Data = cut.Data[:n]
		_, err := codec.Decode([]*commonpb.Payload{cut})
		require.ErrorContains(t, err, "the seal is broken")
	}
}

func TestAnOldKeyOpensAfterANewOneWasAdded(t *testing.T) {
	t.Parallel()
	before, _ := payload.New(keys(t, "first"))
	after, _ := payload.New(keys(t, "second", "first"))
	old, err := before.ToPayload("kept")
	require.NoError(t, err)
	var value string
	require.NoError(t, after.FromPayload(old, &value))
	require.Equal(t, "kept", value)
	fresh, err := after.ToPayload("new")
	require.NoError(t, err)
	require.Equal(t, "second", string(fresh.Metadata[payload.KeyID]))
	require.EqualError(t, before.FromPayload(fresh, &value),
		`open a payload sealed with key "second": that key is missing; there are first; add its line to the sealing keys`)
}

func TestAnotherKeyOfTheSameIDOpensNothing(t *testing.T) {
	t.Parallel()
	mine, _ := payload.New(keys(t, "one"))
	sealed, err := mine.ToPayload("x")
	require.NoError(t, err)
	other, err := payload.Parse("one " + strings.Fields(line("two"))[1])
	require.NoError(t, err)
	theirs, _ := payload.New(other)
	var value string
	require.ErrorContains(t, theirs.FromPayload(sealed, &value), "altered, or sealed with another key of that id")
}

func TestPlainPayloadsAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	plain := []*commonpb.Payload{
		nil,
		{},
		{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`{"a":1}`)},
		{
			Metadata: map[string][]byte{"encoding": []byte("binary/encrypted"), "encryption-key-id": []byte("theirs")},
			Data:     []byte("x"),
		},
	}
	opened, err := payload.Codec(keys(t, "one")).Decode(plain)
	require.NoError(t, err)
	for i := range plain {
		require.Same(t, plain[i], opened[i])
	}
}

func TestWithoutKeysNothingIsSealedAndAnErrorNamesTheMissingKey(t *testing.T) {
	t.Parallel()
	data, _ := payload.New(payload.Keys{})
	plain, err := data.ToPayloads("a", 1)
	require.NoError(t, err)
	want, err := converter.GetDefaultDataConverter().ToPayloads("a", 1)
	require.NoError(t, err)
	require.True(t, proto.Equal(want, plain))

	sealing, _ := payload.New(keys(t, "winter"))
	sealed, err := sealing.ToPayload("a")
	require.NoError(t, err)
	var value string
	err = data.FromPayload(sealed, &value)
	require.EqualError(t, err,
		`open a payload sealed with key "winter": that key is missing: no sealing keys are configured; set seal.keys_file or seal.keys_env`)
	require.Equal(t, err.Error(), data.ToString(sealed))
}

func TestWithinAWorkflowAnUnopenedPayloadFailsOnlyTheTask(t *testing.T) {
	t.Parallel()
	mine, _ := payload.New(keys(t, "mine"))
	sealed, err := mine.ToPayloads("x")
	require.NoError(t, err)
	theirs, _ := payload.New(keys(t, "theirs"))
	story := theirs.(converter.ContextAware).WithWorkflowContext(nil)
	var value string
	require.Panics(t, func() { _ = story.FromPayloads(sealed, &value) })
	require.Panics(t, func() { _ = story.FromPayload(sealed.Payloads[0], &value) })

	var number int
	plain, err := converter.GetDefaultDataConverter().ToPayload("no number")
	require.NoError(t, err)
	require.Error(t, story.FromPayload(plain, &number), "a value of another type is an ordinary error")
	outside := story.(converter.ContextAware).WithContext(t.Context())
	require.Error(t, outside.FromPayloads(sealed, &value))
}

func TestFailuresAreSealedToo(t *testing.T) {
	t.Parallel()
	_, failures := payload.New(keys(t, "one"))
	failure := failures.ErrorToFailure(fmt.Errorf("the model said lighthouse: %w", io.ErrUnexpectedEOF))
	require.Equal(t, "Encoded failure", failure.GetMessage())
	require.ErrorContains(t, failures.FailureToError(failure), "the model said lighthouse")
}
