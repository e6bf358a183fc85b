package importer

import (
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/internal/dream"
)

// The bounds of one exchange. A conversation that pauses longer than longPause has moved on to something else.
const (
	maxTurns  = 40
	maxSaid   = 64 << 10
	longPause = 6 * time.Hour
)

// exchanger makes episodes of talk: one exchange is what one speaker said and what was answered, up to the point
// where anyone but the answerer speaks again. In chats everything between two turns of the user is the answer.
type exchanger struct {
	src          *source
	to           *sink
	scene        string   // where the conversation takes place
	participants []string // who takes part, when the source says so beforehand
	roles        bool     // speakers are user, assistant and tools

	open   []turn
	size   int
	before *turn
	latest time.Time // of the last exchange: keeps the order where a source gives many turns one time
}

// take adds a turn. Turns without words are dropped.
func (x *exchanger) take(t turn) error {
	t.text = clean(t.text)
	if t.text == "" {
		return nil
	}
	t.speaker = flat(clean(t.speaker))
	x.to.read(1)
	switch {
	case len(x.open) > 0 && x.isElsewhere(t):
		if err := x.end(); err != nil {
			return err
		}
	case len(x.open) > 0 && x.closes(t):
		if err := x.finish(&t); err != nil {
			return err
		}
	}
	x.open = append(x.open, t)
	x.size += len(t.text)
	return nil
}

// isElsewhere says whether a turn belongs to another conversation.
func (x *exchanger) isElsewhere(t turn) bool {
	last := x.open[len(x.open)-1]
	return t.session != last.session || t.when.at.Sub(last.when.at) > longPause && !t.undated && !last.undated
}

// closes says whether a turn begins the next exchange.
func (x *exchanger) closes(t turn) bool {
	if len(x.open) >= maxTurns || x.size >= maxSaid {
		return true
	}
	first, last := x.open[0], x.open[len(x.open)-1]
	if x.roles {
		return t.taint == dream.FromHuman && last.taint != dream.FromHuman
	}
	if t.speaker == last.speaker || last.speaker == first.speaker {
		return false
	}
	return true
}

// end ends the current conversation.
func (x *exchanger) end() error {
	var err error
	if len(x.open) > 0 {
		err = x.finish(nil)
	}
	x.before, x.latest = nil, time.Time{}
	return err
}

// finish emits the open exchange.
func (x *exchanger) finish(next *turn) error {
	first := x.open[0]
	d := &draft{
		line:   first.line,
		scene:  x.scene,
		dated:  !first.undated,
		turns:  x.open,
		before: x.before,
		after:  next,
		cast:   x.participants,
	}
	d.undated, d.stamp = first.undated, first.when.stamp
	d.ep = dream.Episode{Session: first.session, Speaker: first.speaker, Origin: x.src.originOf(x.open)}
	d.ep.At = first.when.at
	if !d.undated {
		if !d.ep.At.After(x.latest) {
			d.ep.At = x.latest.Add(time.Second)
		}
		x.latest = d.ep.At
	}
	d.ep.Taint = first.taint
	var b strings.Builder
	for i, t := range x.open {
		d.ep.Taint = dream.LeastTrusted(d.ep.Taint, t.taint)
		if i > 0 {
			b.WriteByte('\n')
		}
		if t.speaker != "" && (i == 0 || t.speaker != x.open[i-1].speaker) {
			b.WriteString(t.speaker + ": ")
		}
		b.WriteString(t.text)
	}
	d.ep.Content = b.String()
	last := x.open[len(x.open)-1]
	x.before, x.open, x.size = &last, nil, 0
	return x.to.draft(d)
}
