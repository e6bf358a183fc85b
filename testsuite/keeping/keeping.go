// Package keeping holds what is kept of a talk to frozen sets of sentences: what people say, what is no fact, corrections, pairs that
// look like corrections, and request bodies in the shapes that clients wrap around a person's words.
package keeping
