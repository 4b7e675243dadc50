package deps

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Coord says where a library is: in a Git repository, or in a directory.
type Coord struct {
	URL   string // :git/url
	SHA   string // :git/sha: 40 hexadecimal digits, or at least 7 of them beside a tag
	Tag   string // :git/tag
	Root  string // :deps/root: the library's directory in the repository
	Local string // :local/root
}

// String is the coordinate as deps.edn has it, without what the URL says of users and passwords.
func (c Coord) String() string {
	if c.Local != "" {
		return fmt.Sprintf("{:local/root %q}", c.Local)
	}
	s := fmt.Sprintf("{:git/url %q", redact(c.URL))
	for _, kv := range [][2]string{{":git/tag", c.Tag}, {":git/sha", c.SHA}, {":deps/root", c.Root}} {
		if kv[1] != "" {
			s += fmt.Sprintf(" %s %q", kv[0], kv[1])
		}
	}
	return s + "}"
}

// origin is how far the one who asks for a library is trusted: what came over the network may not point at this machine.
type origin int

const (
	fromDisk     origin = iota // the home, a :local/root, a repository on this disk
	fromLoopback               // a repository served by this machine
	fromNetwork
)

func isTop(name string) bool { return name == "" || name == "." }

// check judges a coordinate before anything is done with it.
func (c *Coord) check(lib string, from origin) error {
	if !libName(lib) {
		return fmt.Errorf("got the name %q, want two parts such as acme/queue, of letters, digits and . _ -", lib)
	}
	if c.Local != "" {
		if c.URL != "" || c.SHA != "" || c.Tag != "" {
			return fmt.Errorf("%s: got :local/root and :git/…, want one of them", lib)
		}
		return nil
	}
	if c.URL == "" {
		c.URL = inferURL(lib)
	}
	if c.URL == "" {
		return fmt.Errorf("%s: got neither :git/url nor :local/root, want one of them", lib)
	}
	if err := checkURL(c.URL, from); err != nil {
		return fmt.Errorf("%s: %w", lib, err)
	}
	if err := c.checkVersion(); err != nil {
		return fmt.Errorf("%s: %w", lib, err)
	}
	if !isTop(c.Root) && !filepath.IsLocal(filepath.FromSlash(c.Root)) {
		return fmt.Errorf("%s: :deps/root: got %q, want a directory inside the repository", lib, c.Root)
	}
	return nil
}

var (
	digits = regexpOnce(`^[0-9a-f]+$`)
	names  = regexpOnce(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)
	tags   = regexpOnce(`^[A-Za-z0-9_+][A-Za-z0-9._+/-]{0,199}$`)
	scpURL = regexpOnce(`^([A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^/:][^:]*$`)
)

func libName(s string) bool { return names().MatchString(s) }

func (c *Coord) checkVersion() error {
	if c.Tag != "" && (!tags().MatchString(c.Tag) || strings.Contains(c.Tag, "..") || strings.HasSuffix(c.Tag, ".lock")) {
		return fmt.Errorf(":git/tag: got %q, want a tag's name such as v1.2.0", c.Tag)
	}
	switch {
	case c.SHA == "" && c.Tag == "":
		return fmt.Errorf("got no version, want :git/sha (40 hexadecimal digits) or :git/tag; a branch moves, so none is taken")
	case c.SHA == "":
	case !digits().MatchString(c.SHA) || len(c.SHA) > 40:
		return fmt.Errorf(":git/sha: got %q, want 40 hexadecimal digits, lower case", c.SHA)
	case len(c.SHA) < 40 && c.Tag == "":
		return fmt.Errorf(":git/sha: got the short %q, want all 40 digits (`git rev-parse %s` gives them), or a :git/tag beside it: others can make a commit that begins the same", c.SHA, c.SHA)
	case len(c.SHA) < 7:
		return fmt.Errorf(":git/sha: got %q, want at least 7 digits beside a tag", c.SHA)
	}
	return nil
}

