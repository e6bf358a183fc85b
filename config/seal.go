package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Seal names where the keys lie that seal what Temporal stores.
type Seal struct {
	KeysFile string `json:"keys_file"`
	KeysEnv  string `json:"keys_env"`
}

func (s Seal) validate() error {
	if s.KeysEnv != "" && s.KeysFile != "" {
		return errors.New("seal names its keys twice, by keys_env and by keys_file; keep one")
	}
	return nil
}

// SealFile is the file that the sealing keys lie in; empty when they lie in none.
func (c Config) SealFile() string {
	if c.Seal.KeysFile == "" {
		return ""
	}
	return c.home(c.Seal.KeysFile)
}

// SealKeys fetches the lines of the sealing keys and says which place they came from; "" when the configuration names
// none. The caller parses them with internal/payload and hands them to nothing else.
func (c Config) SealKeys() (lines, place string, err error) {
	switch s := c.Seal; {
	case s.KeysEnv != "":
		place = "seal.keys_env " + s.KeysEnv
		lines = c.env[s.KeysEnv]
		if strings.TrimSpace(lines) == "" {
			return "", place, fmt.Errorf("seal.keys_env names %s, which is not set", s.KeysEnv)
		}
	case s.KeysFile != "":
		place = "seal.keys_file " + s.KeysFile
		body, err := os.ReadFile(c.home(s.KeysFile))
		if err != nil {
			return "", place, fmt.Errorf("seal.keys_file: %w", err)
		}
		lines = string(body)
		if strings.TrimSpace(lines) == "" {
			return "", place,
				fmt.Errorf("seal.keys_file %s is empty; oneiros codec new-key prints a line for it", s.KeysFile)
		}
	}
	return lines, place, nil
}
