// Package nights dreams many nights in a row over one memory and measures what they leave behind.
package nights
