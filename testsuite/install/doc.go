// Package install installs the programs in the ways that docs/install.md names, outside of any checkout.
package install
