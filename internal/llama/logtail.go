package llama

import (
	"strings"
	"sync"

	"github.com/hybridgroup/yzma/pkg/utils"
)

// logTail keeps the last error messages of llama.cpp, which explains its failures in its log only.
var logTail log

// kept is how many lines are remembered.
const kept = 16

type log struct {
	sync.Mutex
	lines []string
	open  bool // the last line is incomplete
}

// Levels of llama.cpp's log.
const (
	warning   = 3
	failure   = 4
	continued = 5
)

// hear is called by llama.cpp, from any of its threads.
func (l *log) hear(level int32, text *byte, _ uintptr) uintptr {
	if text == nil {
		return 0
	}
	line := utils.BytePtrToString(text)
	l.Lock()
	defer l.Unlock()
	switch {
	case level == continued && l.open:
		l.lines[len(l.lines)-1] += line
	case level == failure || level == warning:
		l.lines, l.open = append(l.lines, line), true
	default:
		l.open = false
	}
	if len(l.lines) > kept {
		l.lines = l.lines[len(l.lines)-kept:]
	}
	return 0
}

// clear drops the messages, before something is tried.
func (l *log) clear() {
	l.Lock()
	defer l.Unlock()
	l.lines, l.open = nil, false
}

// last returns the last messages, on one line; empty when there were none.
func (l *log) last() string {
	l.Lock()
	defer l.Unlock()
	var out []string
	for _, line := range l.lines[max(0, len(l.lines)-2):] {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}
