// Package nights runs many dreams in a row over one memory and measures what they leave behind.
package nights
