package sqlitestore

import (
	"path/filepath"
	"slices"
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
	return slices.Contains(remoteFuses, strings.TrimPrefix(strings.ToLower(kind), "fuse."))
}

// mountKind finds the type of the file system that holds a path, in the text of /proc/self/mountinfo
// (proc_pid_mountinfo(5)): that of the longest mount point above the path, and the last of several on one point. Lines
// that cannot be parsed are skipped; empty when no mount point matches.
func mountKind(table, path string) string {
	kind, longest := "", -1
	for line := range strings.Lines(table) {
		before, after, _ := strings.Cut(line, " - ") // the mount point is field 5, the type follows the lone hyphen
		fields, system := strings.Fields(before), strings.Fields(after)
		if len(fields) < 6 || len(system) == 0 {
			continue
		}
		point := unescapeMount.Replace(fields[4])
		if holds(point, path) && len(point) >= longest {
			kind, longest = system[0], len(point)
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

func holds(point, path string) bool {
	if point == "/" || point == path {
		return true
	}
	return strings.HasPrefix(path, strings.TrimSuffix(point, "/")+"/")
}

// unescapeMount undoes the kernel's octal escapes.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
