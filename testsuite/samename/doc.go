// Package samename measures whether an embedder can tell names that say the same from names that do not.
package samename
