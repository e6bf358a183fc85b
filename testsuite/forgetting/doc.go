// Package forgetting proves that forgotten text is nowhere any more, by reading every file, export and prompt.
package forgetting
