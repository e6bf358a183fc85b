// Package serving tests the whole server: the program itself, on a real Temporal server, with client libraries of
// others.
package serving
