package memory

import "errors"

// ErrUnwritable means that the store refuses every write although it answers. What it keeps can mostly be read.
// WhyUnwritable says why.
var ErrUnwritable = errors.New("takes no writes")

// Unwritability is why a store takes no writes, in words that strangers may read.
type Unwritability string

const (
	Full       Unwritability = "full"
	ReadOnly   Unwritability = "read-only"
	DiskFails  Unwritability = "its disk fails"
	NoReplicas Unwritability = "too few replicas"
	Loading    Unwritability = "loading" // it cannot be read either
	Forbidden  Unwritability = "a right is missing"
)

// UnwritableError is ErrUnwritable with its reason and the store's own words.
type UnwritableError struct {
	Why Unwritability
	Err error
}

func (u *UnwritableError) Error() string {
	return "the store takes no writes (" + string(u.Why) + "): " + u.Err.Error()
}

// Is reports whether target is ErrUnwritable. A store that loads does not answer, so it is ErrAway, too.
func (u *UnwritableError) Is(target error) bool {
	return target == ErrUnwritable || target == ErrAway && u.Why == Loading
}

func (u *UnwritableError) Unwrap() error { return u.Err }

// WhyUnwritable returns why the store refused a write; false for an error that is not ErrUnwritable.
func WhyUnwritable(err error) (Unwritability, bool) {
	if u, ok := errors.AsType[*UnwritableError](err); ok {
		return u.Why, true
	}
	return "", errors.Is(err, ErrUnwritable)
}
