package nix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
)

// info is what nix knows of a store path.
type info struct {
	NarHash string `json:"narHash"`
	NarSize int64  `json:"narSize"`
}

func (s *Source) closure(ctx context.Context, name string, outs []string) (map[string]info, error) {
	text, stderr, err := s.nix(ctx, nil, append([]string{"path-info", "--json", "-r"}, outs...)...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("package %s: %w", name, context.Cause(ctx))
		}
		return nil, classify(name, "", stderr, err)
	}
	infos, err := parseInfos(text)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", name, err)
	}
	for _, o := range outs {
		if _, ok := infos[o]; !ok {
			return nil, fmt.Errorf("package %s: nix did not tell of %s", name, o)
		}
	}
	return infos, nil
}

// entry is one path as any version tells of it. narHash is a string, or an object in newer formats: only its text matters.
type entry struct {
	Path    string          `json:"path"`
	Valid   *bool           `json:"valid"`
	NarHash json.RawMessage `json:"narHash"`
	NarSize int64           `json:"narSize"`
}

// parseInfos reads path-info --json of every version: an array with paths (2.8), an object by path (2.19), an object by
// base name under "info" (format 2). An invalid path is told of with exit code 0.
func parseInfos(text []byte) (map[string]info, error) {
	out := map[string]info{}
	add := func(p string, e *entry) error {
		if !inStore(p) {
			return fmt.Errorf("got the path %q from nix, want one in /nix/store", p)
		}
		if e == nil || e.Valid != nil && !*e.Valid || len(e.NarHash) == 0 || string(e.NarHash) == "null" {
			return fmt.Errorf("%s is not in the nix store any more: build again", p)
		}
		hash := string(e.NarHash)
		var plain string
		if json.Unmarshal(e.NarHash, &plain) == nil {
			hash = plain
		}
		out[p] = info{NarHash: hash, NarSize: e.NarSize}
		return nil
	}
	var list []*entry
	if json.Unmarshal(text, &list) == nil {
		for _, e := range list {
			if e == nil {
				return nil, errors.New("nix told of a path without a name")
			}
			if err := add(e.Path, e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var versioned struct {
		Version  int               `json:"version"`
		StoreDir string            `json:"storeDir"`
		Info     map[string]*entry `json:"info"`
	}
	if json.Unmarshal(text, &versioned) == nil && versioned.Info != nil {
		for base, e := range versioned.Info {
			if err := add(path.Join("/nix/store", path.Base(base)), e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var byPath map[string]*entry
	if err := json.Unmarshal(text, &byPath); err != nil {
		return nil, fmt.Errorf("failed to read what nix path-info said: %w", err)
	}
	for p, e := range byPath {
		if err := add(p, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}
