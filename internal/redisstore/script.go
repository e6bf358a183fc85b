package redisstore

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script joins files of lua/ into one script. ARGV[1] is always the store's prefix. The server caches a script by its
// hash after the first run.
func script(names ...string) *redis.Script {
	var text strings.Builder
	for _, name := range names {
		part, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file name is misspelled in this package
		}
		text.Write(part)
	}
	return redis.NewScript(text.String())
}
