package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/psyche/rooms"
	"github.com/seed-56a03226/oneiros/internal/psyche/webhooks"
	"github.com/seed-56a03226/oneiros/internal/telemetry"
)

// webhookKeyFile is the name of the file in data_dir that has the key from which secrets of webhooks are made.
const webhookKeyFile = "webhook.key"

// leastKey is the least length of that key in bytes.
const leastKey = 32

// webhooks returns the webhooks of the rooms, as a part of this process runs them.
func (h *Deployment) webhooks(part string, speak *rooms.Service) *webhooks.Service {
	c := h.config
	return webhooks.New(webhooks.Ports{
		Rooms:  h.store.Rooms(),
		Agents: h.store,
		Speak:  speak,
		Now:    time.Now,
		Log:    h.log,
		Key: sync.OnceValues(func() ([]byte, error) {
			if c.Rooms.WebhookKeyFile != "" {
				return readWebhookKey(c.Rooms.WebhookKeyFile)
			}
			return ownWebhookKey(c.DataDir)
		}),
	}, h.Holder+"/"+part)
}

// ownWebhookKey reads the key in the data folder, and makes it when there is none.
func ownWebhookKey(folder string) ([]byte, error) {
	path := filepath.Join(folder, webhookKeyFile)
	key, err := readWebhookKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	made, err := os.CreateTemp(folder, webhookKeyFile+"-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(made.Name()) }()
	_, err = made.WriteString(rand.Text() + rand.Text() + "\n")
	if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(made.Name(), path); err != nil && !errors.Is(err,
		fs.ErrExist) { // another process may have been first
		return nil, err
	}
	return readWebhookKey(path)
}

func readWebhookKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) < leastKey {
		return nil, fmt.Errorf("%s has %d bytes; it must have at least %d", path, len(key), leastKey)
	}
	return key, err
}

// webhookQueue is what webhooks have yet to send.
func webhookQueue(ctx context.Context, store room.Store, now time.Time) (q telemetry.WebhookQueue, err error) {
	all, err := store.Webhooks(ctx, "")
	for _, w := range all {
		if err != nil || w.URL == "" {
			continue
		}
		if w.Tries > 0 {
			q.Failing++
		}
		var waiting int64
		var oldest time.Duration
		waiting, oldest, err = room.Behind(ctx, store, w.Room, w.After, now)
		q.Waiting, q.Oldest = q.Waiting+waiting, max(q.Oldest, oldest)
	}
	return q, err
}
