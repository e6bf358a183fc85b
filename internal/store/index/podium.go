package index

// place is an item with what it scored.
type place struct {
	id    string
	score float32
	group *group
	row   int
}

// better orders by score, then by id.
func (p place) better(o place) bool {
	if p.score != o.score {
		return p.score > o.score
	}
	return p.id < o.id
}

// podium keeps the best of what it is offered in a heap whose root is the worst kept.
type podium struct {
	size int
	heap []place
}

func (p *podium) offer(c place) {
	switch {
	case p.size == 0:
	case len(p.heap) < p.size:
		p.heap = append(p.heap, c)
		for i := len(p.heap) - 1; i > 0 && p.heap[(i-1)/2].better(p.heap[i]); i = (i - 1) / 2 {
			p.heap[i], p.heap[(i-1)/2] = p.heap[(i-1)/2], p.heap[i]
		}
	case c.score < p.heap[0].score || !c.better(p.heap[0]):
	default:
		p.heap[0] = c
		p.sink()
	}
}

func (p *podium) sink() {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(p.heap); child++ {
			if p.heap[worst].better(p.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		p.heap[i], p.heap[worst] = p.heap[worst], p.heap[i]
		i = worst
	}
}
