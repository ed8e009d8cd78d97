// Package svg writes pictures in Scalable Vector Graphics. A picture uses no ids, classes, scripts
// or fonts to load, so many of them can stand in one page.
//
// Attributes are pairs of a name and a value: "x", 3, "fill", "white". Positions and lengths are in
// units of the picture's view box, from the upper left corner. Texts and values are escaped here.
//
// A [Writer] keeps the first error and writes nothing after it, so that a picture is drawn in
// straight code and asked for its error once, at the end. Elements that were opened are closed in
// order; End closes the picture itself.
package svg

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Writer writes one picture. It keeps the first error of the writer below it until End.
type Writer struct {
	out  *bufio.Writer
	open []string // names of the elements that are open, outermost first
}

// Begin begins a picture with a view box of the given size.
func Begin(out io.Writer, width, height int, attributes ...any) *Writer {
	w := &Writer{out: bufio.NewWriter(out)}
	w.Open("svg", append([]any{"xmlns", "http://www.w3.org/2000/svg", "viewBox",
		fmt.Sprintf("0 0 %d %d", width, height)}, attributes...)...)
	return w
}

// End closes all open elements, the picture last, and returns the first error.
func (w *Writer) End() error {
	for len(w.open) > 0 {
		w.Close()
	}
	return w.out.Flush()
}

// Open begins an element that holds others, such as a group.
func (w *Writer) Open(name string, attributes ...any) {
	w.tag(name, attributes)
	w.out.WriteString(">\n")
	w.open = append(w.open, name)
}

// Close ends the element that was opened last.
func (w *Writer) Close() {
	last := len(w.open) - 1
	fmt.Fprintf(w.out, "</%s>\n", w.open[last])
	w.open = w.open[:last]
}

// Element writes an element that holds nothing.
func (w *Writer) Element(name string, attributes ...any) {
	w.tag(name, attributes)
	w.out.WriteString("/>\n")
}

// Label writes an element that holds a text.
func (w *Writer) Label(name, text string, attributes ...any) {
	w.tag(name, attributes)
	fmt.Fprintf(w.out, ">%s</%s>\n", escape(text), name)
}

// Picture places another picture, which is complete, inside this one.
func (w *Writer) Picture(p string) { w.out.WriteString(p) }

// tag writes the beginning of an element.
func (w *Writer) tag(name string, attributes []any) {
	w.out.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		value := fmt.Sprint(attributes[i+1])
		if x, ok := attributes[i+1].(float64); ok {
			value = Number(x)
		}
		fmt.Fprintf(w.out, ` %v="%s"`, attributes[i], escape(value))
	}
}

// Number returns a length, to a tenth of a unit.
func Number(x float64) string { return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64) }

// escape escapes s for texts and attributes. What XML 1.0 cannot hold (control characters, bytes
// that are not UTF-8) becomes U+FFFD.
func escape(s string) string {
	var sb strings.Builder
	_ = xml.EscapeText(&sb, []byte(s)) // a strings.Builder accepts everything
	return sb.String()
}
