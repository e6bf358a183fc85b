package archive_test

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// s3server implements the part of S3 that an archive needs. With lax set it ignores If-None-Match, as some servers do.
type s3server struct {
	*httptest.Server
	lax  bool
	away atomic.Bool

	mu      sync.Mutex
	objects map[string][]byte
}

func newS3(t *testing.T, lax bool) *s3server {
	t.Helper()
	s := &s3server{lax: lax, objects: map[string][]byte{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *s3server) address(prefix string) string {
	return "s3://nights/" + prefix + "?region=eu-central-1&endpoint=" + s.URL
}

func (s *s3server) serve(w http.ResponseWriter, r *http.Request) {
	if s.away.Load() || !strings.Contains(r.Header.Get("Authorization"), "Credential=keeper/") {
		refuse(w, http.StatusForbidden, "AccessDenied")
		return
	}
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch held, there := s.objects[key]; {
	case r.Method == http.MethodPut && there && !s.lax && r.Header.Get("If-None-Match") == "*":
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		s.objects[key] = payload(r)
		w.Header().Set("ETag", `"e"`)
	case key == "":
		s.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("continuation-token"))
	case !there:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", "Thu, 12 Mar 2026 04:10:00 GMT")
		w.Header().Set("Content-Length", strconv.Itoa(len(held)))
		_, _ = w.Write(held)
	}
}

// list returns two names at a time, so that paging is tested.
func (s *s3server) list(w http.ResponseWriter, prefix, after string) {
	type content struct{ Key string }
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []content
	}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(page.Contents) == 2 {
			page.IsTruncated, page.NextContinuationToken = true, page.Contents[1].Key
			break
		}
		page.Contents = append(page.Contents, content{key})
	}
	_ = xml.NewEncoder(w).Encode(page)
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

// payload decodes the signed chunks of a body: size in hex, a signature, the bytes.
func payload(r *http.Request) []byte {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		body, _ := io.ReadAll(r.Body)
		return body
	}
	var whole bytes.Buffer
	in := bufio.NewReader(r.Body)
	for {
		head, err := in.ReadString('\n')
		size, _, _ := strings.Cut(strings.TrimSpace(head), ";")
		n, _ := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return whole.Bytes()
		}
		_, _ = io.CopyN(&whole, in, n)
		_, _ = in.ReadString('\n')
	}
}
