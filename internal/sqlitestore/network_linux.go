package sqlitestore

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Magic numbers of network file systems (linux/magic.h and the sources of each).
var networkMagic = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB2",
	0xFF534D42: "CIFS",
	0x01021997: "9P",
	0x564C:     "NCP",
	0x5346414F: "AFS",
	0x6B414653: "AFS",
	0x73757245: "Coda",
	0x00C36400: "Ceph",
	0x0BD00BD0: "Lustre",
	0x47504653: "GPFS",
	0x013111A8: "IBRIX",
	0x7461636F: "OCFS2",
	0x01161970: "GFS2",
	0x19830326: "BeeGFS",
	0xAAD7AAEA: "PanFS",
}

const fuseMagic = 0x65735546

// networkSystem names the network file system that a file or folder is on; empty when it is local.
func networkSystem(path string) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "", fmt.Errorf("ask which file system holds %s: %w", path, err)
	}
	return remoteSystem(uint32(st.Type), path, "/proc/self/mountinfo"), nil
}

// remoteSystem reads the mount table for FUSE only, whose one magic number stands for disks and networks alike.
func remoteSystem(magic uint32, path, mounts string) string {
	if name, ok := networkMagic[magic]; ok {
		return name
	}
	if magic != fuseMagic {
		return ""
	}
	table, err := os.ReadFile(mounts)
	if err != nil {
		return "" // without the mount table they cannot be distinguished
	}
	if kind := mountKind(string(table), resolved(path)); remoteFuse(kind) {
		return kind
	}
	return ""
}
