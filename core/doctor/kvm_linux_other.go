//go:build linux && !amd64

package doctor

// instructions runs nothing: what a guest is made of differs by machine, and only one kind is known here.
func instructions(int, int, []byte) (string, error) {
	return "a virtual machine with a processor was made; nothing was run in it", nil
}
