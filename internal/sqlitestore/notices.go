package sqlitestore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// Limits of what processes send each other. A datagram of this size is accepted by every system without configuration,
// and names are no longer than any that we create.
const (
	maxDatagram = 16 << 10
	maxName     = 512
)

// encodeNotices packs notices into as few datagrams as possible, so that a thousand simultaneous wakes need a few
// datagrams only. A notice too large for a datagram is left out.
func encodeNotices(notices []presence.WakeNotice) [][]byte {
	var datagrams [][]byte
	var open []byte
	for _, r := range notices {
		body, err := json.Marshal(r)
		if err != nil || checkNotice(r) != nil {
			continue
		}
		if len(open) > 0 && len(open)+len(body)+1 > maxDatagram {
			datagrams, open = append(datagrams, open), nil
		}
		open = append(append(open, body...), '\n')
	}
	if len(open) > 0 {
		datagrams = append(datagrams, open)
	}
	return datagrams
}

// decodeNotices reads a datagram strictly: anything unexpected makes the whole datagram invalid.
func decodeNotices(datagram []byte) ([]presence.WakeNotice, error) {
	if len(datagram) > maxDatagram {
		return nil, fmt.Errorf("the datagram has %d bytes; %d is the most", len(datagram), maxDatagram)
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
			return nil, errors.New("a notice is null")
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
	if len(r.Agent) > maxName || len(r.Cause) > maxName {
		return fmt.Errorf("a name has %d bytes; %d is the most", max(len(r.Agent), len(r.Cause)), maxName)
	}
	return nil
}
