package stage2

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Paths are relative to the box's root, which is the root by now: nothing here can reach the host.

func parents(name string) *failure {
	name = strings.Trim(name, "/")
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return mkdirAll(name[:i])
	}
	return nil
}

// mkdirAll makes dir; most often it is there already.
func mkdirAll(dir string) *failure {
	err := unix.Mkdir(dir, 0o755)
	if err == unix.ENOENT {
		if f := parents(dir); f != nil {
			return f
		}
		err = unix.Mkdir(dir, 0o755)
	}
	if err != nil && err != unix.EEXIST {
		return fail("mkdir "+dir, err)
	}
	return nil
}

func mkdir(name string, mode uint32) *failure {
	if err := unix.Mkdir(name, mode); err != nil && err != unix.EEXIST {
		return fail("mkdir "+name, err)
	}
	return nil
}

// makeDir makes a directory with its parents. One that is there keeps its mode, unless the program is to own it.
func makeDir(cfg *Config, d Dir) *failure {
	name := strings.Trim(d.Name, "/")
	if f := parents(name); f != nil {
		return f
	}
	err := unix.Mkdir(name, d.Mode)
	if err == unix.EEXIST {
		return nil
	}
	if err != nil {
		return fail("mkdir "+name, err)
	}
	if d.Owned && (cfg.UID != 0 || cfg.GID != 0) && cfg.Ranged {
		if err := unix.Chown(name, cfg.UID, cfg.GID); err != nil {
			return fail("chown "+name, err)
		}
	}
	return nil
}

func touch(name string) *failure {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_CLOEXEC|unix.O_RDONLY|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return fail("create "+name, err)
	}
	unix.Close(fd)
	return nil
}

// writeFile replaces name: what an image has there, a link or a device, is taken away first.
func writeFile(file *File) *failure {
	name := strings.Trim(file.Name, "/")
	if f := parents(name); f != nil {
		return f
	}
	unix.Unlink(name)
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, file.Mode)
	if err != nil {
		return fail("create "+name, err)
	}
	defer unix.Close(fd)
	for b := file.Content; len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err != nil {
			return fail("write "+name, err)
		}
		b = b[n:]
	}
	return nil
}

// maxBundle bounds the certificates that are copied; a system's bundle is about 250 KB.
const maxBundle = 4 << 20

// bundle joins the box's own certificates and the proxy's.
func bundle(n *Net) *failure {
	if n.BundleAt == "" {
		return nil
	}
	var own []byte
	for _, at := range n.Bundles {
		if own = readRegular(at); len(own) > 0 {
			break
		}
	}
	if len(own) > 0 && own[len(own)-1] != '\n' {
		own = append(own, '\n')
	}
	return writeFile(&File{Name: n.BundleAt, Mode: 0o644, Content: append(own, n.Extra...)})
}

// readRegular gives the content of a regular file of the box, nil where there is none.
func readRegular(name string) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxBundle {
		unix.Close(fd)
		return nil
	}
	b, errno := readAll(fd)
	if errno != 0 {
		return nil
	}
	return b
}
