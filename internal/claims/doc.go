// Package claims holds the rules by which a claim that keeps coming true becomes something that an agent knows: checks
// that a program resolves from what was lived, the wealth of a claim against chance, and which claims pass together.
package claims
