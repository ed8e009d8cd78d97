package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrSize is wrapped by errors about a size's text.
var ErrSize = errors.New("not a size")

var sizeUnits = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "kb": 1e3, "m": 1 << 20, "mib": 1 << 20, "mb": 1e6, "g": 1 << 30,
	"gib": 1 << 30, "gb": 1e9, "t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
}

// ParseSize reads a number of bytes such as 64MiB, 1G or 1048576. K, M, G, T and
// KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB are powers of 1000. Letter case
// does not matter and a fraction is allowed. Zero and negative sizes are refused;
// errors wrap ErrSize.
func ParseSize(text string) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	end := strings.LastIndexAny(t, "0123456789.") + 1
	unit, ok := sizeUnits[strings.TrimSpace(t[end:])]
	n, err := strconv.ParseFloat(t[:end], 64)
	switch {
	case !ok || err != nil || math.IsNaN(n):
		return 0, fmt.Errorf("%w: %q: write a number of bytes such as 512M or 64MiB", ErrSize, text)
	case n*unit < 1:
		return 0, fmt.Errorf("%w: %q: it must be larger than zero", ErrSize, text)
	case n*unit >= 1<<62:
		return 0, fmt.Errorf("%w: %q: it is too large", ErrSize, text)
	}
	return int64(n * unit), nil
}

// FormatSize writes a number of bytes for people: 512 B, 64 MiB, 1.5 GiB.
func FormatSize(bytes int64) string {
	x, unit := float64(bytes), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if x < 1024 {
			break
		}
		x, unit = x/1024, u
	}
	if x == math.Trunc(x) || x >= 100 {
		return fmt.Sprintf("%.0f %s", x, unit)
	}
	return fmt.Sprintf("%.1f %s", x, unit)
}

// Counted writes a number with its noun: "1 win", "2 wins".
func Counted[T uint32 | uint64 | int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Size is a flag's value: a number of bytes as [ParseSize] reads it.
type Size int64

// String returns the size in its shortest exact form, such as 256MiB.
func (s *Size) String() string {
	n := int64(*s)
	for _, u := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// Set reads a size.
func (s *Size) Set(text string) error {
	n, err := ParseSize(text)
	if err == nil {
		*s = Size(n)
	}
	return err
}

// Type names the value in help texts.
func (s *Size) Type() string { return "SIZE" }
