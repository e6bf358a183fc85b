package sqlitestore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNetworkFileSystemsAreNamed(t *testing.T) {
	t.Parallel()
	table := filepath.Join(t.TempDir(), "mountinfo")
	require.NoError(t, os.WriteFile(table, []byte(mountTable), 0o600))
	for magic, want := range map[uint32]string{
		0x6969: "NFS", 0xFF534D42: "CIFS", 0xFE534D42: "SMB2",
		0x01021997: "9P", 0xEF53: "", 0x01021994: "", fuseMagic: "fuse.sshfs",
	} {
		require.Equal(t, want, remoteSystem(magic, "/srv/data", table), "%#x", magic)
	}
	require.Empty(t, remoteSystem(fuseMagic, "/home", table))
	require.Empty(t, remoteSystem(fuseMagic, "/srv/data", table+" is missing"))
	_, err := networkSystem(filepath.Join(t.TempDir(), "missing"))
	require.ErrorContains(t, err, "missing")
}
