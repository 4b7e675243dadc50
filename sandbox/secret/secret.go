// Package secret holds secret values and finds them: in the environment, in a file, or by a command such as a password
// manager.
//
// Its one invariant: a Value never shows itself. Printing, logging, marshalling and formatting a Value with any verb give
// "[secret]"; only Reveal gives the text, so that every place where a secret leaves is found by searching for that word.
// Start at Value, then Resolver.
package secret

import (
	"fmt"
	"log/slog"
)

// Bounds of a secret's value, in bytes. A shorter one would be found, and hidden, in texts that have nothing to do with it.
const (
	MinBytes = 8
	MaxBytes = 16 << 10
)

// hidden stands for the value wherever it is shown.
const hidden = "[secret]"

// Value is the text of a secret. The zero Value is no secret. It is safe to copy and to use from many goroutines.
type Value struct{ text *string } // a pointer: %v of a struct that holds a Value in a private field prints an address, not the text

// New makes a Value of between MinBytes and MaxBytes bytes. The error names the length and not the text.
func New(text string) (Value, error) {
	if len(text) < MinBytes || len(text) > MaxBytes {
		return Value{}, fmt.Errorf("secret: got a value of %d bytes, want %d to %d", len(text), MinBytes, MaxBytes)
	}
	return Value{&text}, nil
}

// Reveal gives the text.
func (v Value) Reveal() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

// IsZero tells a Value that holds nothing.
func (v Value) IsZero() bool { return v.text == nil }

// String hides the text.
func (Value) String() string { return hidden }

// Format hides the text from every verb, also from %#v and %x.
func (Value) Format(s fmt.State, _ rune) { _, _ = fmt.Fprint(s, hidden) }

// MarshalText hides the text from JSON, XML, YAML and what else asks for it.
func (Value) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the text from slog.
func (Value) LogValue() slog.Value { return slog.StringValue(hidden) }

// GobEncode refuses: a gob would be read back as something that is not the secret.
func (Value) GobEncode() ([]byte, error) {
	return nil, fmt.Errorf("secret: a value is not for storing")
}
