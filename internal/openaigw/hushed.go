package openaigw

import (
	"bytes"
	"io"
)

// refusalLimit bounds how much of a refusal is passed on.
const refusalLimit = 64 << 10

// hushed is the body of a refusal without our secrets: some providers quote the key that they refuse, and it is not the caller's.
type hushed struct {
	io.Closer
	from    io.Reader
	secrets []string
	text    *bytes.Reader
	err     error
}

func (h *hushed) Read(p []byte) (int, error) {
	if h.text == nil {
		var all []byte
		longest := 0
		for _, s := range h.secrets {
			longest = max(longest, len(s))
		}
		all, h.err = io.ReadAll(io.LimitReader(h.from, int64(refusalLimit+longest))) // one that the limit cuts is found as well
		for _, s := range h.secrets {
			all = bytes.ReplaceAll(all, []byte(s), []byte("[secret]"))
		}
		h.text = bytes.NewReader(all[:min(len(all), refusalLimit)])
	}
	n, err := h.text.Read(p)
	if err != nil && h.err != nil {
		err = h.err
	}
	return n, err
}
