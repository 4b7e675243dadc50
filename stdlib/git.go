package stdlib

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/reflection-dev/zeno/lisp/value"
)

// gitNS is joker.git: reading a repository, and committing to it. Hashes are strings of hexadecimal digits.
func (h *Host) gitNS() []value.Builtin {
	return []value.Builtin{
		def("open", "([path])", "Opens the Git repository whose working tree holds path.", h.gitOpen),
		def("config", "([repo])", "The configuration of a repository, the user's included: a map of :user, :author and :committer (maps of :name and :email), :default-branch, :bare?, :remotes (names to vectors of URLs) and :branches (names to maps of :remote and :merge).", gitConfig),
		def("head", "([repo])", "The reference that HEAD points to: a map of :name, :type (:hash or :symbolic) and :hash or :target.", gitHead),
		def("ref", "([repo name resolved])", "The reference of a full name, such as \"refs/heads/main\", as a map as of head; with resolved true the one that a symbolic reference leads to.", gitRef),
		def("resolve-revision", "([repo revision])", "The hash of the commit that a revision means, such as \"HEAD~2\", \"main\" or a short hash.", gitResolve),
		def("commit", "([repo hash])", "A commit: a map of :hash, :message, :author and :committer (maps of :name, :email and :when), :tree and :parents.", gitCommit),
		def("object", "([repo hash])", "The object of a hash: a map of :type (:commit, :tree, :blob or :tag), :hash and, by type, what commit gives, :entries, :size and :content, or :name, :message and :target.", h.gitObject),
		def("log", "([repo opts])", "The commits from HEAD back, a vector of maps as of commit. Options: :from a hash to start at; :all for every reference; :order :committer-time, :dfs or :bsf; :path to have only those that change a file; :since and :until insts; :max how many at most.", gitLog),
		def("add-path", "([repo path])", "Stages a file, or what a directory holds, by its path in the working tree.", gitAdd),
		def("add-commit", "([repo msg opts])", "Commits what is staged and gives the hash. Options: :all to stage what has changed; :allow-empty; :amend; :author and :committer, maps of :name, :email and perhaps :when; :parents, hashes.", gitAddCommit),
	}
}

func (h *Host) gitOpen(t *Thread, path string) Value {
	full, err := h.abs(path)
	check("open", "open", path, err)
	r, err := beside(t, func(context.Context) (*git.Repository, error) {
		return git.PlainOpenWithOptions(full, &git.PlainOpenOptions{DetectDotGit: true, EnableDotGitCommonDir: true})
	})
	check("open", "open", path, err)
	return value.NewHost("git repository", r)
}

// gitDo runs f on a repository beside the thread.
func gitDo[T any](t *Thread, who, do, what string, repo Value, f func(context.Context, *git.Repository) (T, error)) T {
	r, ok := value.HostOf[*git.Repository](repo)
	if !ok {
		panic(value.TypeError(t, who, repo, "a repository, such as (joker.git/open …) gives"))
	}
	v, err := beside(t, func(ctx context.Context) (T, error) { return f(ctx, r) })
	check(who, do, what, err)
	return v
}

type gitPerson struct {
	Name  string
	Email string
}

type gitBranch struct{ Remote, Merge string }

type gitSettings struct {
	User, Author, Committer gitPerson
	DefaultBranch           string
	Bare                    bool `lisp:"bare?"`
	Remotes                 map[string][]string
	Branches                map[string]gitBranch
}

func gitConfig(t *Thread, repo Value) *gitSettings {
	return gitDo(t, "config", "read", "the configuration", repo, func(_ context.Context, r *git.Repository) (*gitSettings, error) {
		c, err := r.ConfigScoped(config.GlobalScope)
		if err != nil {
			return nil, err
		}
		s := &gitSettings{User: c.User, Author: c.Author, Committer: c.Committer, DefaultBranch: c.Init.DefaultBranch,
			Bare: c.Core.IsBare, Remotes: map[string][]string{}, Branches: map[string]gitBranch{}}
		for name, x := range c.Remotes {
			s.Remotes[name] = x.URLs
		}
		for name, b := range c.Branches {
			s.Branches[name] = gitBranch{b.Remote, b.Merge.String()}
		}
		return s, nil
	})
}

