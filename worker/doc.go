// Command worker searches for a master, or on its own.
//
//	worker run --master ADDR              work for a master until its campaign is over
//	worker solve POSITION|BOARD|-         who wins one position, or one a line, with a verified certificate
//	worker perft BOARD|POSITION DEPTH     count sequences of moves
//	worker bench                          fixed searches; the node count is the signature of the build
//
// Exit codes: 0 done; 1 failed; 3 stopped at a limit; 12 refused by the master because of its version,
// rules or build; 20 verification failed; 64 wrong command line or input; 130 interrupted.
//
// The environment variables AMAZONS_MASTER, AMAZONS_TABLE, AMAZONS_CORES, AMAZONS_HTTP,
// AMAZONS_NAME and AMAZONS_LOG_LEVEL stand in for flags of these names that are not given.
package main
