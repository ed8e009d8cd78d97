package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"amazonsfarm/shared/amazons"
)

// Number is what settings and flags with a range are.
type Number interface {
	int | int64 | uint32 | uint64 | float64 | time.Duration
}

// bounded is the value of a setting or flag with a range.
type bounded[T Number] struct {
	pflag.Value
	at        *T
	low, high T
}

// ranged says that Set says what would be right.
func (b bounded[T]) ranged() {}

// Set reads a value and refuses one outside the range.
func (b bounded[T]) Set(text string) error {
	if b.Value.Set(text) != nil {
		return fmt.Errorf("write %s from %v to %v", strings.TrimSuffix(forms[b.Type()], ", 0 or more"), b.low, b.high)
	}
	if !(*b.at >= b.low && *b.at <= b.high) { // so that NaN is refused
		return fmt.Errorf("it must be from %v to %v", b.low, b.high)
	}
	if b.low < 0 && *b.at == 0 {
		return fmt.Errorf("it must be from %v to %v, and not 0", b.low, b.high)
	}
	return nil
}

// Most is the largest count, so that nothing that is made of one overflows.
const Most = 1_000_000_000

// Ranged defines a flag with a range; add is the method of flags for its type, such as IntVar. The
// range is checked where the value is read: on the command line, from the environment and from the
// settings file alike, and the error names the place. In a range with a negative end, which stands for
// something else, zero is refused: it would silently mean the default.
func Ranged[T Number](flags *pflag.FlagSet, add func(*T, string, T, string), name string, at *T, value, low, high T,
	help string) *pflag.Flag {
	add(at, name, value, help)
	f := flags.Lookup(name)
	f.Value = bounded[T]{f.Value, at, low, high}
	return f
}

// AnyPosition defines --any-position for the commands that ask who wins a position. The function that
// it returns refuses a position in which a side has no queen, unless the flag is given.
func AnyPosition(flags *pflag.FlagSet) (check func(amazons.Position) error) {
	any := flags.Bool("any-position", false, "take a position in which a side has no queen")
	return func(p amazons.Position) error {
		if err := p.CheckQueens(); err != nil && !*any {
			return Usagef("%w; if it is meant so, give --any-position", err)
		}
		return nil
	}
}

// JSONFlag defines --json for the commands that answer with documents.
func JSONFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "answer as one JSON document")
}

// Answer prints a document as one line of JSON, or a text.
func Answer(c *cobra.Command, asJSON bool, document any, text string) error {
	if asJSON {
		return json.NewEncoder(c.OutOrStdout()).Encode(document)
	}
	_, err := io.WriteString(c.OutOrStdout(), text)
	return err
}
