package serving_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/internal/exchange"
	"github.com/seed-56a03226/oneiros/internal/jsonscan"
	"github.com/seed-56a03226/oneiros/testsuite/provider"
	"github.com/seed-56a03226/oneiros/testsuite/serving/talker"
)

// The rounds of BenchmarkAdded. In each one every way is measured, and a figure is the median of the rounds.
const rounds = 9

// schedule is how a question tells the provider how many pieces to send, and how far apart.
var schedule = regexp.MustCompile(`(\d+) pieces every (\d+) us`)

// metronome is stopwatch for requests on every wire: it finds its schedule in the text of the question. It answers with a
// chat completion, and below /native in the form of the wire that it is asked on.
func metronome(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	sum := schedule.FindSubmatch(body)
	if sum == nil {
		http.Error(w, "the question names no pieces", http.StatusBadRequest)
		return
	}
	pieces, _ := strconv.Atoi(string(sum[1]))
	each, _ := strconv.Atoi(string(sum[2]))
	apart := time.Duration(each) * time.Microsecond
	switch r.URL.Path {
	case "/native/responses":
		sendAs(w, pieces, apart,
			"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"%d \"}\n\n",
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":9}}}\n\n")
	case "/native/messages":
		sendAs(w, pieces, apart,
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%d \"}}\n\n",
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	default:
		send(w, pieces, apart)
	}
}

// sentAt finds the time in a piece of an answer on any wire.
var sentAt = regexp.MustCompile(`"(?:content|delta|text)":"(\d+) "`)

// legs are what one stream took, in milliseconds.
type legs struct {
	first  float64   // from the request until the first piece is there
	ahead  float64   // from the request until the provider sends its first piece
	pieces []float64 // of each later piece, from its sending to its arrival
}

// question is a request of BenchmarkAdded. Its body has the place of the text as %s.
type question struct {
	path, body string
	header     map[string]string
	pieces     int
	each       time.Duration
	filler     string
}

// arrival notes when the last bytes came: the lines of one packet arrive together, however long they take to read.
type arrival struct {
	io.Reader
	at time.Time
}

func (a *arrival) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	a.at = time.Now()
	return n, err
}

var questions atomic.Int64 // no two questions are the same

