package native

import (
	"context"

	"github.com/reflection-dev/zeno/sandbox"
)

// image fills in the spec's Root where its Image names one. The layers stay until release is called, which is after the
// box has ended.
func (b *Backend) image(ctx context.Context, spec *sandbox.Spec) (release func(), err error) {
	if spec.Image == "" || spec.Image == "host" || len(spec.Root.Layers) > 0 || b.cfg.Images == nil {
		return func() {}, nil
	}
	var secrets []string
	for _, s := range spec.Secrets {
		secrets = append(secrets, s.Env)
	}
	spec.Root, release, err = b.cfg.Images.Root(ctx, spec.Image, secrets)
	if err != nil {
		return nil, &sandbox.ImageError{Err: err}
	}
	return release, nil
}
