package telemetry

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-56a03226/oneiros/internal/fairqueue"
)

// Turn is a request that was passed on to a model, with what metrics need. It contains no text.
type Turn struct {
	Path      string // of the wire, such as "/chat/completions" or "/embeddings"
	Status    int    // of the provider; 0: no response
	First     time.Duration
	Broken    bool // the provider's response broke off
	Dropped   bool // the client disconnected
	Woke      bool
	Late      bool   // part of the wake is completed later
	Chat      bool   // recall was possible
	Skipped   string // why nothing was recalled; empty when something was
	WordsOnly string // why only words were compared; empty when vectors were compared too
}

// serving holds the metrics of this process's server. Unlike the metrics of events, they differ by process: take the
// sum.
type serving struct {
	served []Figure

	requests, answered, turns, recalls, wordsOnly, upstream, woke, late *prometheus.CounterVec

	lasted, first *prometheus.HistogramVec
	under, queue  *prometheus.GaugeVec
	waited        *prometheus.HistogramVec
	shed          *prometheus.CounterVec
}

// waitBuckets are the bounds of what clients wait for: 1 to 8 ms cover our own overhead, the rest covers models.
var waitBuckets = []float64{.001, .002, .004, .008, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120}

func newServing(r prometheus.Registerer) serving {
	f := family{to: r}
	s := serving{
		requests: f.counter("http_requests",
			"Completed requests, by route and status. An unknown path has the route other.",
			"route", "status"),
		answered: f.counter("http_response_bytes", "Bytes of responses, by route.", "route"),
		lasted: f.histogram("http_request_seconds", "Duration of requests until their last byte, by route.",
			waitBuckets,
			"route"),
		turns: f.counter("turns",
			"Requests passed on to a model, by path and end: answered, refused (by the provider), broken (its "+
				"response broke off), dropped (the client disconnected) or failed (no response).",
			"path", "end"),
		first: f.histogram("turn_first_byte_seconds",
			"Time until the first byte of a model's response, including the model's own time, by path.", waitBuckets, "path"),
		recalls: f.counter("recalls",
			"Chat turns by the result of recall: recalled, words (only words were compared, because the question "+
				"could not be embedded), or why it was skipped (off, budget, busy, failed, nothing).",
			"recall"),
		wordsOnly: f.counter("recalls_words_only",
			"Chat turns whose memory was searched by words only, by reason: budget (the embedder took too long), "+
				"failed (it did not respond) or space (the vectors belong to another embedder).",
			"why"),
		upstream: f.counter("upstream_errors",
			"Errors of providers by kind: a status such as 429, or broken (the response broke off).", "kind"),
	}
	s.under = f.gauge("turns_under_way", "Running turns, by path.", "path")
	s.woke = f.counter("turns_woke", "Turns that woke their agent.")
	s.late = f.counter("turns_degraded", "Turns after which part of the wake is completed later.")
	s.queue = f.gauge("queue_waiting",
		"Requests that wait for a place, by queue: turns (serve.queue), or a provider (providers.NAME.concurrent).", "queue")
	s.waited = f.histogram("queue_wait_seconds",
		"How long requests that got no place at once waited, by queue and end: served, full or late (the server was "+
			"full), owners (the key has as many under way as it may), gave_up (the client hung up).", waitBuckets,
		"queue", "end")
	s.shed = f.counter("requests_shed",
		"Refused requests, by reason: rate_limit_exceeded (429), too_many_streams (429, the key has too much under "+
			"way) or overloaded (503).", "reason")
	s.queue.WithLabelValues("turns")
	for reason := range labelValues["reason"] {
		s.shed.WithLabelValues(reason)
	}
	s.woke.WithLabelValues()
	s.late.WithLabelValues()
	s.served = f.list
	for _, path := range []string{"chat", "embeddings"} {
		s.under.WithLabelValues(path)
		for end := range labelValues["end"] {
			s.turns.WithLabelValues(path, end)
		}
	}
	for recall := range labelValues["recall"] {
		s.recalls.WithLabelValues(recall)
	}
	for why := range labelValues["why"] {
		s.wordsOnly.WithLabelValues(why)
	}
	return s
}

// ServingFigures lists the metrics of the server, for the handbook.
func (s *serving) ServingFigures() []Figure { return s.served }

// Request counts a completed request. route is a pattern, never a path from a client.
func (s *serving) Request(route string, status int, lasted time.Duration, written int64) {
	if route == "" {
		route = other
	}
	s.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	s.answered.WithLabelValues(route).Add(float64(written))
	s.lasted.WithLabelValues(route).Observe(lasted.Seconds())
}

// Load counts what waits in one queue, and what is refused.
type Load struct {
	serving *serving
	queue   string
}

// Load returns the metrics of a queue.
func (s *serving) Load(queue string) Load { return Load{s, queue} }

// Queue notes how many wait.
func (l Load) Queue(waiting int) { l.serving.queue.WithLabelValues(l.queue).Set(float64(waiting)) }

// Waited notes how long a request waited, and why it got no place; empty when it got one.
func (l Load) Waited(waited time.Duration, refused fairqueue.Reason) {
	l.serving.waited.WithLabelValues(l.queue, cmp.Or(string(refused), "served")).Observe(waited.Seconds())
}

// Shed counts a request that was refused because there is too much.
func (l Load) Shed(code string) { l.serving.shed.WithLabelValues(word("reason", code)).Inc() }

// TurnBegins counts a turn that is passed on; the returned function is called when it has ended.
func (s *serving) TurnBegins(path string) (over func(Turn)) {
	name := pathWord(path)
	under := s.under.WithLabelValues(name)
	under.Inc()
	return func(t Turn) {
		under.Dec()
		s.countTurn(name, t)
	}
}

func (s *serving) countTurn(path string, t Turn) {
	s.turns.WithLabelValues(path, end(t)).Inc()
	if t.First > 0 {
		s.first.WithLabelValues(path).Observe(t.First.Seconds())
	}
	if t.Broken {
		s.upstream.WithLabelValues("broken").Inc()
	}
	if t.Status >= 400 && t.Status < 600 {
		s.upstream.WithLabelValues(strconv.Itoa(t.Status)).Inc()
	}
	if t.Woke {
		s.woke.WithLabelValues().Inc()
	}
	if t.Late {
		s.late.WithLabelValues().Inc()
	}
	if t.Chat && t.Status > 0 {
		recall := t.Skipped
		switch {
		case recall == "" && t.WordsOnly != "":
			recall = "words"
		case recall == "":
			recall = "recalled"
		}
		s.recalls.WithLabelValues(word("recall", recall)).Inc()
		if t.WordsOnly != "" {
			s.wordsOnly.WithLabelValues(word("why", t.WordsOnly)).Inc()
		}
	}
}

func end(t Turn) string {
	switch {
	case t.Broken:
		return "broken"
	case t.Dropped:
		return "dropped"
	case t.Status == 0:
		return "failed"
	case t.Status >= 400:
		return "refused"
	}
	return "answered"
}

func pathWord(path string) string {
	switch path {
	case "/chat/completions":
		return "chat"
	case "/embeddings":
		return "embeddings"
	case "/completions":
		return "completions"
	case "/responses":
		return "responses"
	case "/messages":
		return "messages"
	}
	return other
}
