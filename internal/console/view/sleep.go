package view

import (
	"github.com/seed-56a03226/oneiros/activities/port/presence"
)

// ClientsOf returns the leases of clients.
func ClientsOf(s presence.Status) []presence.Lease {
	var list []presence.Lease
	for _, l := range s.Leases {
		if l.Cause == presence.Connect && l.Client != Operator {
			list = append(list, l)
		}
	}
	return list
}
