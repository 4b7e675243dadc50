package control

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tokenBytes is how many random bytes a token has.
const tokenBytes = 32

// Token gives the admin token of a state directory, and makes it where there is none. One that others could have read is
// replaced.
func Token(dir string) (string, error) {
	file := filepath.Join(dir, TokenFile)
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return makeToken(file)
	case err != nil:
		return "", fmt.Errorf("control: failed to look at the admin token: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("control: %s: got no plain file, want one or none; move it away", file)
	case info.Mode().Perm()&0o077 != 0:
		return makeToken(file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("control: failed to read the admin token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if raw, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(raw) < tokenBytes {
		return makeToken(file)
	}
	return token, nil
}

// makeToken writes a new token. Whoever reads the file meanwhile sees the old one or the new one.
func makeToken(file string) (string, error) {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	f, err := os.CreateTemp(filepath.Dir(file), ".token-") // 0600
	if err != nil {
		return "", fmt.Errorf("control: failed to make the admin token: %w", err)
	}
	_, err = f.WriteString(token + "\n")
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return "", fmt.Errorf("control: failed to write the admin token: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return token, nil
}
