package deploy

import (
	"github.com/seed-56a03226/oneiros/internal/steering"
)

// LlamaModel is a model to run.
type LlamaModel struct {
	Model, Lib, Template              string
	Context, Threads, Parallel, Queue int
	Vectors                           map[string]string
}

// LlamaServer is a model to serve.
type LlamaServer struct {
	LlamaModel
	Name, Listen, Key string
	From, To          int      // layers of a request that names only a vector; 0: the middle
	Alpha             *float64 // its strength; nil: the default
}

// TrainRequest is a vector to learn. Both layers are 0 for all that can be learned.
type TrainRequest struct {
	LlamaModel
	Pairs    []steering.Pair
	From, To int
	Progress func(done, all int)
}

// TrainResult is a learned vector.
type TrainResult struct {
	Vector steering.Vector
	Layers []steering.Layer
	About  string
}

// TrialRequest is a vector whose effect is to be measured.
type TrialRequest struct {
	LlamaModel
	Vector            string // file
	From, To          int    // 0: the middle
	Alphas            []float64
	Prompts           []string
	Seeds, Tokens     int
	Temperature, MinP float64
	Embedder          string // name in the catalogue of models
	Progress          func(done, all int)
}

// TrialResult is a measured effect.
type TrialResult struct {
	About    string         `json:"model"`
	Embedder string         `json:"embedder"`
	From     int            `json:"from"`
	To       int            `json:"to"`
	Rows     []steering.Row `json:"rows"`
}
