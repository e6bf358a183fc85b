package presence

import (
	"errors"
	"fmt"
)

// Validate names every invalid field of a visit and what would be valid.
func (v Visit) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if v.Agent == "" {
		fault("agent is empty")
	}
	if v.Client == "" {
		fault("client is empty; an alarm comes as \"alarm/<feed>/<rule>\"")
	}
	switch v.Cause {
	case Connect, Alarm, Operator:
	default:
		fault("cause is %q; causes are %s, %s and %s", v.Cause, Connect, Alarm, Operator)
	}
	if v.Now.IsZero() {
		fault("now is not given")
	}
	if v.For <= 0 {
		fault("the lease lasts %v; it must be longer than zero", v.For)
	}
	if v.Lock < 0 {
		fault("lock is %v; it must not be negative", v.Lock)
	}
	return errors.Join(faults...)
}

// Validate returns what is wrong with a notice.
func (r WakeNotice) Validate() error {
	if r.Agent == "" {
		return errors.New("wake notice: agent is empty")
	}
	if r.Epoch < 1 {
		return fmt.Errorf("wake notice for %s: epoch is %d; the first is 1", r.Agent, r.Epoch)
	}
	return nil
}
