package sqlitestore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const mountTable = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
35 22 0:31 / /srv rw - fuse.sshfs me@far:/srv rw,user_id=0
36 35 8:2 / /srv/local rw shared:3 master:1 - xfs /dev/sdb1 rw
37 22 0:40 / /mnt/my\040disk rw - fuseblk /dev/sdc1 rw
38 37 0:41 / /mnt/my\040disk rw - fuse.rclone remote: rw
39 22 0:42 / /srvother rw - tmpfs tmpfs rw
a line of nonsense
40 22 0:43 / /short rw -
`

func TestTheFileSystemOfAPathIsThatOfItsMountPoint(t *testing.T) {
	t.Parallel()
	for folder, want := range map[string]string{
		"/home/echo":        "ext4",
		"/srv":              "fuse.sshfs",
		"/srv/data/deep":    "fuse.sshfs",
		"/srv/local/data":   "xfs",
		"/srvother/x":       "tmpfs",
		"/mnt/my disk/echo": "fuse.rclone", // the later of two mounts on one point hides the earlier
		"/short/x":          "ext4",
	} {
		require.Equal(t, want, mountKind(mountTable, folder), folder)
	}
	require.Empty(t, mountKind("", "/home"))
}

func TestOnlyFuseFileSystemsOfTheNetworkAreRemote(t *testing.T) {
	t.Parallel()
	for kind, remote := range map[string]bool{
		"fuse.sshfs": true, "fuse.rclone": true, "FUSE.GlusterFS": true, "fuseblk": false, "fuse.ntfs-3g": false,
		"virtiofs": false, "": false,
	} {
		require.Equal(t, remote, remoteFuse(kind), kind)
	}
}

func TestEscapesOfTheMountTableAreUndone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`/a\040b`: "/a b", `/a\134`: `/a\`, `/a\04`: `/a\04`, `/a\999`: `/a\999`,
		`\`: `\`,
	} {
		require.Equal(t, want, unescapeMount.Replace(in))
	}
}

func FuzzMountKind(f *testing.F) {
	f.Add(mountTable, "/srv/data")
	f.Add("1 2 3 4 \\057 6 - 7", "/")
	f.Fuzz(func(t *testing.T, table, folder string) {
		kind := mountKind(table, folder)
		remoteFuse(kind)
		require.Contains(t, table, kind)
	})
}
