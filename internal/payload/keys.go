package payload

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// keySize is the size of an AES-256 key in bytes.
const keySize = 32

// longestID is the maximum length of a key's id, which is part of every sealed payload.
const longestID = 64

// Keys are the keys of a deployment, newest first. The zero value has none. Printing them shows the ids only.
type Keys struct {
	ids   []string
	boxes map[string]cipher.AEAD
}

// Parse reads a keys file: one "<key id> <base64 of 32 bytes>" a line, newest first. Empty lines and lines that begin
// with '#' are skipped. Its errors name lines and ids, never a key.
func Parse(text string) (Keys, error) {
	keys := Keys{boxes: map[string]cipher.AEAD{}}
	material := map[string]string{}
	var faults []error
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		id, raw, err := readLine(fields)
		if err == nil {
			if twin, taken := material[string(raw)]; taken {
				err = fmt.Errorf("key %q is the same key as %q", id, twin)
			} else if keys.boxes[id] != nil {
				err = fmt.Errorf("key id %q occurs twice; each key needs an id of its own", id)
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", i+1, err))
			continue
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return Keys{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		keys.boxes[id], err = cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return Keys{}, fmt.Errorf("line %d: %w", i+1, err)
		}
		material[string(raw)] = id
		keys.ids = append(keys.ids, id)
	}
	if len(faults) == 0 && len(keys.ids) == 0 {
		faults = append(faults,
			errors.New(
				`there is no key; a line is "<key id> <base64 of 32 bytes>", and oneiros codec new-key prints one`))
	}
	if len(faults) > 0 {
		return Keys{}, fmt.Errorf("read the sealing keys: %w", errors.Join(faults...))
	}
	return keys, nil
}

func readLine(fields []string) (id string, raw []byte, err error) {
	if len(fields) != 2 {
		return "", nil,
			fmt.Errorf("it has %d words; it must have two, a key id and the base64 of 32 bytes", len(fields))
	}
	id = fields[0]
	if !validID(id) {
		return "", nil,
			fmt.Errorf(
				"the first word is no key id; an id is 1 to %d of the letters a-z, A-Z, digits, dot, dash "+
					"and underscore",
				longestID)
	}
	raw, err = base64.StdEncoding.Strict().DecodeString(fields[1])
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("key %q is not base64; oneiros codec new-key prints a whole line", id)
	case len(raw) != keySize:
		return "", nil, fmt.Errorf("key %q is %d bytes long and should be %d", id, len(raw), keySize)
	case bytes.Count(raw, raw[:1]) == keySize:
		return "", nil, fmt.Errorf("key %q is one byte repeated, which is no secret", id)
	}
	return id, raw, nil
}

func validID(id string) bool {
	if id == "" || len(id) > longestID {
		return false
	}
	return strings.IndexFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	}) < 0
}

// NewLine creates a random key and returns its line of the keys file, without the line end.
func NewLine(id string, random io.Reader) (string, error) {
	if !validID(id) {
		return "",
			fmt.Errorf("key id %q must be 1 to %d of the letters a-z, A-Z, digits, dot, dash and underscore", id,
				longestID)
	}
	raw := make([]byte, keySize)
	if _, err := io.ReadFull(random, raw); err != nil {
		return "", fmt.Errorf("draw a key: %w", err)
	}
	return id + " " + base64.StdEncoding.EncodeToString(raw), nil
}

// Empty reports whether there are no keys, so that nothing is sealed.
func (k Keys) Empty() bool { return len(k.ids) == 0 }

// Newest is the id of the key that seals; empty without keys.
func (k Keys) Newest() string {
	if k.Empty() {
		return ""
	}
	return k.ids[0]
}

// IDs returns the ids of all keys, newest first.
func (k Keys) IDs() []string { return append([]string(nil), k.ids...) }

// String lists the ids.
func (k Keys) String() string {
	if k.Empty() {
		return "no sealing keys"
	}
	return "sealing keys " + strings.Join(k.ids, ", ")
}

// GoString is String, so that no way of printing shows a key.
func (k Keys) GoString() string { return k.String() }
