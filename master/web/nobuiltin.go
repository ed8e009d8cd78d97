//go:build !browserchecker

package web

import "io/fs"

// builtIn is the checker for browsers, which only a release is built with.
var builtIn fs.FS
