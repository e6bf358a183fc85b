// Package dreamsapi plays whole dreams through the public wire, on a real Temporal server: begun, followed,
// interrupted, ended and archived.
package dreamsapi