func gitHead(t *Thread, repo Value) Value {
	return refMap(t, gitDo(t, "head", "find", "HEAD", repo, func(_ context.Context, r *git.Repository) (*plumbing.Reference, error) {
		return r.Head()
	}))
}

func gitRef(t *Thread, repo Value, name string, resolved bool) Value {
	return refMap(t, gitDo(t, "ref", "find", name, repo, func(_ context.Context, r *git.Repository) (*plumbing.Reference, error) {
		return r.Reference(plumbing.ReferenceName(name), resolved)
	}))
}

func refMap(t *Thread, r *plumbing.Reference) Value {
	kind, key, to := "hash", "hash", r.Hash().String()
	if r.Type() == plumbing.SymbolicReference {
		kind, key, to = "symbolic", "target", r.Target().String()
	}
	return value.NewMap(t, value.Kw("name"), str(t, r.Name().String()), value.Kw("type"), value.Kw(kind), value.Kw(key), str(t, to))
}

func gitResolve(t *Thread, repo Value, revision string) string {
	return gitDo(t, "resolve-revision", "find", revision, repo, func(_ context.Context, r *git.Repository) (string, error) {
		h, err := r.ResolveRevision(plumbing.Revision(revision))
		if err != nil {
			return "", err
		}
		return h.String(), nil
	})
}

// hashOf reads a hash.
func hashOf(who, s string) plumbing.Hash {
	if !plumbing.IsHash(s) {
		panic(value.ArgError("%s: got %q, want a hash of 40 hexadecimal digits; resolve-revision makes one of a name", who, s))
	}
	return plumbing.NewHash(s)
}

func gitCommit(t *Thread, repo Value, hash string) Value {
	id := hashOf("commit", hash)
	return commitMap(t, gitDo(t, "commit", "find", hash, repo, func(_ context.Context, r *git.Repository) (*object.Commit, error) {
		return r.CommitObject(id)
	}))
}

func commitMap(t *Thread, c *object.Commit, more ...Value) Value {
	parents := make([]string, len(c.ParentHashes))
	for i, p := range c.ParentHashes {
		parents[i] = p.String()
	}
	return value.NewMap(t, append(more, value.Kw("hash"), str(t, c.Hash.String()), value.Kw("message"), str(t, c.Message),
		value.Kw("author"), signature(t, c.Author), value.Kw("committer"), signature(t, c.Committer),
		value.Kw("tree"), str(t, c.TreeHash.String()), value.Kw("parents"), strs(t, parents))...)
}

func signature(t *Thread, s object.Signature) Value {
	return value.NewMap(t, value.Kw("name"), str(t, s.Name), value.Kw("email"), str(t, s.Email), value.Kw("when"), value.InstOf(s.When))
}

// gitBlob is a blob and what it holds.
type gitBlob struct {
	*object.Blob
	content string
}

func (h *Host) gitObject(t *Thread, repo Value, hash string) Value {
	id := hashOf("object", hash)
	o := gitDo(t, "object", "find", hash, repo, func(_ context.Context, r *git.Repository) (object.Object, error) {
		o, err := r.Object(plumbing.AnyObject, id)
		if b, ok := o.(*object.Blob); err == nil && ok {
			text, err := blobText(b, h.MaxBody)
			return gitBlob{b, text}, err
		}
		return o, err
	})
	kind := []Value{value.Kw("type"), value.Kw(o.Type().String())}
	with := func(kvs ...Value) Value {
		return value.NewMap(t, append(append(kind, value.Kw("hash"), str(t, hash)), kvs...)...)
	}
	switch x := o.(type) {
	case *object.Commit:
		return commitMap(t, x, kind...)
	case *object.Tree:
		return with(value.Kw("entries"), treeEntries(t, x))
	case *object.Tag:
		return with(value.Kw("name"), str(t, x.Name), value.Kw("message"), str(t, x.Message), value.Kw("target"), str(t, x.Target.String()))
	case gitBlob:
		return with(value.Kw("size"), value.Int(x.Size), value.Kw("content"), str(t, x.content))
	}
	return with()
}

