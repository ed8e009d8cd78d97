package farmv1

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Versions that a worker and its master must share. A worker of another version is refused when it
// joins.
const (
	// ProtocolVersion is that of farm.proto.
	//
	//	6  parts may lie in a bucket, which workers write to and read from
	//	5  parts cite what they rely on, and workers check them; until then parts relied on all before them
	//	4  hints were called memories, and verdicts outcomes; workers told no hash of their databases
	//	3  several campaigns on one stream
	ProtocolVersion = 6
	// RulesVersion is that of the game's rules and of the leaf rules of certificates.
	//
	//	3  leaf rule 4
	//	2  leaf rule 3
	RulesVersion = 3
)

// Limits of messages. Both sides keep them: a larger message ends its stream.
const (
	// MaxMessageBytes bounds every message. The largest ones carry hints or facts; certificates
	// travel in chunks.
	MaxMessageBytes = 16 << 20
	// MaxRequestBytes bounds the messages that a master receives: a chunk of a file, with room to spare.
	// A result has at most 300 KiB.
	MaxRequestBytes = 2 << 20
	// ChunkBytes bounds the part of a file that one message carries: of a certificate that is
	// uploaded, and of a store that is backed up.
	ChunkBytes = 1 << 20
	// WindowBytes is what may come over a connection, and in one of its streams, before somebody reads it: ten
	// megabytes a second where an answer takes a tenth of one. Without it gRPC measures the line with a ping for each
	// piece of data, twice the packets in a small farm, and lets the window grow to 16 MiB.
	WindowBytes = 1 << 20
	// MaxNameBytes and MaxBuildBytes bound the names of a worker and of its build.
	MaxNameBytes, MaxBuildBytes = 128, 256
	// MaxOutlineBytes bounds the outline of a part that is placed in a bucket: some 200,000 citations.
	MaxOutlineBytes = 1 << 20
)

// Printable reports whether a text can be sent, has at most so many bytes, and has only characters that a terminal
// may show.
func Printable(text string, most int) bool {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	return len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, hidden)
}
