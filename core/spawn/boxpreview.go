package spawn

import (
	"context"

	"github.com/reflection-dev/zeno/core/spawn/backend"
	"github.com/reflection-dev/zeno/sandbox/egress"
	"github.com/reflection-dev/zeno/sandbox/secret"
)

// PreviewBox is the box of a Preview.
type PreviewBox struct {
	Image string   `json:"image,omitempty"`
	Read  []string `json:"read"`  // shown read-only, besides the system's programs
	Write []string `json:"write"` // kept on the host
	// Egress is "deny" or "public"; Allow are the rules, the model's among them.
	Egress  string   `json:"egress"`
	Allow   []string `json:"allow"`
	Secrets []string `json:"secrets,omitempty"` // variables that hold a placeholder
	Memory  int64    `json:"memory"`            // bytes
}

// previewBox plans a box without a value of any secret, and makes nothing.
func (s *run) previewBox(b backend.Backend) (*boxing, error) {
	if !s.req.boxed() {
		return nil, nil
	}
	stand := secret.Func(func(context.Context, string) (secret.Value, error) { return secret.New("not looked up") })
	s.token = "none-is-issued"
	x := &boxing{name: boxName(s.req.ID), secrets: stand}
	conf, err := s.network(context.Background(), b, x)
	if err != nil {
		return nil, err
	}
	x.proxy, err = egress.New(conf)
	return x, err
}

func (s *run) describe(x *boxing, d dirs, programs []string) *PreviewBox {
	q := s.req.Box
	out := &PreviewBox{Image: q.Image, Read: append([]string{}, q.Read...), Write: []string{d.home, d.session},
		Egress: string(x.policy.Default), Allow: []string{}, Memory: q.Memory}
	if hostRoot(q.Image) && programs != nil {
		if dirs, _, err := s.show(programs); err == nil {
			out.Read = append(out.Read, dirs...)
		}
	}
	if q.Volume == "" {
		out.Write = append(out.Write, d.work)
	}
	for _, r := range x.policy.Allow {
		out.Allow = append(out.Allow, r.String())
	}
	for _, sec := range q.Secrets {
		out.Secrets = append(out.Secrets, sec.Env)
	}
	if s.req.APIKey != "" {
		out.Secrets = append(out.Secrets, keyEnv)
	}
	out.Secrets = append(out.Secrets, tokenEnv)
	if out.Memory == 0 {
		out.Memory = DefaultBoxMemory
	}
	return out
}
