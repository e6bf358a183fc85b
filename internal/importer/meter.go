package importer

import (
	"context"
	"io"
)

// firstShare is the share of the first reading in the reported progress: it parses and writes nothing.
const firstShare = .25

// meter reports progress in bytes of the sources.
type meter struct {
	total    int64
	bytes    int64 // of this reading
	second   bool
	reported int64
	progress func(done, total int64)
}

func (m *meter) count(n int) {
	m.bytes += int64(n)
	done := float64(m.bytes) * firstShare
	if m.second {
		done = float64(m.total)*firstShare + float64(m.bytes)*(1-firstShare)
	}
	m.report(min(int64(done), m.total))
}

func (m *meter) secondReading() {
	m.total = max(m.total, m.bytes) // sizes may be unknown before the first reading
	m.second, m.bytes = true, 0
}

func (m *meter) finish() {
	if m.progress != nil {
		m.progress(m.total, m.total)
	}
}

func (m *meter) report(done int64) {
	if m.progress != nil && done > m.reported {
		m.reported = done
		m.progress(done, max(m.total, done))
	}
}

// meteredReader counts what is read and stops when the import is canceled.
type meteredReader struct {
	in    io.Reader
	meter *meter
	ctx   context.Context
}

func (r *meteredReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.in.Read(p)
	r.meter.count(n)
	return n, err
}
