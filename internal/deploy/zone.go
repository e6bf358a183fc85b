package deploy

import (
	"path/filepath"
	"strings"
	"time"
)

// MachineZone returns the IANA name of this machine's time zone; UTC when it is not known.
func MachineZone(named string) string {
	if named == "" {
		path, _ := filepath.EvalSymlinks("/etc/localtime")
		_, named, _ = strings.Cut(path, "zoneinfo/")
	}
	named = strings.TrimPrefix(named, ":")
	if named == "" || named == "Local" || named == "Etc/UTC" {
		return "UTC"
	}
	if _, err := time.LoadLocation(named); err != nil {
		return "UTC"
	}
	return named
}
