package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
)

// TableSize is the value of a --table flag: a number of bytes as [ParseSize] reads it, or auto for
// a share of the memory that is free when the command starts.
type TableSize struct {
	Bytes int64
	Auto  bool // Bytes is not chosen yet
	given string
}

// autoShare is the share of the free memory that a table takes with auto, one in so many: half. The
// other half is for what a proof needs on top of the table (about 40 bytes a position of the
// certificate), databases of areas, and whatever else runs. The memory is touched only as the table
// fills.
const autoShare = 2

// String returns auto, or the size as it was given; one that was not given has its shortest exact form, such as 256MiB.
func (t *TableSize) String() string {
	if t.Auto {
		return "auto"
	}
	return cmp.Or(t.given, (*Size)(&t.Bytes).String())
}

// Set reads a size or auto.
func (t *TableSize) Set(text string) error {
	if strings.EqualFold(strings.TrimSpace(text), "auto") {
		*t = TableSize{Auto: true}
		return nil
	}
	n, err := ParseSize(text)
	if err != nil {
		return fmt.Errorf("%w; or write auto", err)
	}
	*t = TableSize{Bytes: n, given: strings.TrimSpace(text)}
	return nil
}

// Type names the value in help texts.
func (t *TableSize) Type() string { return "SIZE" }

// TableHelp is what the help of a --table flag says about sizes.
const TableHelp = "such as 4GiB, or auto for half of the free memory"

// Resolve chooses the size where it is auto, half of the free memory in whole MiB, and says so in one
// line on w; a size that was given stays. Errors are usage errors.
func (t *TableSize) Resolve(w io.Writer) error {
	if !t.Auto {
		return nil
	}
	free, err := freeMemory(os.DirFS("/"))
	if err != nil {
		return Usagef("--table auto: %w; give a size", err)
	}
	return t.choose(free, w)
}

// choose takes its share of so much free memory, in whole MiB: a size that people can read and
// repeat.
func (t *TableSize) choose(free int64, w io.Writer) error {
	bytes := free / autoShare &^ (1<<20 - 1)
	if bytes <= 0 {
		return Usagef("--table auto: only %s of memory are free; give a size", FormatSize(max(free, 0)))
	}
	*t = TableSize{Bytes: bytes}
	_, err := fmt.Fprintf(w, "table: %s, half of the %s of memory that are free\n", FormatSize(bytes), FormatSize(free))
	return err
}
