//go:build profile

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// A build with the tag profile writes a CPU profile of its process into the folder that ONEIROS_CPU_PROFILE names.
// `make profile` merges such profiles into oneiros.pgo, with which `make build` and releases compile the program.
func init() {
	dir := os.Getenv("ONEIROS_CPU_PROFILE")
	if dir == "" {
		return
	}
	file, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.prof", os.Getpid())))
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "write a CPU profile into ONEIROS_CPU_PROFILE:", err)
		os.Exit(1)
	}
	finish = func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}
}
