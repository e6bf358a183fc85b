// Package phases leaves out one phase of a dream after the other, for the same number of nights and for the same money,
// and counts what comes true.
package phases
