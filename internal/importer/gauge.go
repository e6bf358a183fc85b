package importer

import (
	"math"
	"strings"

	"github.com/seed-56a03226/oneiros/internal/mood"
)

// rawMarks are the weights of one episode's words by themselves, before they are ranked within the import.
type rawMarks struct {
	salience float32
	length   float32
	surprise float32
}

// The weights of salience. Only their proportions count, because the result is a rank.
const (
	weighTurning = 1.0 // a word for a turn of events; up to three count
	weighFeeling = 1.2 // times the strength of the affect, 0 to 1
	weighName    = .45 // a capitalised word inside a sentence; up to four count
	weighNumber  = .30 // a word with a digit; up to three count
	weighNew     = 1.5 // share of words that occur for the first time, above the usual
	weighAsking  = .25 // a question; up to two count
	weighLength  = 1.0 // times the percentile of the length
)

// The memory of the gauge.
const (
	window     = 50      // episodes back that surprise compares with
	vocabulary = 200_000 // words remembered; after that no word counts as new
	settled    = 10      // episodes after which the first impressions count in full
)

// gauge weighs episodes in the order in which they come.
type gauge struct {
	seen   map[uint64]struct{}
	recent map[uint64]int // words of the window, counted
	window [window][]uint64
	n      int
	usual  float64 // running mean share of new words
	tokens []word
	spoken []voice
	hashes []uint64
}

func newGauge() *gauge {
	return &gauge{seen: map[uint64]struct{}{}, recent: map[uint64]int{}, usual: .5}
}

// measure weighs one episode and remembers its words.
func (g *gauge) measure(d *draft) rawMarks {
	g.spoken = d.voices(g.spoken[:0])
	g.tokens = g.tokens[:0]
	questions := 0
	for _, v := range g.spoken {
		g.tokens = words(v.text, g.tokens)
		questions += strings.Count(v.text, "?")
	}
	var names, numbers, turning, fresh int
	g.hashes = g.hashes[:0]
	for _, w := range g.tokens {
		if turningWords[w.hash] {
			turning++
		}
		if w.digits {
			numbers++
		}
		if w.plain {
			continue
		}
		if w.capital && !w.initial {
			names++
		}
		if _, found := g.seen[w.hash]; !found {
			fresh++
			if len(g.seen) < vocabulary {
				g.seen[w.hash] = struct{}{}
			}
		}
		g.hashes = append(g.hashes, w.hash)
	}
	pad := d.ep.Affect
	if !d.felt {
		pad = affectOf(g.tokens, exclamations(g.spoken))
	}
	raw := rawMarks{length: float32(len(g.tokens)), surprise: float32(g.unlike())}
	raw.salience = float32(
		weighTurning*float64(min(turning, 3)) + weighFeeling*strength(pad) + weighName*float64(min(names, 4)) +
			weighNumber*float64(min(numbers, 3)) + weighAsking*float64(min(questions, 2)) + weighNew*g.newness(fresh))
	g.n++
	return raw
}

// newness is by how much the share of new words exceeds the usual share.
func (g *gauge) newness(fresh int) float64 {
	share := float64(fresh) / float64(len(g.hashes)+3)
	above := math.Max(0, share-g.usual)
	g.usual += (share - g.usual) / math.Min(float64(g.n+2), 100)
	if g.n < settled {
		return above * float64(g.n) / settled
	}
	return above
}

// unlike is 1 minus the lexical overlap with the window: the share of words that do not occur in it. Short texts and
// a window that is still filling pull it towards one half.
func (g *gauge) unlike() float64 {
	unseen := 0
	kept := make([]uint64, len(g.hashes))
	copy(kept, g.hashes)
	for _, h := range kept {
		if g.recent[h] == 0 {
			unseen++
		}
	}
	slot := g.n % window
	for _, h := range g.window[slot] {
		g.recent[h]--
		if g.recent[h] <= 0 {
			delete(g.recent, h)
		}
	}
	for _, h := range kept {
		g.recent[h]++
	}
	g.window[slot] = kept
	share := (float64(unseen) + 1) / (float64(len(kept)) + 2)
	full := math.Min(1, float64(g.n)/settled)
	return share*full + .5*(1-full)
}

func strength(p mood.PAD) float64 { return math.Min(1, p.Distance(mood.PAD{})) }

func exclamations(spoken []voice) int {
	n := 0
	for _, v := range spoken {
		n += strings.Count(v.text, "!")
	}
	return n
}

// turningWords say that something changed or was unexpected.
var turningWords = hashed(`
		suddenly unexpectedly unexpected surprisingly surprised surprise surprising shocked shocking stunned unbelievable unusual strange strangely odd weird
		never finally realised realized discovered noticed learned changed decided quit resigned fired hired promoted lost won died dead born pregnant
		married engaged divorced moved broke broken failed crashed collapsed plunged surged spiked doubled halved record breakthrough accident hospital
		emergency diagnosed injured attacked stolen robbed arrested cancelled canceled postponed launched opened closed finished passed accepted rejected
		graduated adopted rescued survived escaped forgave betrayed confessed promised secret afraid dream nightmare crisis alarm urgent warning halt
		paused exploit liquidated outage anomaly instead however despite nevertheless wrong mistake regret miracle milestone turning`)
