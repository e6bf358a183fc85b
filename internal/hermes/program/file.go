package program

import (
	"errors"
	"fmt"
	"os"
)

// writeNew writes a file below a folder that is not there yet.
func writeNew(dir, name, text string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already; name another file, such as /export talk.md", name)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written below %s: %w", name, dir, err)
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}
