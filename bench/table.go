package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table is rows of cells under a head; the first column reads from the left, the others from the right.
type table struct {
	title string
	note  string
	head  []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) text(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n", t.title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

func (t *table) markdown(w io.Writer) error {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n", t.title, t.note)
	line := func(row []string) {
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i > 0 {
				c, pad = pad+c, ""
			}
			fmt.Fprintf(w, "| %s%s ", c, pad)
		}
		fmt.Fprintln(w, "|")
	}
	line(t.head)
	for i := range t.head {
		rule := strings.Repeat("-", max(width[i]-1, 1))
		if i > 0 {
			fmt.Fprintf(w, "| %s: ", rule)
		} else {
			fmt.Fprintf(w, "| -%s ", rule)
		}
	}
	fmt.Fprintln(w, "|")
	for _, row := range t.rows {
		line(row)
	}
	return nil
}

// number prints x with three significant digits.
func number(x float64) string {
	switch {
	case x == 0:
		return "–"
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

func verdict(reached bool) string {
	if reached {
		return "reached"
	}
	return "missed"
}
