//go:build browserchecker

package web

import (
	"embed"
	"io/fs"
)

// A release is built with the tag browserchecker, after scripts/wasm has made these files.
//
//go:embed wasm/built/checker.wasm.gz wasm/built/wasm_exec.js.gz
var built embed.FS

var builtIn fs.FS = built
