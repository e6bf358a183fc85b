package store

import (
	"encoding/json"
	"errors"
	"runtime"
	"sync"
)

// decodedAtOnce is how many values are decoded by one goroutine at least.
const decodedAtOnce = 500

// Decode decodes values of JSON, very many on all processors. An empty text leaves the zero value.
func Decode[T any](texts []string) ([]T, error) {
	all := make([]T, len(texts))
	parts := max(1, min(runtime.GOMAXPROCS(0), len(texts)/decodedAtOnce))
	faults := make([]error, parts)
	var group sync.WaitGroup
	for part := range parts {
		group.Go(func() {
			for i := part * len(texts) / parts; i < (part+1)*len(texts)/parts; i++ {
				if texts[i] == "" {
					continue
				}
				faults[part] = json.Unmarshal([]byte(texts[i]), &all[i])
				if faults[part] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return all, errors.Join(faults...)
}
