package plugin

import "time"

// EndSoon shortens how long a program has to end.
func EndSoon() { endsWithin, diesWithin = 200*time.Millisecond, 200*time.Millisecond }