func blobText(b *object.Blob, limit int64) (string, error) {
	if b.Size > limit {
		return "", tooMuch("the blob", limit, "read the file from the working tree in parts")
	}
	r, err := b.Reader()
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func treeEntries(t *Thread, x *object.Tree) Value {
	t.Charge(16 * len(x.Entries))
	out := make([]Value, len(x.Entries))
	for i, e := range x.Entries {
		t.Step()
		out[i] = value.NewMap(t, value.Kw("name"), str(t, e.Name), value.Kw("mode"), str(t, e.Mode.String()), value.Kw("hash"), str(t, e.Hash.String()))
	}
	return value.NewVectorOwned(t, out)
}

type gitLogOptions struct {
	From, Order, Path string
	All               bool
	Since, Until      Value
	Max               int
}

func (o *gitLogOptions) options(t *Thread) *git.LogOptions {
	orders := map[string]git.LogOrder{"": git.LogOrderDefault, "dfs": git.LogOrderDFS, "bsf": git.LogOrderBSF, "committer-time": git.LogOrderCommitterTime}
	order, ok := orders[o.Order]
	if !ok {
		panic(value.ArgError("log: got the order :%s, want :dfs, :bsf or :committer-time", o.Order))
	}
	out := &git.LogOptions{Order: order, All: o.All}
	if o.From != "" {
		out.From = hashOf("log", o.From)
	}
	if o.Path != "" {
		out.FileName = &o.Path
	}
	when := func(v Value) *time.Time {
		if v.IsNil() {
			return nil
		}
		d := timeOf(t, "log", v)
		return &d
	}
	out.Since, out.Until = when(o.Since), when(o.Until)
	return out
}

func gitLog(t *Thread, repo Value, o *gitLogOptions) Value {
	if o == nil {
		o = &gitLogOptions{}
	}
	opts := o.options(t)
	commits := gitDo(t, "log", "read", "the history", repo, func(ctx context.Context, r *git.Repository) ([]*object.Commit, error) {
		it, err := r.Log(opts)
		if err != nil {
			return nil, err
		}
		defer it.Close()
		var out []*object.Commit
		for ctx.Err() == nil && (o.Max <= 0 || len(out) < o.Max) {
			c, err := it.Next()
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			if err != nil {
				return nil, err
			}
			out = append(out, c)
		}
		return out, ctx.Err()
	})
	t.Charge(16 * len(commits))
	xs := make([]Value, len(commits))
	for i, c := range commits {
		t.Step()
		xs[i] = commitMap(t, c)
	}
	return value.NewVectorOwned(t, xs)
}

func gitAdd(t *Thread, repo Value, path string) {
	gitDo(t, "add-path", "stage", path, repo, func(_ context.Context, r *git.Repository) (bool, error) {
		w, err := r.Worktree()
		if err == nil {
			_, err = w.Add(path)
		}
		return true, err
	})
}

type gitSignature struct {
	Name, Email string
	When        Value
}

func (s *gitSignature) signature(t *Thread) *object.Signature {
	if s == nil {
		return nil
	}
	when := time.Now()
	if !s.When.IsNil() {
		when = timeOf(t, "add-commit", s.When)
	}
	return &object.Signature{Name: s.Name, Email: s.Email, When: when}
}

type gitCommitOptions struct {
	All, AllowEmpty, Amend bool
	Author, Committer      *gitSignature
	Parents                []string
}

func gitAddCommit(t *Thread, repo Value, message string, o *gitCommitOptions) string {
	if o == nil {
		o = &gitCommitOptions{}
	}
	opts := &git.CommitOptions{All: o.All, AllowEmptyCommits: o.AllowEmpty, Amend: o.Amend,
		Author: o.Author.signature(t), Committer: o.Committer.signature(t)}
	for _, p := range o.Parents {
		opts.Parents = append(opts.Parents, hashOf("add-commit", p))
	}
	return gitDo(t, "add-commit", "commit", firstLine(message), repo, func(_ context.Context, r *git.Repository) (string, error) {
		w, err := r.Worktree()
		if err != nil {
			return "", err
		}
		id, err := w.Commit(message, opts)
		if errors.Is(err, git.ErrMissingAuthor) {
			err = fmt.Errorf("no author; give :author {:name … :email …} or set user.name and user.email")
		}
		return id.String(), err
	})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return fmt.Sprintf("%.60q", line)
}
