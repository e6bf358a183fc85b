package plugin

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How long a program has to end: by itself when its input has ended, then after a signal, before it is killed.
var (
	endsWithin = 2 * time.Second
	diesWithin = time.Second
)

// inherited are the variables that a program gets of our environment. None of them holds a secret.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
	"SystemRoot", "SYSTEMROOT", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "TEMP", "TMP",
	"ProgramFiles", "ProgramData", "HOMEDRIVE", "HOMEPATH",
}

// environment is what a program gets: what every program needs, and what the person gives it.
func environment(all []string, own map[string]string) []string {
	var env []string
	for _, each := range all {
		name, _, _ := strings.Cut(each, "=")
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, each)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// process is a program that was started.
type process struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *os.File
	log   *log
	ended chan struct{} // closed when it has ended
	err   error         // how; set before ended is closed
	once  sync.Once
}

func start(s *Server, log *log) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env = environment(os.Environ(), s.Env)
	cmd.Stderr = log
	cmd.WaitDelay = diesWithin // for what it left holds standard error open
	ownGroup(cmd)
	input, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, output, err := os.Pipe()
	if err != nil {
		_, _ = input.Close(), in.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout = input, output
	err = cmd.Start()
	_, _ = input.Close(), output.Close()
	if err != nil {
		_, _ = in.Close(), out.Close()
		return nil, fmt.Errorf("it does not start: %w", err)
	}
	log.begin()
	p := &process{
		cmd:   cmd,
		in:    in,
		out:   out,
		log:   log,
		ended: make(chan struct{}),
	}
	go func() {
		p.err = cmd.Wait()
		log.flush()
		close(p.ended)
	}()
	return p, nil
}

func (p *process) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: largestAnswer}
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// why adds to an error how the program has ended, if it has, and what it said last.
func (p *process) why(err error) error {
	select {
	case <-p.ended:
		if p.err != nil {
			err = fmt.Errorf("it ended: %w", p.err)
		} else {
			err = errEnded
		}
	case <-time.After(diesWithin / 10): // its output may have ended before itself
	}
	if last := p.log.lastLine(); last != "" {
		return fmt.Errorf("%w; it says: %s", err, last)
	}
	return err
}

// end ends the program and what it has started in its group, and returns when it has ended.
func (p *process) end() {
	p.once.Do(func() {
		_ = p.in.Close()
		if !p.endsWithin(endsWithin) {
			terminate(p.cmd)
			p.endsWithin(diesWithin)
		}
		kill(p.cmd) // what is left of its group, too
		<-p.ended
		_ = p.out.Close()
	})
}

func (p *process) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

// Limits of what a program writes to standard error.
const (
	longestLine = 500      // bytes; the rest of a line is left out
	mostLog     = 64 << 10 // bytes between two starts; the rest is left out
)

// log passes on what a program writes to standard error, in plain lines after its name.
type log struct {
	name string
	to   io.Writer

	mu    sync.Mutex
	line  []byte
	last  string
	count int
}

func (l *log) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line, l.last, l.count = nil, "", 0
}

// Write takes everything, so that the program is not held up.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if room := longestLine - len(l.line); room > 0 {
			l.line = append(l.line, line[:min(room, len(line))]...)
		}
		if found {
			l.pass()
		}
		rest = after
	}
	return len(p), nil
}

func (l *log) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.line) > 0 {
		l.pass()
	}
}

// pass passes the line on. Its caller holds the lock.
func (l *log) pass() {
	text := strings.TrimSpace(plainText(string(l.line)))
	l.line = l.line[:0]
	if text == "" {
		return
	}
	l.last = text
	before := l.count
	l.count += len(text)
	switch {
	case l.count <= mostLog:
		_, _ = fmt.Fprintf(l.to, "%s: %s\n", l.name, text)
	case before <= mostLog:
		_, _ = fmt.Fprintf(l.to, "%s: (it writes more, which is left out)\n", l.name)
	}
}

func (l *log) lastLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return plainText(string(l.line))
	}
	return l.last
}

// sharedWriter lets one line at a time through.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer // nil: nowhere
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		return len(p), nil
	}
	return w.to.Write(p)
}

// remote is the way to a server at an address. It follows no redirect, which could carry the headers elsewhere.
func (s *server) remote() mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint: s.URL,
		HTTPClient: &http.Client{
			Transport:     headers(s.Headers),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		MaxRetries:           -1,
		MaxEventSize:         largestAnswer,
		DisableStandaloneSSE: true,
	}
}

// headers are sent with each request.
type headers map[string]string

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
