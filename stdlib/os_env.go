package stdlib

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/reflection-dev/zeno/lisp/value"
)

// osEnv is the environment of the program: variables, arguments, the directory. Changes are the host's own: the process
// keeps what it has.
func (h *Host) osEnv() []value.Builtin {
	return []value.Builtin{
		def("args", "([])", "The command-line arguments, the program's name first.", func(t *Thread) Value { return strs(t, h.Args) }),
		def("env", "([])", "The environment variables: a map of strings to strings.", h.envMap),
		def("get-env", "([key])", "The value of an environment variable; nil where it is not set.", h.getEnv),
		def("set-env", "([key value])", "Sets an environment variable for this program and the commands it starts.", h.setEnv),
		def("unset-env", "([key])", "Removes an environment variable.", h.unsetEnv),
		def("clearenv", "([])", "Removes all environment variables.", h.clearEnv),
		def("expand-env", "([s])", "Replaces $var and ${var} in s by the values of environment variables; by nothing where one is not set.",
			func(s string) string { return os.Expand(s, h.getenv) }),
		def("cwd", "([])", "The current working directory.", h.cwdOrThrow),
		def("chdir", "([dirname])", "Makes dirname the working directory of this program's files and commands.", h.chdir),
	}
}

func (h *Host) envMap(t *Thread) Value {
	h.mu.Lock()
	env := maps.Clone(h.env)
	h.mu.Unlock()
	t.Charge(32 * len(env))
	kvs := make([]Value, 0, 2*len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		t.Step()
		kvs = append(kvs, str(t, k), str(t, env[k]))
	}
	return value.NewMap(t, kvs...)
}

func (h *Host) getEnv(key string) *string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v, ok := h.env[key]; ok {
		return &v
	}
	return nil
}

func (h *Host) setEnv(key, val string) {
	if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(val, "\x00") {
		panic(value.ArgError("set-env: got the name %q, want one without = and zero bytes", key))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.env[key] = val
}

func (h *Host) unsetEnv(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.env, key)
}

func (h *Host) clearEnv() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.env)
}

// environ is the environment for a command: the host's and more.
func (h *Host) environ(more map[string]string) []string {
	h.mu.Lock()
	env := maps.Clone(h.env)
	h.mu.Unlock()
	maps.Copy(env, more)
	out := make([]string, 0, len(env))
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

func (h *Host) cwdOrThrow() string {
	dir, err := h.cwd()
	check("cwd", "find", "the working directory", err)
	return dir
}

func (h *Host) chdir(dir string) {
	path, err := h.abs(dir)
	check("chdir", "enter", dir, err)
	info, err := os.Stat(path)
	check("chdir", "enter", dir, err)
	if !info.IsDir() {
		panic(value.Errorf("IOException", "chdir: got %s, want a directory", dir))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dir = path
}
