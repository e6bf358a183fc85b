// Package dreamsapi runs whole dreams through the public API, on a real Temporal server: started, followed,
// interrupted, ended and archived.
package dreamsapi
