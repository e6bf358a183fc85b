package derive

import (
	"math"
	"slices"
	"strings"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/mood"
)

// Marks are the weights of one episode's words by themselves. Salience and length are ranked within the import.
type Marks struct {
	salience float32
	length   float32
	surprise float32
}

// Surprise is what of an episode its past lacks, in [0, 1].
func (m Marks) Surprise() float64 { return round(float64(m.surprise)) }

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
	unprepared = .5      // the surprise of what follows no past
	usualWords = 2       // words of its usual surprise are added to each episode, against the luck of short ones
)

// Gauge weighs episodes in the order in which they come.
type Gauge struct {
	seen   map[uint64]struct{}
	recent map[uint64]int // words of the window, counted
	window [window][]uint64
	n      int
	usual  float64 // running mean share of new words
	unlike float64 // running mean share of words that the window lacks
	tokens []word
	spoken []Turn
	hashes []uint64
	topics []uint64 // the same without numbers
}

// NewGauge has read nothing.
func NewGauge() *Gauge {
	return &Gauge{seen: map[uint64]struct{}{}, recent: map[uint64]int{}, usual: .5, unlike: unprepared}
}

// Measure weighs one episode and remembers its words.
func (g *Gauge) Measure(d *Draft) Marks {
	g.spoken = d.voices(g.spoken[:0])
	g.tokens = g.tokens[:0]
	questions := 0
	for _, v := range g.spoken {
		g.tokens = words(v.Text, g.tokens)
		questions += strings.Count(v.Text, "?")
	}
	var names, numbers, turning, fresh int
	g.hashes, g.topics = g.hashes[:0], g.topics[:0]
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
		if !w.digits {
			g.topics = append(g.topics, w.hash)
		}
	}
	pad := d.Episode.Affect
	if !d.Felt {
		pad = affectOf(g.tokens, exclamations(g.spoken))
	}
	raw := Marks{length: float32(len(g.tokens)), surprise: float32(g.surprise())}
	raw.salience = float32(
		weighTurning*float64(min(turning, 3)) + weighFeeling*strength(pad) + weighName*float64(min(names, 4)) +
			weighNumber*float64(min(numbers, 3)) + weighAsking*float64(min(questions, 2)) + weighNew*g.newness(fresh))
	g.n++
	return raw
}

// newness is by how much the share of new words exceeds the usual share.
func (g *Gauge) newness(fresh int) float64 {
	share := float64(fresh) / float64(len(g.hashes)+3)
	above := math.Max(0, share-g.usual)
	g.usual += (share - g.usual) / math.Min(float64(g.n+2), 100)
	if g.n < settled {
		return above * float64(g.n) / settled
	}
	return above
}

// Recall reads what the agent remembers already, oldest first, so that an import continues its past. At most fifty
// episodes count.
func (g *Gauge) Recall(existing []*dream.Episode) {
	for _, e := range existing[max(0, len(existing)-window):] {
		g.Measure(&Draft{Episode: *e, Felt: true})
	}
}

// surprise is the share of an episode's words that the fifty episodes before it lack, in [0, 1]. Nothing is ranked: a
// life in which every day is like the one before has little of it, whatever else the import holds. The few words of a
// short episode are completed by what is usual for the agent, and the first ten episodes are drawn towards one half,
// because they follow no past. A number is no subject: what changes from day to day by its date alone is nothing new.
func (g *Gauge) surprise() float64 {
	kept := slices.Clone(g.topics)
	unseen := 0
	for _, h := range kept {
		if g.recent[h] == 0 {
			unseen++
		}
	}
	g.keep(kept)
	share := (float64(unseen) + usualWords*g.unlike) / (float64(len(kept)) + usualWords)
	if len(kept) > 0 {
		g.unlike += (float64(unseen)/float64(len(kept)) - g.unlike) / math.Min(float64(g.n+2), window)
	}
	full := math.Min(1, float64(g.n)/settled)
	return share*full + unprepared*(1-full)
}

// keep puts an episode's words into the window in the place of the oldest.
func (g *Gauge) keep(words []uint64) {
	slot := g.n % window
	for _, h := range g.window[slot] {
		g.recent[h]--
		if g.recent[h] <= 0 {
			delete(g.recent, h)
		}
	}
	for _, h := range words {
		g.recent[h]++
	}
	g.window[slot] = words
}

func strength(p mood.PAD) float64 { return math.Min(1, p.Distance(mood.PAD{})) }

func exclamations(spoken []Turn) int {
	n := 0
	for _, v := range spoken {
		n += strings.Count(v.Text, "!")
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
