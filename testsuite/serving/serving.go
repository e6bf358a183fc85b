// Package serving holds the whole server to what it promises: the program itself, on a real Temporal server, with
// clients of others.
package serving
