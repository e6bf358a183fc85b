package psyche

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/inference"
)

// asSent has the fault of a request that could not be translated for its provider name what the client sent: the field
// of its wire, and the place of a message among its own. final is the body after this server's changes.
func asSent(b *Body, fault error, final []byte) error {
	failure, ok := inference.AsFailure(fault)
	f, refused := errors.AsType[*Fault](fault)
	if !ok || !refused || failure.Kind != inference.BadRequest || failure.Field == "" || failure.Status != 0 {
		return fault
	}
	first, rest, deeper := strings.Cut(failure.Field, ".")
	var name string
	switch place, within, _ := strings.Cut(rest, "."); {
	case first != "messages" || !deeper:
		at := b.sent.of(first)
		name = cmp.Or(at.Path, at.Name)
		if deeper && at.Path == first {
			name += "." + rest
		}
	case b.sent == nil:
		n, err := strconv.Atoi(place)
		own := ownPlace(b, n, final)
		if err != nil || own < 0 {
			return fault
		}
		name = strings.TrimSuffix(fmt.Sprintf("messages.%d.%s", own, within), ".")
	default: // a place among messages that the client did not write
		return fault
	}
	named := *f
	named.Code, named.Param = badValue, name
	named.Message = name + strings.TrimPrefix(f.Message, failure.Field)
	return &named
}

// ownPlace is the place in the client's body of a message of the final one; -1 where this server wrote it. Messages
// that were inserted are found by what stands around them: the others stand there in order, each as it was sent or
// with a text in front.
func ownPlace(b *Body, n int, final []byte) int {
	sent, err := readBodyOf(b.form, final)
	if err != nil || n < 0 || n >= len(sent.messages) {
		return -1
	}
	own := 0
	for i, m := range sent.messages {
		left := len(sent.messages) - i - (len(b.messages) - own) // how many of those to come were inserted
		same := own < len(b.messages) &&
			(left == 0 || bytes.Equal(m.Of(sent.raw), b.messages[own].Of(b.raw)))
		switch {
		case i == n && same:
			return own
		case i == n:
			return -1
		case same:
			own++
		}
	}
	return -1
}
