// Package payload encrypts what Temporal stores: every payload and the text of every failure, under keys that rotate.
package payload

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/seed-56a03226/oneiros/internal/payload/readable"
)

// New returns the converters for a client, a worker or a replayer. The newest key seals, every key opens, and plain
// payloads are read as they are, so that a deployment may begin to seal while dreams are running. Without keys nothing
// is sealed, and a sealed payload is an error that names its key.
func New(keys Keys) (converter.DataConverter, converter.FailureConverter) {
	data := sealedConverter{
		DataConverter: converter.NewCodecDataConverter(readable.Converter(), Codec(keys)),
	}
	return data, temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: !keys.Empty(),
	})
}

// sealedConverter is a data converter that protects workflows against a missing key. A workflow whose input or result
// cannot be opened would fail permanently because one worker lacks a key. A panic fails only its task, which Temporal
// retries until a worker has the key (converter.PayloadCodec describes both).
type sealedConverter struct {
	converter.DataConverter
	inWorkflow bool // used within a workflow
}

// WithWorkflowContext is called by the SDK within a workflow.
func (s sealedConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return sealedConverter{DataConverter: s.DataConverter, inWorkflow: true}
}

// WithContext is called by the SDK everywhere else.
func (s sealedConverter) WithContext(context.Context) converter.DataConverter {
	return sealedConverter{DataConverter: s.DataConverter}
}

// WithSerializationContext does not change the seal: the UI and the command line open payloads without a context.
func (s sealedConverter) WithSerializationContext(c converter.SerializationContext) converter.DataConverter {
	return sealedConverter{
		DataConverter: converter.WithDataConverterSerializationContext(s.DataConverter, c),
		inWorkflow:    s.inWorkflow,
	}
}

// FromPayload opens one value.
func (s sealedConverter) FromPayload(p *commonpb.Payload, value any) error {
	return s.panicInWorkflow(s.DataConverter.FromPayload(p, value))
}

// FromPayloads opens several.
func (s sealedConverter) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return s.panicInWorkflow(s.DataConverter.FromPayloads(p, values...))
}

func (s sealedConverter) panicInWorkflow(err error) error {
	if unopened := (*OpenError)(nil); s.inWorkflow && errors.As(err, &unopened) {
		panic(err)
	}
	return err
}

var (
	_ converter.ContextAware                          = sealedConverter{}
	_ converter.DataConverterWithSerializationContext = sealedConverter{}
)
