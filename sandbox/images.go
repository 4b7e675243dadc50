package sandbox

import "context"

// Images knows images. A Spec's Image is the name of one that was loaded, the path of an archive or a layout directory
// (it begins with "/", "./" or "../"), or an image spec as JSON (it begins with "{"), which is built where it is not there.
type Images interface {
	// Root gives the unpacked image. Its layers stay until release is called. An image spec whose environment names one of
	// the secrets is refused.
	Root(ctx context.Context, image string, secrets []string) (root Root, release func(), err error)
}

// ImageError is an image that could not be had.
type ImageError struct{ Err error }

func (e *ImageError) Error() string { return "sandbox: :image: " + e.Err.Error() }
func (e *ImageError) Unwrap() error { return e.Err }
