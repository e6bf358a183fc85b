package deploy

import (
	"context"
)

// Check is one check of the doctor.
type Check struct {
	Name string
	Look func(ctx context.Context) Finding
}

// State is the result of a check.
type State string

// The results of a check.
const (
	Well    State = "ok"
	Warning State = "warning"
	Ill     State = "wrong"
)

// Finding is the result of a check with its text, and advice when it is not well.
type Finding struct {
	State  State  `json:"state"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}
