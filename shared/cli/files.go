package cli

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckOutput returns a usage error if a file could not be written: commands ask before the work for it. No name is no
// file. The error begins with where and the name; where is "" for an argument, or a flag such as "--proof ".
func CheckOutput(where, file string) error {
	folder := filepath.Dir(file)
	in, err := os.Stat(folder)
	there, missing := os.Stat(file)
	switch {
	case file == "":
	case err != nil || !in.IsDir():
		return Usagef("%s%s: there is no folder %s", where, file, folder)
	case missing == nil && there.IsDir():
		return Usagef("%s%s: it is a folder; name a file in it", where, file)
	case missing == nil && !there.Mode().IsRegular():
		return Usagef("%s%s: it is there and is not a regular file", where, file)
	case unix.Access(folder, unix.W_OK) != nil:
		return Usagef("%s%s: nothing can be written to the folder %s", where, file, folder)
	}
	return nil
}
