package roomtest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/activities/port/memory"
	"github.com/seed-56a03226/oneiros/activities/port/room"
)

// Posted yields the records of a room with n posts, whose last one mentions an agent that is a member.
func Posted(n int) memory.Records {
	return func(yield func(memory.Record, error) bool) {
		put := func(name string, value any) bool {
			body, err := json.Marshal(value)
			return yield(memory.Record{Room: &memory.KeptRoomRecord{Name: "r/hall/" + name, Body: body}}, err)
		}
		m, owner := member(echo), member(ada)
		owner.Role = room.Owner
		ok := put("about", room.Room{
			ID:      hall,
			By:      ada,
			Created: noon,
			Posts:   int64(n),
			Events:  int64(n),
		}) &&
			put("agent/"+room.Escape(echo.ID), m)
		for i := 1; ok && i <= n; i++ {
			ok = put(fmt.Sprintf("event/%016d", i), room.Event{
				Room:   hall,
				Offset: int64(i),
				Type:   room.Added,
				At:     noon,
				Who:    ada,
				Post:   room.PostID(hall, int64(i)),
			})
		}
		ok = ok && put("person/"+room.Escape(ada.ID), owner)
		for i := 1; ok && i <= n; i++ {
			p := room.Post{
				ID:     room.PostID(hall, int64(i)),
				Room:   hall,
				Offset: int64(i),
				Author: ada,
				Name:   "Ada",
				Form:   room.Message,

				Body: fmt.Sprintf("post %d: what the tide leaves behind, and who finds it in the morning", i),

				Created:  noon,
				Revision: 1,
				State:    room.Live,
			}
			ok = put(fmt.Sprintf("post/%016d", i), struct {
				room.Post
				Key string `json:"key"`
			}{p, fmt.Sprint("old ", i)})
		}
	}
}

// Bench measures the rooms of a deployment among n posts.
func Bench(b *testing.B, d Deployment, n int) {
	b.Helper()
	_, err := d.Import(b.Context(), Posted(n))
	require.NoError(b, err)
	s := d.Rooms()
	b.Run("post", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := s.Post(b.Context(), draft(ada, fmt.Sprint(b.N, " ", i, time.Now().UnixNano()), "hello"), nil)
			require.NoError(b, err)
		}
	})
	b.Run("mention", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			_, err := s.Post(b.Context(), draft(ada, fmt.Sprint(b.N, " ", i, time.Now().UnixNano()), "hello", echo), everybody)
			require.NoError(b, err)
		}
	})
	for _, size := range []int{1, 50} {
		b.Run(fmt.Sprintf("history of %d", size), func(b *testing.B) {
			for i := int64(0); b.Loop(); i++ {
				before := 1 + int64(size) + (i*7919)%int64(n-size)
				page, err := s.History(b.Context(), room.Query{Room: hall, As: ada, Before: before, Limit: size})
				require.NoError(b, err)
				require.Len(b, page.Posts, size)
			}
		})
	}
	b.Run("events of 50", func(b *testing.B) {
		for i := int64(0); b.Loop(); i++ {
			_, err := s.Events(b.Context(), ada, hall, (i*7919)%int64(n-50), 50)
			require.NoError(b, err)
		}
	})
}
