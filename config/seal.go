package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Seal configures the keys that encrypt what Temporal stores.
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

// SealFile is the file of the sealing keys; empty when they are not in a file.
func (c Config) SealFile() string {
	if c.Seal.KeysFile == "" {
		return ""
	}
	return c.home(c.Seal.KeysFile)
}

// SealKeys reads the lines of the sealing keys and returns their place; "" when none is configured. Callers must pass
// them to internal/payload only.
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
