package review

import (
	"context"
	"errors"
	"sync"
)

// Pass judges each agent that is pending and due once.
func (q *JudgeQueue) Pass(ctx context.Context) error {
	var mu sync.Mutex
	var faults []error
	var passes sync.WaitGroup
	q.start(ctx, &passes, make(chan struct{}, agentsAtOnce), func(err error) {
		mu.Lock()
		defer mu.Unlock()
		faults = append(faults, err)
	})
	passes.Wait()
	return errors.Join(faults...)
}
