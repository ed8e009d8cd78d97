// Command amazons-master is the program master under the name that it has where it is installed.
package main

import (
	"os"

	"amazonsfarm/master/program"
)

func main() { os.Exit(program.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
