//go:build profile

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// A build with the tag profile writes what its process has spent the CPU on into the folder that ONEIROS_PROFILE names.
// `make profile` makes oneiros.pgo of it, by which programs are compiled that are used.
func init() {
	dir := os.Getenv("ONEIROS_PROFILE")
	if dir == "" {
		return
	}
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.prof", os.Getpid())))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure what the CPU is spent on:", err)
		os.Exit(1)
	}
	finish = func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}
}
