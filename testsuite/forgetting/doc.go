// Package forgetting proves that what is forgotten is nowhere any more, by reading every file, export and prompt.
package forgetting
