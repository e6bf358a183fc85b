// Package retention lets a store live for a year, and checks how large it grows and which promises it keeps.
package retention
