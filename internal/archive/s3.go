package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// defaultEndpoint is the default endpoint.
const defaultEndpoint = "https://s3.amazonaws.com"

// maxTries is how often a request is tried in one pass.
const maxTries = 3

// keysWithin is the timeout for asking the machine for its role.
const keysWithin = 5 * time.Second

// s3 is a bucket on an S3-compatible server that honours If-None-Match.
type s3 struct {
	client *minio.Client
	bucket string
	prefix string // "" or with a slash at the end
	where  string
}

var _ Bucket = (*s3)(nil)

func openS3(u *url.URL) (*s3, error) {
	if u.User != nil {
		return nil,
			errors.New(
				"the archive's address contains a key; leave it out: keys come from AWS_ACCESS_KEY_ID and " +
					"AWS_SECRET_ACCESS_KEY, ~/.aws/credentials or the role of the machine")
	}
	if u.Host == "" {
		return nil,
			errors.New("the archive's address names no bucket; it must be like s3://bucket/prefix?region=eu-central-1")
	}
	query := u.Query()
	for name := range query {
		if name != "region" && name != "endpoint" {
			return nil, fmt.Errorf("the archive's address sets %q; it may set region and endpoint", name)
		}
	}
	at := query.Get("endpoint")
	if at == "" {
		at = defaultEndpoint
	}
	e, err := url.Parse(at)
	if err != nil || e.Host == "" || e.Scheme != "https" && e.Scheme != "http" {
		return nil,
			fmt.Errorf(
				"the archive's endpoint is %q; it must be like https://s3.example.org or http://127.0.0.1:9000", at)
	}
	client, err := minio.New(e.Host, &minio.Options{
		Secure: e.Scheme == "https", Region: query.Get("region"), MaxRetries: maxTries,
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: keysWithin}},
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("open the archive: %w", err)
	}
	b := &s3{client: client, bucket: u.Host, prefix: strings.Trim(u.Path, "/"), where: "s3://" + u.Host}
	if b.prefix != "" {
		b.prefix += "/"
		b.where += "/" + strings.TrimSuffix(b.prefix, "/")
	}
	return b, nil
}

// Where returns the address without its query.
func (b *s3) Where() string { return b.where }

// Create puts an object on the condition that it does not exist (If-None-Match: *).
func (b *s3) Create(ctx context.Context, name string, body []byte) error {
	var o minio.PutObjectOptions
	o.SetMatchETagExcept("*")
	err := b.put(ctx, name, body, o)
	if code(err) == http.StatusPreconditionFailed {
		return ErrExists
	}
	return wrapError("create", name, err)
}

// Replace puts an object.
func (b *s3) Replace(ctx context.Context, name string, body []byte) error {
	return wrapError("write", name, b.put(ctx, name, body, minio.PutObjectOptions{}))
}

func (b *s3) put(ctx context.Context, name string, body []byte, o minio.PutObjectOptions) error {
	o.ContentType = "application/x-ndjson"
	o.DisableMultipart = true // multipart uploads cannot be conditional
	_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, bytes.NewReader(body), int64(len(body)), o)
	return err
}

// Read gets an object.
func (b *s3) Read(ctx context.Context, name string) ([]byte, error) {
	o, err := b.client.GetObject(ctx, b.bucket, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, wrapError("read", name, err)
	}
	body, err := io.ReadAll(o)
	err = errors.Join(err, o.Close())
	if code(err) == http.StatusNotFound {
		return nil, ErrMissing
	}
	return body, wrapError("read", name, err)
}

// Names lists the objects in pages of a thousand; S3 returns them in order.
func (b *s3) Names(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var names []string
	for o := range b.client.ListObjects(ctx, b.bucket,
		minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, wrapError("list", prefix, o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, b.prefix))
	}
	return names, nil
}

// code returns the HTTP status of an error response; 0 for other errors.
func code(err error) int {
	var refused minio.ErrorResponse
	if errors.As(err, &refused) {
		return refused.StatusCode
	}
	return 0
}
