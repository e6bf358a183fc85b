package sqlitestore

import (
	"path/filepath"
	"strconv"
	"strings"
)

// remoteFuses are FUSE file systems that mount another machine's disk.
var remoteFuses = []string{
	"sshfs", "rclone", "s3fs", "s3fs-fuse", "gcsfuse", "goofys", "geesefs", "mount-s3", "blobfuse", "blobfuse2",
	"glusterfs",
	"juicefs", "seaweedfs", "davfs", "davfs2", "curlftpfs", "ceph", "ceph-fuse", "cephfs", "moosefs", "mfs",
	"gvfsd-fuse",
	"smbnetfs", "afp", "hdfs", "fuse_dfs", "ipfs", "google-drive-ocamlfuse", "onedriver", "keybase", "nfs", "drvfs",
}

// remoteFuse reports whether a file system type, such as "fuse.sshfs", is known to be a network file system.
func remoteFuse(kind string) bool {
	name := strings.TrimPrefix(strings.ToLower(kind), "fuse.")
	for _, remote := range remoteFuses {
		if name == remote {
			return true
		}
	}
	return false
}

// mountKind finds the type of the file system that holds a path, in the text of /proc/self/mountinfo
// (proc_pid_mountinfo(5)): that of the longest mount point above the path, and the last of several on one point. Lines
// that cannot be parsed are skipped; empty when no mount point matches.
func mountKind(table, path string) string {
	kind, longest := "", -1
	for line := range strings.Lines(table) {
		point, fs, ok := mountLine(line)
		if ok && holds(point, path) && len(point) >= longest {
			kind, longest = fs, len(point)
		}
	}
	return kind
}

// resolved is a path with its links resolved, as far as that is possible.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		path = followed
	}
	return path
}

// mountLine parses the mount point (field 5) and the type (the first field after the lone hyphen).
func mountLine(line string) (point, kind string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 7 {
		return "", "", false
	}
	for i := 6; i < len(fields)-1; i++ {
		if fields[i] == "-" {
			return unescapeMount(fields[4]), fields[i+1], true
		}
	}
	return "", "", false
}

func holds(point, path string) bool {
	if point == "/" || point == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(point, "/")+"/")
}

// unescapeMount undoes the kernel's octal escapes of space, tab, newline and backslash.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
