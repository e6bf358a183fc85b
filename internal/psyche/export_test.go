package psyche

import (
	"context"
	"sync"
	"time"

	"github.com/seed-56a03226/oneiros/activities/port/budget"
)

// Drained waits until the tasks queued now are done.
func Drained(s *Service) {
	s.beside.Wait()
	var all sync.WaitGroup
	for _, queue := range s.queues {
		all.Add(1)
		queue <- task{from: context.Background(), do: func(context.Context) error {
			all.Done()
			return nil
		}}
	}
	all.Wait()
}

// Tend renews leases as the timer would.
func Tend(ctx context.Context, s *Service) { s.leases.renew(ctx) }

var dawnOfTests = time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)

// TalkID names a caller's talk in the store.
func TalkID(c Caller, conversation string) string { return talkID(c.Owner(), conversation) }

// MostSearches bounds how many searches go on at once.
const MostSearches = mostSearches

// Recalls are the results of an agent's recall, as Status shows them to operators.
func (s *Service) Recalls(agent string) *RecallCounts { return s.counts.recalls(agent) }

// Overbilled is a reading by which a provider could charge more for a body than this percentage of what was reserved.
func Overbilled(raw []byte, percent int64) (how, text string, refused error) {
	reading, text, refused := overbilled(raw, budget.Micros(percent))
	return string(reading), text, refused
}
