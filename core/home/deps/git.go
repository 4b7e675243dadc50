package deps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/server"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// fetcher gets one commit of one repository, speaking Git's protocol itself so that every byte is counted: no git is
// needed on the machine, and no hook, filter or configuration of the repository is run or read.
type fetcher struct {
	conf Config
	url  string
	dir  string // a new directory for the objects
}

// fetched is a commit with its objects.
type fetched struct {
	sha     string
	tagged  string // where the tag is, if one was asked for
	objects *filesystem.Storage
}

// commit fetches what sha names, else what tag does.
func (f *fetcher) commit(ctx context.Context, tag, sha string) (*fetched, error) {
	ses, done, err := f.session(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	refs, err := ses.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, explainAccess(err)
	}
	got := &fetched{sha: sha}
	if tag != "" {
		if got.tagged, err = findTag(refs, tag); err != nil {
			return nil, err
		}
		if sha == "" {
			got.sha = got.tagged
		}
	}
	if got.sha != got.tagged && tag != "" { // not to be taken: the caller says why
		return got, nil
	}
	req, err := request(refs, plumbing.NewHash(got.sha))
	if err != nil {
		return nil, err
	}
	got.objects, err = f.download(ctx, ses, req)
	return got, err
}

// findTag gives the commit that a tag names.
func findTag(refs *packp.AdvRefs, tag string) (string, error) {
	name := "refs/tags/" + tag
	if peeled, ok := refs.Peeled[name]; ok {
		return peeled.String(), nil
	}
	if h, ok := refs.References[name]; ok {
		return h.String(), nil
	}
	return "", fmt.Errorf("got no tag %s there (of %d references), want one that exists", tag, len(refs.References))
}

// request asks for one commit alone where the server gives that, else for all branches and tags.
func request(refs *packp.AdvRefs, want plumbing.Hash) (*packp.UploadPackRequest, error) {
	req := packp.NewUploadPackRequestFromCapabilities(refs.Capabilities)
	tip := false
	for _, m := range []map[string]plumbing.Hash{refs.References, refs.Peeled} {
		for _, h := range m {
			tip = tip || h == want
		}
	}
	any := refs.Capabilities.Supports(capability.AllowReachableSHA1InWant) || refs.Capabilities.Supports(capability.AllowTipSHA1InWant)
	if !tip && !any {
		for name, h := range refs.References {
			if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
				req.Wants = append(req.Wants, h)
			}
		}
		if len(req.Wants) == 0 {
			return nil, errors.New("got a repository without branches and tags, want one with commits")
		}
		return req, nil
	}
	req.Wants = append(req.Wants, want)
	if refs.Capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(1)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// download gets the objects. They are first written down and judged as they came, then indexed.
func (f *fetcher) download(ctx context.Context, ses transport.UploadPackSession, req *packp.UploadPackRequest) (*filesystem.Storage, error) {
	res, err := ses.UploadPack(ctx, req)
	if err != nil {
		return nil, explainAccess(err)
	}
	defer res.Close()
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, err
	}
	pack, err := os.Create(filepath.Join(f.dir, "pack"))
	if err != nil {
		return nil, err
	}
	defer pack.Close()
	in := &bounded{ctx: ctx, r: res, left: f.conf.Limits.Pack, what: "the transfer", limit: f.conf.Limits.Pack}
	if _, err := io.Copy(pack, demux(req, in)); err != nil {
		return nil, err
	}
	if err := judgePack(ctx, pack, f.conf.Limits); err != nil {
		return nil, err
	}
	store := filesystem.NewStorageWithOptions(osfs.New(f.dir), cache.NewObjectLRU(16<<20), filesystem.Options{ExclusiveAccess: true})
	if err := store.Init(); err != nil {
		return nil, err
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if err := packfile.UpdateObjectStorage(store, &bounded{ctx: ctx, r: pack, left: f.conf.Limits.Pack + 1}); err != nil {
		return nil, fmt.Errorf("got objects that cannot be read: %w", err)
	}
	return store, nil
}

// demux takes the progress texts of the server out of the stream.
func demux(req *packp.UploadPackRequest, r io.Reader) io.Reader {
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case req.Capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

// session opens the repository. done gives everything back.
func (f *fetcher) session(ctx context.Context) (ses transport.UploadPackSession, done func(), err error) {
	if isPath(f.url) || strings.HasPrefix(f.url, "file://") {
		ses, err = f.local()
		return ses, func() {}, err
	}
	ep, err := transport.NewEndpoint(f.url)
	if err != nil {
		return nil, nil, errors.New("got an address that cannot be read, " + wantURL)
	}
	if ep.Protocol == "ssh" {
		return f.ssh(ctx, ep)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.ResponseHeaderTimeout = time.Minute
	ses, err = githttp.NewClient(&http.Client{Transport: base}).NewUploadPackSession(ep, nil)
	if err != nil {
		base.CloseIdleConnections()
		return nil, nil, explainAccess(err)
	}
	return ses, func() { _ = ses.Close(); base.CloseIdleConnections() }, nil
}

// ssh opens a session. Connecting cannot be told to stop, so it is left to end by itself when ctx ends first.
func (f *fetcher) ssh(ctx context.Context, ep *transport.Endpoint) (transport.UploadPackSession, func(), error) {
	auth, err := ssh.DefaultAuthBuilder(ep.User)
	if err != nil {
		return nil, nil, fmt.Errorf("got no ssh key to show: %w; want an ssh-agent that holds one (`ssh-add`)", err)
	}
	if keys, ok := auth.(*ssh.PublicKeysCallback); ok {
		if keys.HostKeyCallback, err = ssh.NewKnownHostsCallback(); err != nil {
			return nil, nil, fmt.Errorf("got no list of known ssh hosts: %w; `ssh-keyscan HOST >>~/.ssh/known_hosts` makes one, after you have compared the key", err)
		}
	}
	type opened struct {
		ses transport.UploadPackSession
		err error
	}
	ch := make(chan opened, 1)
	go func() {
		ses, err := ssh.NewClient(nil).NewUploadPackSession(ep, auth)
		ch <- opened{ses, err}
	}()
	select {
	case o := <-ch:
		if o.err != nil {
			return nil, nil, explainAccess(o.err)
		}
		return o.ses, func() { _ = o.ses.Close() }, nil
	case <-ctx.Done():
		go func() {
			if o := <-ch; o.err == nil {
				_ = o.ses.Close()
			}
		}()
		return nil, nil, context.Cause(ctx)
	}
}

// local serves a repository of this disk to itself.
func (f *fetcher) local() (transport.UploadPackSession, error) {
	path := f.url
	if u, err := url.Parse(f.url); err == nil && u.Scheme == "file" {
		path = u.Path
	}
	path = under(cmp.Or(f.conf.Base, f.conf.Dir), path)
	for _, dir := range []string{filepath.Join(path, ".git"), path} {
		info, err := os.Stat(filepath.Join(dir, "objects"))
		if err != nil || !info.IsDir() {
			continue
		}
		store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(16<<20))
		return server.NewServer(loader{store}).NewUploadPackSession(nil, nil)
	}
	return nil, fmt.Errorf("got %s, which holds no Git repository", path)
}

type loader struct{ s storer.Storer }

// Load implements server.Loader.
func (l loader) Load(*transport.Endpoint) (storer.Storer, error) { return l.s, nil }

// explainAccess says what to do about a repository that does not open.
func explainAccess(err error) error {
	switch {
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed), errors.Is(err, transport.ErrRepositoryNotFound):
		return fmt.Errorf("%w; if it is there and private, use its ssh address and an ssh-agent that holds the key", err)
	}
	return err
}