// inferURL is the address of names that tell it, as Clojure's tools have it: io.github.user/repo.
func inferURL(lib string) string {
	group, name, _ := strings.Cut(lib, "/")
	for prefix, format := range map[string]string{
		"io.github.": "https://github.com/%s/%s.git", "com.github.": "https://github.com/%s/%s.git",
		"io.gitlab.": "https://gitlab.com/%s/%s.git", "com.gitlab.": "https://gitlab.com/%s/%s.git",
		"org.bitbucket.": "https://bitbucket.org/%s/%s.git", "ht.sr.": "https://git.sr.ht/~%s/%s"} {
		if user, ok := strings.CutPrefix(group, prefix); ok && user != "" {
			return fmt.Sprintf(format, user, name)
		}
	}
	return ""
}

const wantURL = "want https://…, ssh://…, user@host:path, or a repository on this disk (file:///… or a path)"

// checkURL judges a repository's address for who asks for it.
func checkURL(s string, from origin) error {
	if strings.ContainsAny(s, "\x00\r\n\t ") || strings.HasPrefix(s, "-") || len(s) > 2000 {
		return fmt.Errorf(":git/url: got %q, %s", redact(s), wantURL)
	}
	to := placeOf(s)
	if to < 0 {
		return fmt.Errorf(":git/url: got %s, %s", redact(s), wantURL)
	}
	if to < from {
		return fmt.Errorf(":git/url: got %s from a library that came over the network, want https or ssh: it may not point at this machine; name the library in the home's own deps.edn to allow it", redact(s))
	}
	return nil
}

// placeOf tells where a repository is; -1: nowhere that is allowed. Plain http is allowed to this machine only.
func placeOf(s string) origin {
	if isPath(s) {
		return fromDisk
	}
	if scpURL().MatchString(s) {
		return fromNetwork
	}
	u, err := url.Parse(s)
	if err != nil {
		return -1
	}
	loopback := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		loopback = true
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && u.Path != "":
		return fromDisk
	case u.Host == "" || strings.HasPrefix(u.Host, "-"):
		return -1
	case loopback && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ssh"):
		return fromLoopback
	case u.Scheme == "https" || u.Scheme == "ssh":
		return fromNetwork
	}
	return -1
}

// isPath tells whether a URL is a path of this disk.
func isPath(s string) bool {
	return filepath.IsAbs(s) || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~/")
}

// redact takes users and passwords out of a URL.
func redact(s string) string {
	if i := strings.Index(s, "://"); i >= 0 {
		rest := s[i+3:]
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			end = len(rest)
		}
		if at := strings.LastIndex(rest[:end], "@"); at >= 0 {
			s = s[:i+3] + rest[at+1:]
		}
	}
	if q := strings.IndexAny(s, "?#"); q >= 0 && !isPath(s) {
		s = s[:q]
	}
	return s
}

// scrub takes what a URL says of users and passwords out of an error's text.
func scrub(s string, err error) error {
	_, rest, ok := strings.Cut(s, "://")
	u, perr := url.Parse(s)
	if !ok || (perr == nil && u.User == nil) {
		return err
	}
	rest, _, _ = strings.Cut(rest, "/")
	secrets := []string{rest[:max(strings.LastIndex(rest, "@"), 0)] + "@"}
	if perr == nil {
		if pw, ok := u.User.Password(); ok && pw != "" {
			secrets = append(secrets, url.QueryEscape(pw), pw)
		} else if u.Scheme != "ssh" {
			secrets = append(secrets, u.User.Username()) // a token
		}
	}
	text := err.Error()
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "")
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// sameURL compares addresses as people write them.
func sameURL(a, b string) bool {
	norm := func(s string) string {
		s = strings.TrimSuffix(strings.TrimSuffix(redact(s), "/"), ".git")
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			u.Host = strings.ToLower(u.Host)
			return u.String()
		}
		return s
	}
	return norm(a) == norm(b)
}

func cleanRoot(s string) string {
	if s = path.Clean(filepath.ToSlash(s)); s == "." {
		return ""
	}
	return s
}

// regexpOnce compiles at first use: zeno starts for a moment's work often.
func regexpOnce(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}
