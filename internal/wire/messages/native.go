package messages

import (
	"bytes"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/jsonscan"
)

// Native is a body for a provider that speaks this wire: without the thoughts that this package signed in the place of
// another provider, which the provider could not verify. All other bytes stay as they were sent. A message of such
// thoughts alone is left out whole, since none may be empty.
func Native(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(signed)) {
		return raw
	}
	var cuts []jsonscan.Span
	s := &jsonscan.Scanner{Body: raw}
	s.Peek()
	_ = s.Object(func(key jsonscan.Span) error { // what is wrong with the body is reported where it is read
		v, err := s.Value()
		if err == nil && jsonscan.Unquoted(key.Of(raw)) == "messages" {
			cuts = foreign(raw, v)
		}
		return err
	})
	var edited []byte
	at := 0
	for _, cut := range cuts {
		edited, at = append(edited, raw[at:cut.From]...), cut.To
	}
	return append(edited, raw[at:]...)
}

// foreign are the places of such thoughts in a list of messages, in order.
func foreign(raw []byte, list jsonscan.Span) (cuts []jsonscan.Span) {
	all := elementsOf(raw, list)
	emptied := make([]bool, len(all))
	var within [][]jsonscan.Span
	for i, at := range all {
		content := member(raw, at, "content")
		blocks := elementsOf(raw, content)
		drop := make([]bool, len(blocks))
		left := len(blocks)
		for j, block := range blocks {
			drop[j] = ours(raw, block)
			if drop[j] {
				left--
			}
		}
		emptied[i] = len(blocks) > 0 && left == 0
		if emptied[i] {
			drop = nil
		}
		within = append(within, without(content, blocks, drop))
	}
	whole := without(list, all, emptied)
	for _, each := range within {
		for len(whole) > 0 && len(each) > 0 && whole[0].From < each[0].From {
			cuts, whole = append(cuts, whole[0]), whole[1:]
		}
		cuts = append(cuts, each...)
	}
	return append(cuts, whole...)
}

// ours reports whether a block is a thought that this package signed.
func ours(raw []byte, block jsonscan.Span) bool {
	kind, signature := member(raw, block, "type"), member(raw, block, "signature")
	return jsonscan.Unquoted(kind.Of(raw)) == "thinking" &&
		strings.HasPrefix(jsonscan.Unquoted(signature.Of(raw)), signed)
}

// member is the value of an object's member; empty where there is none.
func member(raw []byte, object jsonscan.Span, name string) (found jsonscan.Span) {
	s := &jsonscan.Scanner{Body: raw[:object.To], At: object.From}
	if object.From == object.To || s.Peek() != '{' {
		return found
	}
	_ = s.Object(func(key jsonscan.Span) error {
		v, err := s.Value()
		if jsonscan.Unquoted(key.Of(raw)) == name {
			found = v
		}
		return err
	})
	return found
}

// elementsOf are the places of a list's elements; none of what is no list.
func elementsOf(raw []byte, list jsonscan.Span) (all []jsonscan.Span) {
	s := &jsonscan.Scanner{Body: raw[:list.To], At: list.From}
	if list.From == list.To || s.Peek() != '[' {
		return nil
	}
	_ = s.Array(func() error {
		v, err := s.Value()
		all = append(all, v)
		return err
	})
	return all
}

// without is what to cut from a list to leave elements out, with a comma beside each.
func without(list jsonscan.Span, all []jsonscan.Span, drop []bool) (cuts []jsonscan.Span) {
	end := list.From + 1 // of the last element that stays
	for i := 0; i < len(all) && drop != nil; i++ {
		if !drop[i] {
			end = all[i].To
			continue
		}
		first := i
		for i+1 < len(all) && drop[i+1] {
			i++
		}
		if i+1 < len(all) {
			cuts = append(cuts, jsonscan.Span{From: all[first].From, To: all[i+1].From})
		} else {
			cuts = append(cuts, jsonscan.Span{From: end, To: all[i].To})
		}
	}
	return cuts
}