func (q *question) ask(client *http.Client, base, model string) (l legs, err error) {
	text := fmt.Sprintf("%d: %d pieces every %d us: what did the barometer say before the storm came over the hill? %s",
		questions.Add(1), q.pieces, q.each.Microseconds(), q.filler)
	r, err := http.NewRequest(http.MethodPost, base+q.path, strings.NewReader(fmt.Sprintf(q.body, model, text)))
	if err != nil {
		return l, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	began := time.Now()
	res, err := client.Do(r)
	if err != nil {
		return l, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(res.Body)
		return l, fmt.Errorf("%s: %d: %s", q.path, res.StatusCode, answer)
	}
	arriving := &arrival{Reader: res.Body}
	for lines := bufio.NewReader(arriving); ; {
		line, err := lines.ReadSlice('\n')
		now := arriving.at
		if sent := sentAt.FindSubmatch(line); sent != nil && !strings.Contains(string(line), ".done") {
			at, _ := strconv.ParseInt(string(sent[1]), 10, 64)
			if l.first == 0 {
				l.first, l.ahead = ms(now.Sub(began)), ms(time.Duration(at)-began.Sub(epoch))
			} else {
				l.pieces = append(l.pieces, ms(now.Sub(epoch)-time.Duration(at)))
			}
		}
		if err == io.EOF && l.first > 0 {
			return l, nil
		}
		if err != nil {
			return l, fmt.Errorf("%s: the answer ended after %d pieces: %w", q.path, len(l.pieces), err)
		}
	}
}

// BenchmarkAdded measures what `oneiros up` adds to a streamed answer, and what two small proxies add, each against the
// provider asked directly. The four are asked in turn, in nine rounds, of which the medians are reported:
// of the first byte, of the part of it that passes before the provider begins to answer, of every later piece, and of
// the CPU of a request. -ratio is what is added by the server over what is added by copying, and -floor-ratio what is
// added by a process that also reads the body and each event, over the same.
func BenchmarkAdded(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(metronome))
	b.Cleanup(upstream.Close)
	h := build(b, talker.Options{}, provider.Options{},
		`serve: {listen: "127.0.0.1:0", rate: 0, key_streams: 1000}
agent: {client_timeout: 1h}`)
	h.talker.URL = upstream.URL
	h.paid = fmt.Sprintf(`  dear:
    profile: generic
    base_url: %s
    models: [{name: talker, price: {in: "0.01", out: "0.01"}, context: 100000}]
  native:
    profile: generic
    base_url: %s/native
    local: true
    wires: [chat, responses, messages]
    models: [{name: talker, context: 100000}]
`, upstream.URL, upstream.URL)
	h.write()
	h.must("agents", "add", "native", "--model", "generator=native/talker")
	h.must("agents", "add", "plain", "--model", "generator=talk/talker")
	h.must("agents", "add", "priced", "--model", "generator=dear/talker")
	h.must("agents", "add", "full", "--model", "generator=talk/talker")
	h.must("memory", "import", "--agent", "full", tale(b, 1000))
	h.begin("up")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	a := &adding{TB: b, client: client, direct: upstream.URL}
	a.served, a.up = h.base, h.up.Process.Pid
	a.copied, a.copier = startCopier(b, upstream.URL)
	a.read, a.reader = startProxy(b, reading, upstream.URL)

	off := map[string]string{"X-Oneiros-Recall": "off", "X-Oneiros-Store": "off"}
	chat := question{
		path: "/chat/completions", header: off, pieces: 1,
		body: `{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`,
	}
	responses := question{
		path: "/responses", header: off, pieces: 1,
		body: `{"model":%q,"stream":true,"store":false,"input":[{"role":"user","content":%q}]}`,
	}
	messages := question{
		path: "/messages", header: off, pieces: 1,
		body: `{"model":%q,"stream":true,"max_tokens":1000,"messages":[{"role":"user","content":%q}]}`,
	}
	for _, wire := range []question{chat, responses, messages} {
		b.Run("nothing"+wire.path, func(b *testing.B) { a.row(b, "plain", wire, 1, 60) })
	}
	for _, wire := range []question{chat, responses, messages} {
		wire.filler = strings.Repeat("The lamp in the harbour flickered all evening. ", 850)
		b.Run("40kB"+wire.path, func(b *testing.B) { a.row(b, "plain", wire, 1, 30) })
	}
	native := *a
	native.direct = upstream.URL + "/native"
	native.copied, native.copier = startCopier(b, native.direct)
	for _, wire := range []question{responses, messages} {
		b.Run("native"+wire.path, func(b *testing.B) { native.row(b, "native", wire, 1, 60) })
	}
	recall := chat
	recall.header = map[string]string{"X-Oneiros-Store": "off"}
	b.Run("recall", func(b *testing.B) { a.row(b, "full", recall, 1, 30) })
	b.Run("anchors", func(b *testing.B) { a.row(b, "full", a.anchored(chat), 1, 60) })
	b.Run("reservation", func(b *testing.B) { a.row(b, "priced", chat, 1, 60) })
	for _, wire := range []question{responses, messages} {
		wire.pieces, wire.each = 30, 10*time.Millisecond
		b.Run("native/pieces"+wire.path, func(b *testing.B) { native.row(b, "native", wire, 1, 1) })
	}
	for _, wire := range []question{chat, responses, messages} {
		wire.pieces, wire.each = 30, 10*time.Millisecond
		b.Run("pieces"+wire.path, func(b *testing.B) { a.row(b, "plain", wire, 1, 1) })
	}
	for _, wire := range []question{chat, responses, messages} {
		wire.pieces, wire.each = 12, 20*time.Millisecond
		b.Run("streams=16"+wire.path, func(b *testing.B) { a.row(b, "plain", wire, 16, 3) })
	}
	h.end()
}

// adding is the deployment of BenchmarkAdded with its three ways to the provider.
type adding struct {
	testing.TB
	client                       *http.Client
	direct, served, copied, read string
	up, copier, reader           int // process ids
}

// anchored is a question that goes on in a talk of five turns, of which each was given memories.
func (a *adding) anchored(q question) question {
	var talk strings.Builder
	header := map[string]string{"X-Oneiros-Conversation": "anchored", "X-Oneiros-Store": "off"}
	for i := range 5 {
		fmt.Fprintf(&talk,
			`{"role":"user","content":"%d: 1 pieces every 0 us: what did the barometer say on day %d?"},`, i, i)
		earlier := q
		earlier.header = header
		earlier.body = `{"model":%q,"stream":true,"metadata":{"about":%q},"messages":[` +
			strings.TrimSuffix(talk.String(), ",") +
			`]}`
		_, err := earlier.ask(a.client, a.served, "full")
		require.NoError(a, err)
		talk.WriteString(`{"role":"assistant","content":"It fell."},`)
	}
	q.body = `{"model":%q,"stream":true,"messages":[` + talk.String() + `{"role":"user","content":%q}]}`
	q.header = map[string]string{
		"X-Oneiros-Conversation": "anchored", "X-Oneiros-Store": "off", "X-Oneiros-Recall": "off",
	}
	return q
}

