package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-56a03226/oneiros/config"
)

func TestEventsGoNowhereUnlessTold(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", "", nil, nil)
	require.NoError(t, err)
	require.Equal(t, config.Archive{Every: 5 * time.Minute}, c.Archive)
	require.Equal(t, config.Metrics{}, c.Metrics)
}

func TestAnAddressOfEventsThatCannotBeIsNamed(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"archive.url=ftp://there/x":            "archive.url is no address of an archive; it must be a path, file:///path or s3://bucket/prefix?region=R",
		"archive.url=file://there":             "archive.url names no place",
		"archive.url=s3:///x":                  "archive.url names no place",
		"archive.url=s3://key:secret@bucket/x": "archive.url holds a key; leave it out",
		"archive.url=s3://bucket?secret_key=x": `archive.url sets "secret_key"`,
		"archive.url=file:///x?region=here":    `archive.url sets "region"`,
		"archive.every=0s":                     "it must be between 1s and 1d",
		"metrics.listen=7413":                  `metrics.listen is "7413"; it must be an address of this machine and a port, such as 127.0.0.1:7413, or empty`,
		"metrics.listen=127.0.0.1:prometheus":  "metrics.listen is",
		"metrics.listen=:0":                    "metrics.listen is",
		"metrics.agents=perhaps":               "it must be true or false",
	} {
		_, err := load(t, "", "", nil, []string{"--set", set})
		require.ErrorContains(t, err, want, set)
		require.NotContains(t, err.Error(), "secret@", set)
	}
	for _, fine := range []string{
		"archive.url=/var/lib/archive", "archive.url=archive", "archive.url=file:///var/lib/archive",
		"archive.url=s3://nights",
		"archive.url=s3://nights/team?region=eu-central-1&endpoint=http://127.0.0.1:9000", "metrics.listen=:7413",
		"metrics.listen=127.0.0.1:0",
	} {
		_, err := load(t, "", "", nil, []string{"--set", fine})
		require.NoError(t, err, fine)
	}
}
