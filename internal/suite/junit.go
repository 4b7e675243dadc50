package suite

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The JUnit format, as far as the readers of it agree: suites of cases, each with its failures and errors.
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name     string    `xml:"name,attr"`
		File     string    `xml:"file,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Errors   int       `xml:"errors,attr"`
		Time     string    `xml:"time,attr"`
		Cases    []xmlCase `xml:"testcase"`
	}
	xmlCase struct {
		Name     string       `xml:"name,attr"`
		Class    string       `xml:"classname,attr"`
		File     string       `xml:"file,attr,omitempty"`
		Line     int          `xml:"line,attr,omitempty"`
		Asserted int          `xml:"assertions,attr"`
		Time     string       `xml:"time,attr"`
		Failures []xmlProblem `xml:"failure"`
		Errors   []xmlProblem `xml:"error"`
	}
	xmlProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes results as JUnit XML: a suite for each file with tests, a case for each test. In it failures and
// errors count tests, not assertions, as its readers expect; a test with both is an error.
func WriteJUnit(w io.Writer, results []Result) error {
	var all xmlSuites
	var total time.Duration
	for _, r := range results {
		if len(r.Tests) == 0 {
			continue
		}
		s := suiteOf(r)
		total += r.Took
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Suites = append(all.Suites, s)
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func suiteOf(r Result) xmlSuite {
	s := xmlSuite{Name: r.File, File: r.File, Tests: len(r.Tests), Time: seconds(r.Took)}
	for _, t := range r.Tests {
		c := xmlCase{Name: t.Name, Class: t.NS, File: t.File, Line: t.Line, Asserted: t.Passed + len(t.Problems), Time: seconds(t.Took)}
		for _, p := range t.Problems {
			x := xmlProblem{Message: firstLine(p), Text: wording(p)}
			if p.Error {
				x.Type = "error"
				c.Errors = append(c.Errors, x)
			} else {
				x.Type = "assertion"
				c.Failures = append(c.Failures, x)
			}
		}
		switch {
		case len(c.Errors) > 0:
			s.Errors++
		case len(c.Failures) > 0:
			s.Failures++
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

func firstLine(p Problem) string {
	s := p.Message
	if s == "" {
		s = p.Actual
	}
	s, _, _ = strings.Cut(s, "\n")
	return printable(s)
}

// wording is a problem as text, with its place.
func wording(p Problem) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(at(p.File, p.Line), " ") + "\n")
	(&Report{Out: &b}).body(p)
	return printable(b.String())
}

// printable drops what XML cannot hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
