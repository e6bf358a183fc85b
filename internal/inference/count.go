package inference

// CountPrompt bounds the tokens of a prompt from above: no tokenizer makes more tokens than there are bytes.
func CountPrompt(_ Spec, r Request) int64 {
	n := int64(16)
	for _, m := range r.Messages {
		n += int64(len(m.Content)) + 8
	}
	if r.Schema != nil {
		n += int64(len(r.Schema.JSON))
	}
	return n
}
