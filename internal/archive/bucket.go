// Package archive keeps every agent's events as JSON lines outside the store, in a folder or an object store, each
// once.
package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// The failures that callers branch on.
var (
	ErrExists  = errors.New("exists already")
	ErrMissing = errors.New("does not exist")
)

// Bucket is where objects are kept: names with slashes, and bodies that are whole or absent, whoever is killed in
// between.
type Bucket interface {
	// Create makes an object that is not there yet. ErrExists, and the object stays as it is: of several that create
	// one name at once, by whichever processes, one succeeds.
	Create(ctx context.Context, name string, body []byte) error
	// Replace writes an object, whether it was there or not.
	Replace(ctx context.Context, name string, body []byte) error
	// Read returns an object. ErrMissing.
	Read(ctx context.Context, name string) ([]byte, error)
	// Names lists the objects whose names begin with a prefix that ends in a slash, in order.
	Names(ctx context.Context, prefix string) ([]string, error)
	// Where says where it is, for people; no secret.
	Where() string
}

// Open finds the bucket of an address: a folder (an absolute or relative path, or file:///path), which is made when it
// is not there, or s3://bucket/prefix?region=R&endpoint=URL for whatever speaks S3. The keys of the latter come from
// where S3's own tools look: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, the role of the machine.
// One that would lose events when two write to it is refused.
func Open(ctx context.Context, address string) (Bucket, error) {
	b, err := Reach(address)
	if err != nil {
		return nil, err
	}
	return b, exclusive(ctx, b)
}

// Reach is Open for whoever only reads: nothing is written.
func Reach(address string) (Bucket, error) {
	scheme, _, remote := strings.Cut(address, "://")
	if !remote {
		return OpenFolder(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the archive's address cannot be read as one")
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

// probe is an object that only tells whether a bucket refuses to create what exists.
const probe = "position/.exclusive"

// exclusive refuses a bucket that would let one archiver write over another: events could be lost there.
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
			"%s lets an object be written over although it was to be created (it ignores If-None-Match); two workers could lose events there",
			b.Where())
	}
	return fmt.Errorf("open the archive: %w", err)
}
