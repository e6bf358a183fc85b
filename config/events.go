package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Archive configures where events are copied outside the store.
type Archive struct {
	URL   string        `json:"url"` // a path, file:// or s3://, without keys; empty: nowhere
	Every time.Duration `json:"every"`
}

// Metrics configures where a worker serves its metrics.
type Metrics struct {
	Listen string `json:"listen"` // host:port; empty: nowhere
	Agents bool   `json:"agents"` // add the agent's handle as a label
}

// validate never repeats the value of archive.url in an error: it may contain a key by mistake.
func (a Archive) validate() error {
	scheme, _, remote := strings.Cut(a.URL, "://")
	if !remote {
		return nil
	}
	const right = "it must be a path, file:///path or s3://bucket/prefix?region=R"
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || scheme != "file" && scheme != "s3":
		return errors.New("archive.url is no address of an archive; " + right)
	case u.User != nil:
		return errors.New(
			"archive.url holds a key; leave it out: it comes from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials or the role of the machine")
	case scheme == "file" && (u.Host != "" || u.Path == ""), scheme == "s3" && u.Host == "":
		return errors.New("archive.url names no place; " + right)
	}
	for name := range u.Query() {
		if scheme != "s3" || name != "region" && name != "endpoint" {
			return fmt.Errorf("archive.url sets %s; an address of s3:// may set region and endpoint, others nothing",
				quoted(name))
		}
	}
	return nil
}
