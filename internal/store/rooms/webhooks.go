package rooms

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// AddWebhook keeps a webhook.
func (s *Store) AddWebhook(ctx context.Context, w room.Webhook) (room.Webhook, error) {
	w.Created = utc(w.Created)
	what := "webhook " + w.Name + " of room " + w.Room
	if err := w.Validate(); err != nil {
		return room.Webhook{}, store.Wrap(err, what)
	}
	return update(ctx, s, what, func(t *tx) room.Webhook {
		w.After = t.place(w.Room).Events
		if t.body(webhookName(w.Room, w.Name)) != nil {
			t.fail(fmt.Errorf("there is a webhook of this name: %w", room.ErrTaken))
		}
		t.set(webhookName(w.Room, w.Name), w)
		return w
	})
}

// Webhooks lists webhooks.
func (s *Store) Webhooks(ctx context.Context, id string) ([]room.Webhook, error) {
	return read(ctx, s, "webhooks of room "+id, func(t *tx) []room.Webhook {
		if id != "" {
			return all[room.Webhook](t.recordTx, Range{Prefix: webhookName(id, "")})
		}
		prefix := index("webhook") + "/"
		return named[room.Webhook](t.recordTx, names(t.scan(Range{Prefix: prefix}), prefix, func(rest string) string {
			in, name, _ := strings.Cut(rest, "/")
			return webhookName(in, name)
		}))
	})
}

func (t *recordTx) webhook(id, name string) room.Webhook {
	w, ok := get[room.Webhook](t, webhookName(id, name))
	if !ok {
		t.fail(room.ErrNotFound)
	}
	return w
}

// RemoveWebhook removes a webhook.
func (s *Store) RemoveWebhook(ctx context.Context, id, name string) (room.Webhook, error) {
	return update(ctx, s, "remove webhook "+name+" of room "+id, func(t *tx) room.Webhook {
		w := t.webhook(id, name)
		t.drop(webhookName(id, name))
		return w
	})
}

// TakeWebhook lets a holder send.
func (s *Store) TakeWebhook(
	ctx context.Context, id, name, holder string, span time.Duration, now time.Time,
) (room.Webhook, error) {
	return update(ctx, s, "take webhook "+name+" of room "+id, func(t *tx) room.Webhook {
		w := t.webhook(id, name)
		if w.Holder != holder && w.Until.After(now) {
			t.fail(fmt.Errorf("%s sends until %s: %w", w.Holder, w.Until.Format(time.RFC3339), room.ErrFenced))
		}
		if t.err != nil {
			return room.Webhook{}
		}
		w.Holder, w.Until = holder, utc(now.Add(span))
		t.set(webhookName(id, name), w)
		return w
	})
}

// NoteSent keeps how far a webhook has come.
func (s *Store) NoteSent(ctx context.Context, sent room.SentEvents) error {
	_, err := update(ctx, s, "note what webhook "+sent.Name+" sent", func(t *tx) struct{} {
		w := t.webhook(sent.Room, sent.Name)
		if w.Holder != sent.Holder {
			t.fail(fmt.Errorf("%s has taken it: %w", w.Holder, room.ErrFenced))
		}
		if t.err != nil {
			return struct{}{}
		}
		w.After, w.Tries = sent.After, sent.Tries
		w.Due, w.Fault = utc(sent.Due), sent.Fault
		t.set(webhookName(sent.Room, sent.Name), w)
		return struct{}{}
	})
	return err
}
