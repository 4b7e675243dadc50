package core

import (
	"context"

	"github.com/reflection-dev/zeno/sandbox"
	"github.com/reflection-dev/zeno/sandbox/msb"
)

// openMSB makes the backend of microVMs and ends what a crash left there. It needs no program until a box is run.
func (b *boxes) openMSB() (*msb.Backend, error) {
	var m *msb.Backend
	take := func(ctx context.Context, image string, secrets []string) (string, error) {
		i, err := b.c.images.made()
		if err != nil {
			return "", err
		}
		return i.forMSB(ctx, m, image, secrets)
	}
	m, err := msb.New(msb.Config{Secrets: &b.secrets, Events: b.happened, Images: take})
	if err != nil {
		return nil, err
	}
	b.madeMSB.Store(m)
	if _, err := m.Reap(b.c.ctx); err != nil {
		b.c.conf.Log.Warn("sandbox: a microVM that an earlier zeno left could not be ended", "error", err)
	}
	return m, nil
}

// of gives the backend that a spec names. One that is not here is refused by the native one.
func (b *boxes) of(name string) (sandbox.Backend, error) {
	if name == msb.Name {
		return b.msb()
	}
	return b.native()
}

// holding gives the backend that has the body of that name; where none has it, the native one, which says so.
func (b *boxes) holding(ctx context.Context, name string) (sandbox.Backend, error) {
	m, err := b.msb()
	if err != nil {
		return nil, err
	}
	bodies, err := m.PS(ctx)
	if err != nil {
		return nil, err
	}
	for _, body := range bodies {
		if body.Name == name {
			return m, nil
		}
	}
	return b.native()
}

// attach gives a box its network, and the backend that runs it: msb, which decides about a network itself, is given none.
func (b *boxes) attach(ctx context.Context, s *sandbox.Spec) (sandbox.Backend, error) {
	back, err := b.of(s.Backend)
	if err != nil || s.Backend == msb.Name {
		return back, err
	}
	s.Proxy, err = b.proxy(ctx, s)
	return back, err
}
