package payload_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/seed-56a03226/oneiros/internal/payload"
)

func sealedHistory(t *testing.T, k payload.Keys) *historypb.History {
	data, failures := payload.New(k)
	input, err := data.ToPayloads(map[string]any{"agent": "echo", "seed": uint64(1<<64 - 1)}, []byte{1, 2})
	require.NoError(t, err)
	return &historypb.History{Events: []*historypb.HistoryEvent{
		{EventId: 1, Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
			WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: input},
		}},
		{EventId: 2, Attributes: &historypb.HistoryEvent_WorkflowExecutionFailedEventAttributes{
			WorkflowExecutionFailedEventAttributes: &historypb.WorkflowExecutionFailedEventAttributes{
				Failure: failures.ErrorToFailure(&payload.OpenError{Key: "some", Why: "a lighthouse"}),
			},
		}},
	}}
}

func TestASealedHistoryInJSONIsOpened(t *testing.T) {
	t.Parallel()
	k := keys(t, "one")
	long, err := protojson.Marshal(sealedHistory(t, k))
	require.NoError(t, err)
	short, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(sealedHistory(t, k))
	require.NoError(t, err)
	for _, printed := range [][]byte{long, short} {
		require.NotContains(t, string(printed), "lighthouse")
		var out bytes.Buffer
		n, err := payload.OpenJSON(k, bytes.NewReader(printed), &out)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.Contains(t, out.String(), `"agent": "echo"`)
		require.Contains(t, out.String(), `"seed": 18446744073709551615`, "numbers keep all digits")
		require.Contains(t, out.String(), "a lighthouse")
		require.Contains(t, out.String(), `"data": "AQI="`, "bytes stay a payload")
	}
}

func TestUnsealedJSONIsPrintedUnchanged(t *testing.T) {
	t.Parallel()
	const text = `{"metadata":{"name":"no payload","data":[1,2.50]},"html":"<b>"} [] null`
	var out bytes.Buffer
	n, err := payload.OpenJSON(keys(t, "one"), strings.NewReader(text), &out)
	require.NoError(t, err)
	require.Zero(t, n)
	read := json.NewDecoder(&out)
	var first, second, third json.RawMessage
	require.NoError(t, read.Decode(&first))
	require.NoError(t, read.Decode(&second))
	require.NoError(t, read.Decode(&third))
	require.JSONEq(t, `{"metadata":{"name":"no payload","data":[1,2.50]},"html":"<b>"}`, string(first))
	require.Contains(t, string(first), "2.50")
	require.Equal(t, "[] null", string(second)+" "+string(third))
}

func TestAnErrorOfOpeningJSONNamesTheKey(t *testing.T) {
	t.Parallel()
	data, _ := payload.New(keys(t, "theirs"))
	sealed, err := data.ToPayload("x")
	require.NoError(t, err)
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{sealed}})
	require.NoError(t, err)
	_, err = payload.OpenJSON(keys(t, "mine"), bytes.NewReader(body), &bytes.Buffer{})
	require.ErrorContains(t, err, `sealed with key "theirs": that key is missing; there are mine`)
	for text, want := range map[string]string{
		"": "there is none", "{": "unexpected EOF",
		"no json": "invalid character",
	} {
		_, err := payload.OpenJSON(keys(t, "mine"), strings.NewReader(text), &bytes.Buffer{})
		require.ErrorContains(t, err, want)
	}
}
