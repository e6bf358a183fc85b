// Package payload encrypts what Temporal stores: every payload and the text of every failure, under keys that rotate.
package payload

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// New returns the converters for a client, a worker or a replayer. The newest key seals, every key opens, and plain
// payloads are read as they are, so that a deployment may begin to seal while dreams are running. Without keys nothing
// is sealed, and a sealed payload is an error that names its key.
func New(keys Keys) (converter.DataConverter, converter.FailureConverter) {
	data := sealing{DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), Codec(keys))}
	return data, temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: !keys.Empty(),
	})
}

// sealing is a data converter that protects workflows against a missing key. A workflow whose input or result cannot be
// opened would fail permanently because one worker lacks a key. A panic fails only its task, which Temporal retries
// until a worker has the key (converter.PayloadCodec describes both).
type sealing struct {
	converter.DataConverter
	story bool // used within a workflow
}

// WithWorkflowContext is called by the SDK within a workflow.
func (s sealing) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return sealing{DataConverter: s.DataConverter, story: true}
}

// WithContext is called by the SDK everywhere else.
func (s sealing) WithContext(context.Context) converter.DataConverter {
	return sealing{DataConverter: s.DataConverter}
}

// WithSerializationContext does not change the seal: the UI and the command line open payloads without a context.
func (s sealing) WithSerializationContext(c converter.SerializationContext) converter.DataConverter {
	return sealing{DataConverter: converter.WithDataConverterSerializationContext(s.DataConverter, c), story: s.story}
}

// FromPayload opens one value.
func (s sealing) FromPayload(p *commonpb.Payload, value any) error {
	return s.patient(s.DataConverter.FromPayload(p, value))
}

// FromPayloads opens several.
func (s sealing) FromPayloads(p *commonpb.Payloads, values ...any) error {
	return s.patient(s.DataConverter.FromPayloads(p, values...))
}

func (s sealing) patient(err error) error {
	if unopened := (*Unopened)(nil); s.story && errors.As(err, &unopened) {
		panic(err)
	}
	return err
}

var (
	_ converter.ContextAware                          = sealing{}
	_ converter.DataConverterWithSerializationContext = sealing{}
)
