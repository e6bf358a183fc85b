// Package archive copies every agent's events as JSON lines out of the store into a folder or an object store, each
// event once.
package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Errors that callers branch on.
var (
	ErrExists  = errors.New("exists already")
	ErrMissing = errors.New("does not exist")
)

// Bucket stores objects: names with slashes, and bodies that are complete or absent, even if a process is killed during
// a write.
type Bucket interface {
	// Create makes a new object. ErrExists when it exists already; it then stays unchanged. When several processes
	// create one name at once, exactly one succeeds.
	Create(ctx context.Context, name string, body []byte) error
	// Replace writes an object, whether it exists or not.
	Replace(ctx context.Context, name string, body []byte) error
	// Read returns an object. ErrMissing.
	Read(ctx context.Context, name string) ([]byte, error)
	// Names lists the objects whose names begin with a prefix that ends in a slash, in order.
	Names(ctx context.Context, prefix string) ([]string, error)
	// Where returns the location for display, without secrets.
	Where() string
}

// Open opens the bucket of an address: a folder (an absolute or relative path, or file:///path), which is created when
// it is missing, or s3://bucket/prefix?region=R&endpoint=URL for any S3-compatible server. S3 credentials come from the
// standard places: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, or the role of the machine. A
// bucket that would lose events under concurrent writers is refused.
func Open(ctx context.Context, address string) (Bucket, error) {
	b, err := OpenReadOnly(address)
	if err != nil {
		return nil, err
	}
	return b, exclusive(ctx, b)
}

// OpenReadOnly opens a bucket for reading only: nothing is written, not even by a check.
func OpenReadOnly(address string) (Bucket, error) {
	scheme, _, remote := strings.Cut(address, "://")
	if !remote {
		return OpenFolder(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the archive's address is not a valid URL")
	}
	switch scheme {
	case "file":
		if u.Host != "" || u.Path == "" {
			return nil,
				fmt.Errorf("the archive's address is %q; a folder's must be like file:///var/lib/oneiros/archive",
					address)
		}
		return OpenFolder(filepath.FromSlash(u.Path))
	case "s3":
		return openS3(u)
	}
	return nil, fmt.Errorf("the archive's address begins with %s://; it must be a path, file:// or s3://", scheme)
}

// probe is an object for testing whether a bucket refuses to create an existing object.
const probe = "position/.exclusive"

// exclusive refuses a bucket in which one archiver could overwrite another's objects.
func exclusive(ctx context.Context, b Bucket) error {
	body := []byte("It is here to see whether a second one can be made. Keep it.\n")
	err := b.Create(ctx, probe, body)
	if err == nil {
		err = b.Create(ctx, probe, body)
	}
	switch {
	case errors.Is(err, ErrExists):
		return nil
	case err == nil:
		return fmt.Errorf(
			"%s overwrites an existing object that it should refuse to create (it ignores If-None-Match); "+
				"two workers could lose events there",
			b.Where())
	}
	return fmt.Errorf("open the archive: %w", err)
}
