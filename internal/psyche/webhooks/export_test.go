package webhooks

import "time"

// Hasten lets a service look, and try again, often.
func (s *Service) Hasten() {
	s.pace.look, s.pace.first, s.pace.longest = 5*time.Millisecond, time.Millisecond, 5*time.Millisecond
	s.pace.lease = 200 * time.Millisecond
}
