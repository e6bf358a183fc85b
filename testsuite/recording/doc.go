// Package recording kills processes while they record the answers of a model, and holds what they paid against the bill
// of their provider.
package recording
