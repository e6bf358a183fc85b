// Package evaluating kills evaluations while they run, and lets a provider count what they could be billed.
package evaluating
