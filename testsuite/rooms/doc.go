// Package rooms tests agents in rooms on a real Temporal server, with a scripted provider and real worker processes.
package rooms
