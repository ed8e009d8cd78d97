// Command amazons-worker is the program worker under the name that it has where it is installed.
package main

import (
	"os"

	"amazonsfarm/worker/program"
)

func main() { os.Exit(program.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
