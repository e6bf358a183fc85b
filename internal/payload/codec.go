package payload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Metadata of a sealed payload, in plain text. Its data is a random nonce of 12 bytes, the encrypted payload with its
// own metadata, and a tag of 16 bytes. The tag also authenticates the metadata below.
const (
	Encoding = "binary/oneiros-aes256gcm" // under converter.MetadataEncoding
	KeyID    = "oneiros-key-id"
)

// Overhead is the maximum number of bytes that sealing adds to a payload on the wire, with an id of maximum length.
const Overhead = 192

// OpenError is the error of a sealed payload that could not be opened.
type OpenError struct {
	Key  string   // id of the key it was sealed with
	Have []string // ids of the configured keys
	Why  string   // what is wrong with it; empty when only the key is missing
}

// Error says which key is missing, or that the seal is broken.
func (u *OpenError) Error() string {
	switch {
	case u.Why != "":
		return fmt.Sprintf("open a payload sealed with key %q: %s", u.Key, u.Why)
	case len(u.Have) == 0:
		return fmt.Sprintf(
			"open a payload sealed with key %q: that key is missing: no sealing keys are configured; "+
				"set seal.keys_file or seal.keys_env",
			u.Key)
	}
	return fmt.Sprintf(
		"open a payload sealed with key %q: that key is missing; there are %s; add its line to the sealing keys",
		u.Key, strings.Join(u.Have, ", "))
}

// SealedWith returns the id of the key that a payload is sealed with; empty when it is not sealed.
func SealedWith(p *commonpb.Payload) string {
	if !isSealed(p) {
		return ""
	}
	return printable(string(p.GetMetadata()[KeyID]))
}

// unopened is the beginning of OpenError's text, which also reaches a process as the text of another one's error.
var unopened = regexp.MustCompile(`open a payload sealed with key ("(?:[^"\\]|\\.)*")`)

// MissingKey returns the id of the key for want of which an error came about, here or in another process.
func MissingKey(err error) (id string, here, ok bool) {
	var own *OpenError
	switch {
	case err == nil:
		return "", false, false
	case errors.As(err, &own):
		return own.Key, true, own.Why == ""
	}
	found := unopened.FindStringSubmatch(err.Error())
	if found == nil || !strings.Contains(err.Error(), "that key is missing") {
		return "", false, false
	}
	id, fault := strconv.Unquote(found[1])
	return id, false, fault == nil
}

// Codec returns the codec alone, for a codec server. It needs no context and has no state.
func Codec(keys Keys) converter.PayloadCodec { return codec{keys} }

type codec struct{ keys Keys }

// Encode seals every payload with the newest key; without keys it returns them unchanged.
func (c codec) Encode(plain []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.keys.Empty() {
		return plain, nil
	}
	sealed := make([]*commonpb.Payload, len(plain))
	for i, p := range plain {
		var err error
		sealed[i], err = c.keys.seal(p)
		if err != nil {
			return plain, err
		}
	}
	return sealed, nil
}

// Decode opens every sealed payload and returns the others unchanged.
func (c codec) Decode(sealed []*commonpb.Payload) ([]*commonpb.Payload, error) {
	plain := make([]*commonpb.Payload, len(sealed))
	for i, p := range sealed {
		plain[i] = p
		if !isSealed(p) {
			continue
		}
		var err error
		plain[i], err = c.keys.open(p)
		if err != nil {
			return sealed, err
		}
	}
	return plain, nil
}

// isSealed reports whether a payload has either mark: with one of them missing it is broken, not plain.
func isSealed(p *commonpb.Payload) bool {
	_, marked := p.GetMetadata()[KeyID]
	return marked || string(p.GetMetadata()[converter.MetadataEncoding]) == Encoding
}

func (k Keys) seal(p *commonpb.Payload) (*commonpb.Payload, error) {
	inner, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("seal a payload: %w", err)
	}
	metadata := map[string][]byte{converter.MetadataEncoding: []byte(Encoding), KeyID: []byte(k.Newest())}
	data := k.boxes[k.Newest()].Seal(nil, nil, inner, additionalData(metadata))
	return &commonpb.Payload{Metadata: metadata, Data: data}, nil
}

func (k Keys) open(p *commonpb.Payload) (*commonpb.Payload, error) {
	id := string(p.GetMetadata()[KeyID])
	broken := func(why string) error { return &OpenError{Key: printable(id), Have: k.ids, Why: why} }
	switch {
	case string(p.GetMetadata()[converter.MetadataEncoding]) != Encoding:
		return nil, broken("its encoding is not " + Encoding)
	case !validID(id):
		return nil, broken("its key id is none")
	case k.boxes[id] == nil:
		return nil, broken("")
	}
	inner, err := k.boxes[id].Open(nil, nil, p.GetData(), additionalData(p.GetMetadata()))
	if err != nil {
		return nil, broken("the seal is broken: it was altered, or sealed with another key of that id")
	}
	plain := &commonpb.Payload{}
	if err := proto.Unmarshal(inner, plain); err != nil {
		return nil, broken("what was sealed is no payload")
	}
	return plain, nil
}

// additionalData encodes all metadata as one unambiguous byte string, so that changing, adding or removing any breaks
// the seal.
func additionalData(metadata map[string][]byte) []byte {
	b := []byte("oneiros payload\x00")
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		for _, part := range [][]byte{[]byte(name), metadata[name]} {
			b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
			b = append(b, part...)
		}
	}
	return b
}

// printable makes an id from an unknown payload short and printable.
func printable(id string) string {
	id = strings.ToValidUTF8(id, "?")
	if r := []rune(id); len(r) > longestID {
		return string(r[:longestID]) + "..."
	}
	return id
}
