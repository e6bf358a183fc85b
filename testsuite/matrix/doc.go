// Package matrix holds the tests that play what people and agents do in Matrix rooms through the bridge.
package matrix
