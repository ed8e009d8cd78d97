// Command worker searches for a master, or on its own.
//
//	worker run --master ADDR              work for a master until its campaign is over
//	worker solve POSITION|BOARD|-         who wins one position, or one a line, with a verified certificate
//	worker eval POSITION                  judge a position without search and say why
//	worker value AREA|-                   what an area is worth
//	worker perft BOARD|POSITION DEPTH     count sequences of moves
//	worker bench                          fixed searches; the node count is the signature of the build
//	worker db build|check|info            databases of small areas
//	worker health                         whether a running worker is ready
//
// `worker --help` lists the exit codes, and the help of each command the environment variables that
// stand in for its flags.
package main

import (
	"os"

	"amazonsfarm/worker/program"
)

func main() { os.Exit(program.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