// figures are those of one round, by their names.
type figures map[string]float64

// row measures one row: in each round every way is asked so many times by each stream. A single stream asks the three
// ways in turn, request by request; several ask one way after the other, each beginning while others run.
func (a *adding) row(b *testing.B, agent string, q question, streams, times int) {
	for range 5 {
		_, err := q.once(a.client, a.served, agent)
		require.NoError(b, err)
	}
	b.ResetTimer()
	for range b.N {
		all := map[string][]float64{}
		for round := range rounds {
			for name, value := range a.round(b, agent, q, streams, times, round) {
				all[name] = append(all[name], value)
			}
		}
		for name, values := range all {
			b.ReportMetric(quantile(values, .5), name)
			if strings.HasSuffix(name, "-ratio") && !strings.HasSuffix(name, "-floor-ratio") {
				b.ReportMetric(quantile(values, 0), name+"-least")
				b.ReportMetric(quantile(values, 1), name+"-most")
			}
		}
	}
}

// once asks for one piece.
func (q question) once(client *http.Client, base, model string) (legs, error) {
	q.pieces = 1
	return q.ask(client, base, model)
}

// round measures every way once.
func (a *adding) round(b *testing.B, agent string, q question, streams, times, round int) figures {
	var first, ahead, pieces [scanned + 1][]float64
	var cpu [scanned + 1]float64
	measure := func(way int, apart time.Duration) {
		base, model, pid := a.direct, "talker", 0
		switch way {
		case served:
			base, model, pid = a.served, agent, a.up
		case carried:
			base, pid = a.copied, a.copier
		case scanned:
			base, pid = a.read, a.reader
		}
		before := onCPU(b, pid)
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				time.Sleep(apart * time.Duration(i) / time.Duration(streams))
				l, err := q.ask(a.client, base, model)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					b.Error(err)
				}
				first[way], ahead[way] = append(first[way], l.first), append(ahead[way], l.ahead)
				pieces[way] = append(pieces[way], l.pieces...)
			})
		}
		all.Wait()
		cpu[way] += float64(onCPU(b, pid)-before) / float64(time.Microsecond)
	}
	for i := range times {
		for way := range scanned + 1 { // none always comes after the same one
			measure((way+i+round)%(scanned+1), time.Duration(min(streams-1, 1))*200*time.Millisecond)
		}
	}
	f := figures{}
	requests := float64(streams * times)
	f["cpu-us"], f["bare-cpu-us"] = cpu[served]/requests, cpu[carried]/requests
	f["floor-cpu-us"] = cpu[scanned] / requests
	f.added("first", &first)
	f["ahead-ms"] = quantile(ahead[served], .5) - quantile(ahead[carried], .5)
	if q.pieces > 1 {
		f.added("piece", &pieces)
	}
	return f
}

// added notes by how much the server and the bare proxy are above the direct way, in the median, and their ratio.
func (f figures) added(what string, of *[scanned + 1][]float64) {
	alone := quantile(of[direct], .5)
	byServer, byCopying := quantile(of[served], .5)-alone, quantile(of[carried], .5)-alone
	f[what+"-floor-ratio"] = (quantile(of[scanned], .5) - alone) / byCopying
	f[what+"-added-ms"], f[what+"-bare-ms"], f[what+"-ratio"] = byServer, byCopying, byServer/byCopying
}

// runReader is a proxy that reads what it passes on: a body whole and as JSON, and of an answer every event.
func runReader(upstream string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	away := &http.Transport{MaxIdleConnsPerHost: 1000}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || jsonscan.Members(body, func(_, _ []byte) error { return nil }) != nil {
			return
		}
		on, err := http.NewRequestWithContext(r.Context(), r.Method, upstream+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			return
		}
		on.Header = r.Header
		res, err := away.RoundTrip(on)
		if err != nil {
			return
		}
		defer func() { _ = res.Body.Close() }()
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		control, piece := http.NewResponseController(w), make([]byte, 4<<10)
		events := exchange.Events{Limit: exchange.EventLimit}
		for {
			n, err := res.Body.Read(piece)
			_ = events.Push(piece[:n])
			for data, found := events.Pop(); found; data, found = events.Pop() {
				_ = jsonscan.Members(data, func(_, _ []byte) error { return nil })
			}
			if n > 0 {
				if _, err := w.Write(piece[:n]); err != nil || control.Flush() != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}))
}

// onCPU is how long the threads of a process have run; 0 without a process.
func onCPU(b *testing.B, pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	require.NoError(b, err)
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil { // the thread has ended
			continue
		}
		ran, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		require.NoError(b, err)
		sum += time.Duration(ran)
	}
	return sum
}
