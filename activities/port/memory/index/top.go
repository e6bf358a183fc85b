package index

// place is an item with its score.
type place struct {
	id    string
	score float32
	group *scanned
	row   int
	words float32
	// cosine is meaningful where the row has a vector and one was sought.
	cosine float32
}

// better orders by score, then by id.
func (p place) better(o place) bool {
	if p.score != o.score {
		return p.score > o.score
	}
	return p.id < o.id
}

// top keeps the best places that it is offered, in a heap whose root is the worst kept.
type top struct {
	size int
	heap []place
}

// admits says whether a score may be among the best.
func (t *top) admits(score float32) bool {
	return len(t.heap) < t.size || t.size > 0 && score >= t.heap[0].score
}

func (t *top) offer(c place) {
	switch {
	case t.size == 0:
	case len(t.heap) < t.size:
		t.heap = append(t.heap, c)
		for i := len(t.heap) - 1; i > 0 && t.heap[(i-1)/2].better(t.heap[i]); i = (i - 1) / 2 {
			t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
		}
	case !c.better(t.heap[0]):
	default:
		t.heap[0] = c
		t.sink()
	}
}

func (t *top) sink() {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.heap[worst].better(t.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}
