package sqlitestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seed-56a03226/oneiros/internal/presence"
)

// Limits of what processes tell each other: a datagram as large as systems let through without being told, and names no
// longer than any that we give.
const (
	datagramMost = 16 << 10
	nameMost     = 512
)

// encodeNotices writes rings as datagrams: as many in each as there is room for, so that a thousand wakes at once are a
// few datagrams. A ring too large for one is left out.
func encodeNotices(notices []presence.WakeNotice) [][]byte {
	var datagrams [][]byte
	var open []byte
	for _, r := range notices {
		body, err := json.Marshal(r)
		if err != nil || checkNotice(r) != nil {
			continue
		}
		if len(open) > 0 && len(open)+len(body)+1 > datagramMost {
			datagrams, open = append(datagrams, open), nil
		}
		open = append(append(open, body...), '\n')
	}
	if len(open) > 0 {
		datagrams = append(datagrams, open)
	}
	return datagrams
}

// decodeNotices reads a datagram as strictly as it was written: anything odd in it spoils all of it.
func decodeNotices(datagram []byte) ([]presence.WakeNotice, error) {
	if len(datagram) > datagramMost {
		return nil, fmt.Errorf("the datagram has %d bytes; %d is the most", len(datagram), datagramMost)
	}
	if len(datagram) == 0 {
		return nil, errors.New("the datagram is empty")
	}
	var notices []presence.WakeNotice
	d := json.NewDecoder(bytes.NewReader(datagram))
	d.DisallowUnknownFields()
	for {
		var r *presence.WakeNotice
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return notices, nil
		case err != nil:
			return nil, err
		case r == nil:
			return nil, errors.New("a ring is null")
		}
		if err := checkNotice(*r); err != nil {
			return nil, err
		}
		r.Local = false
		notices = append(notices, *r)
	}
}

func checkNotice(r presence.WakeNotice) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if len(r.Agent) > nameMost || len(r.Cause) > nameMost {
		return fmt.Errorf("a name has %d bytes; %d is the most", max(len(r.Agent), len(r.Cause)), nameMost)
	}
	return nil
}
