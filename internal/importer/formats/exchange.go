package formats

import (
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/internal/importer/derive"
)

// The bounds of one exchange. A conversation that pauses longer than longPause has moved on to something else.
const (
	maxTurns  = 40
	maxSaid   = 64 << 10
	longPause = 6 * time.Hour
)

// message is a turn with where and when its source has it.
type message struct {
	derive.Turn
	line    int
	session string
	when    moment
	undated bool
	name    string // the source's id of the turn; empty when it has none
}

// exchanger makes episodes of talk: one exchange is what one speaker said and what was answered, up to the point
// where anyone but the answerer speaks again. In chats everything between two turns of the user is the answer.
type exchanger struct {
	src          *Source
	to           *Sink
	scene        string   // where the conversation takes place
	participants []string // who takes part, when the source says so beforehand
	roles        bool     // speakers are user, assistant and tools

	open   []message
	size   int
	before *message
	latest time.Time // of the last exchange: keeps the order where a source gives many turns one time
}

// take adds a turn. Turns without words are dropped.
func (x *exchanger) take(t message) error {
	t.Text = derive.Clean(t.Text)
	if t.Text == "" {
		return nil
	}
	t.Speaker = oneLine(t.Speaker)
	x.to.Read(1)
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
	x.size += len(t.Text)
	return nil
}

// isElsewhere says whether a turn belongs to another conversation.
func (x *exchanger) isElsewhere(t message) bool {
	last := x.open[len(x.open)-1]
	return t.session != last.session || t.when.at.Sub(last.when.at) > longPause && !t.undated && !last.undated
}

// closes says whether a turn begins the next exchange.
func (x *exchanger) closes(t message) bool {
	if len(x.open) >= maxTurns || x.size >= maxSaid {
		return true
	}
	first, last := x.open[0], x.open[len(x.open)-1]
	if x.roles {
		return t.Taint == dream.FromHuman && last.Taint != dream.FromHuman
	}
	if t.Speaker == last.Speaker || last.Speaker == first.Speaker {
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
func (x *exchanger) finish(next *message) error {
	first := x.open[0]
	d := &derive.Draft{
		Line:   first.line,
		Scene:  x.scene,
		Dated:  !first.undated,
		Before: x.before.spoken(),
		After:  next.spoken(),
		Cast:   x.participants,
	}
	d.Undated, d.Stamp = first.undated, first.when.stamp
	d.Episode = dream.Episode{Session: first.session, Speaker: first.Speaker, Origin: x.src.originOf(x.open)}
	d.Episode.At = first.when.at
	if !d.Undated {
		if !d.Episode.At.After(x.latest) {
			d.Episode.At = x.latest.Add(time.Second)
		}
		x.latest = d.Episode.At
	}
	d.Episode.Taint = first.Taint
	var b strings.Builder
	for i, t := range x.open {
		d.Turns = append(d.Turns, t.Turn)
		d.Episode.Taint = dream.LeastTrusted(d.Episode.Taint, t.Taint)
		if i > 0 {
			b.WriteByte('\n')
		}
		if t.Speaker != "" && (i == 0 || t.Speaker != x.open[i-1].Speaker) {
			b.WriteString(t.Speaker + ": ")
		}
		b.WriteString(t.Text)
	}
	d.Episode.Content = b.String()
	last := x.open[len(x.open)-1]
	x.before, x.open, x.size = &last, nil, 0
	return x.to.Draft(d)
}

// spoken is what was said in a message; nil for none.
func (m *message) spoken() *derive.Turn {
	if m == nil {
		return nil
	}
	return &m.Turn
}
