package front

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"
)

// TLS names a certificate's files, in PEM. They are read again when they have changed; if that fails, the old ones
// stay.
type TLS struct {
	Cert, Key string
}

// certificate is the certificate that was read last.
type certificate struct {
	files  TLS
	report func(error)
	mu     sync.Mutex
	held   *tls.Certificate
	stamp  [2]stamp
	looked time.Time
}

// stamp identifies the state of a file.
type stamp struct {
	at   time.Time
	size int64
}

// lookAfter is how long the files are assumed to be unchanged.
const lookAfter = time.Second

func (t TLS) config(report func(error)) (*tls.Config, error) {
	c := &certificate{files: t, report: report}
	if err := c.read(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.newest(), nil },
	}, nil
}

func (c *certificate) stamps() (s [2]stamp, err error) {
	for i, name := range []string{c.files.Cert, c.files.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return s, fmt.Errorf("the certificate's file: %w", err)
		}
		s[i] = stamp{info.ModTime(), info.Size()}
	}
	return s, nil
}

func (c *certificate) read() error {
	stamps, err := c.stamps()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.files.Cert, c.files.Key, err)
	}
	c.held, c.stamp = &pair, stamps
	return nil
}

// newest is the certificate in the files now. While only one of the two files has been replaced they do not fit, and
// the old pair is used.
func (c *certificate) newest() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookAfter {
		return c.held
	}
	c.looked = time.Now()
	stamps, err := c.stamps()
	if err == nil && stamps != c.stamp {
		err = c.read()
	}
	if err != nil {
		c.report(fmt.Errorf("the old certificate is shown on: %w", err))
	}
	return c.held
}

// quiet is a log that drops everything: net/http reports every failed handshake of strangers.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
