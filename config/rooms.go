package config

import "github.com/seed-56a03226/oneiros/activities/port/budget"

// Rooms bounds what agents cost in rooms.
type Rooms struct {
	AgentDay    budget.Micros `json:"agent_day"`    // calls of one agent in one day of its zone
	StrangerDay budget.Micros `json:"stranger_day"` // of them, those by strangers
	Gate        string        `json:"gate"`         // model that is asked first about what was not said to an agent

	WebhookKeyFile string `json:"webhook_key_file"` // file with the key from which secrets of webhooks are made
}
