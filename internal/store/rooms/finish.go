package rooms

import (
	"context"
	"fmt"

	"github.com/seed-56a03226/oneiros/activities/port/room"
	"github.com/seed-56a03226/oneiros/internal/store"
)

// Finish ends a taken item, or puts it back.
func (s *Store) Finish(ctx context.Context, f room.Finish) (room.Finished, error) {
	what := fmt.Sprintf("finish item %d of the inbox of %s", f.Number, f.Agent)
	if err := f.Validate(); err != nil {
		return room.Finished{}, store.Wrap(err, what)
	}
	return update(ctx, s, what, func(t *tx) room.Finished { return t.settle(f) })
}

func (t *tx) settle(f room.Finish) room.Finished {
	i := t.item(f.Agent, f.Number)
	if t.err != nil {
		return room.Finished{}
	}
	if i.Fence != f.Fence || f.Fence == 0 {
		t.fail(fmt.Errorf("its fence is %d and the caller's %d: %w", i.Fence, f.Fence, room.ErrFenced))
		return room.Finished{}
	}
	if i.State != room.Taken {
		return t.settled(i, f)
	}
	if f.State == room.Waiting {
		i.State, i.Reason, i.Holder = room.Waiting, f.Reason, ""
		i.Until = utc(f.Due)
		t.set(itemName(i.Agent, i.Number), i)
		w, _ := t.wakeOf(i.Agent, i.Key)
		w.Cost += f.Cost
		return room.Finished{Item: i, Wake: t.setWake(w)}
	}
	var out room.Finished
	if f.Reply != nil {
		posted := t.reply(i, f)
		out.Posted, i.Reply = &posted, posted.Post.ID
	}
	if t.err != nil {
		return room.Finished{}
	}
	i.State, i.Reason = f.State, f.Reason
	out.Wake = t.finish(i, outcomeOf(f), f.Reason, f.Cost, f.Now)
	i.Ended = utc(f.Now)
	out.Item = i
	return out
}

// settled returns what an earlier call under the same fence has done.
func (t *tx) settled(i room.Item, f room.Finish) room.Finished {
	if i.State != f.State {
		t.fail(fmt.Errorf("it is %s and cannot become %s: %w", i.State, f.State, room.ErrFenced))
	}
	out := room.Finished{Item: i, Existing: true}
	out.Wake, _ = t.wakeOf(i.Agent, i.Key)
	if i.Reply != "" {
		p := t.postOf(i.Reply).Post
		out.Posted = &room.Posted{Post: p, Existing: true}
	}
	return out
}

// reply posts the answer to an item. Its key makes it the only one.
func (t *tx) reply(i room.Item, f room.Finish) room.Posted {
	d := *f.Reply
	d.Author, d.Key = room.AgentID(i.Agent), "answer/"+i.Key
	d.Room, d.ReplyTo, d.Hops = i.Room, i.Post, i.Hops+1
	d.Now = f.Now
	if i.Room == "" {
		t.fail(fmt.Errorf("item %d came from no room, so there is nowhere to reply to", i.Number))
		return room.Posted{}
	}
	if err := d.Validate(); err != nil {
		t.fail(store.Wrap(err, "reply"))
		return room.Posted{}
	}
	return t.post(d, f.Rule)
}

func outcomeOf(f room.Finish) room.Outcome {
	switch {
	case f.Failed:
		return room.Failed
	case f.State == room.Answered:
		return room.Replied
	case f.State == room.Declined:
		return room.Silent
	}
	return room.Skipped
}
