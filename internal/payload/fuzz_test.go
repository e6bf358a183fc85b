package payload_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

// FuzzOpen opens arbitrary payloads of a broken or hostile cluster: nothing is opened that was not sealed here.
func FuzzOpen(f *testing.F) {
	codec := payload.Codec(keys(f, "one", "two"))
	sealed, err := codec.Encode(
		[]*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"x"`)}})
	require.NoError(f, err)
	own, err := proto.Marshal(sealed[0])
	require.NoError(f, err)
	f.Add(own)
	f.Add([]byte{})
	f.Add(own[:len(own)/2])
	f.Fuzz(func(t *testing.T, wire []byte) {
		p := &commonpb.Payload{}
		if proto.Unmarshal(wire, p) != nil {
			return
		}
		opened, err := codec.Decode([]*commonpb.Payload{p})
		switch unopened := (*payload.OpenError)(nil); {
		case err != nil:
			require.ErrorAs(t, err, &unopened)
			require.Less(t, len(err.Error()), 1000)
		case opened[0] == p:
			require.NotContains(t, p.GetMetadata(), payload.KeyID, "a marked payload was treated as plain")
		default:
			require.Equal(t, `"x"`, string(opened[0].GetData()), "a payload was opened that was not sealed here")
		}
	})
}

// FuzzParse reads arbitrary keys files; errors must not show their content.
func FuzzParse(f *testing.F) {
	f.Add("a " + strings.Repeat("A", 43) + "=")
	f.Add(line("one") + "\r\n# the old one\n\n" + line("two"))
	f.Add("one two three")
	f.Fuzz(func(t *testing.T, text string) {
		k, err := payload.Parse(text)
		require.Equal(t, err != nil, k.Empty())
		if err == nil {
			require.Equal(t, k.IDs()[0], k.Newest())
		}
	})
}

// FuzzOpenJSON writes JSON for any JSON input.
func FuzzOpenJSON(f *testing.F) {
	k := keys(f, "one")
	f.Add(`{"metadata":{"encoding":"` + payload.Encoding + `"},"data":"AAAA"}`)
	f.Add(`[1, {"a": null}] "b"`)
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		_, err := payload.OpenJSON(k, strings.NewReader(text), &out)
		if err != nil || strings.TrimSpace(text) == "" {
			return
		}
		for read := json.NewDecoder(&out); ; {
			var value any
			if err := read.Decode(&value); err != nil {
				require.True(t, errors.Is(err, io.EOF), "%v", err)
				return
			}
		}
	})
}
