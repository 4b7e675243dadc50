package secret

import "errors"

// Of gives the resolver that plain data describes: {env NAME}, {file PATH} or {exec [PROGRAM ARG…]}, as JSON or Lisp data.
// The error holds no part of v: somebody may have written the secret itself there.
func Of(v any) (Resolver, error) {
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		if name, ok := m["env"].(string); ok {
			return Env{Var: name}, nil
		}
		if path, ok := m["file"].(string); ok {
			return File{Path: path}, nil
		}
		if xs, ok := m["exec"].([]any); ok && len(xs) > 0 {
			argv := make([]string, len(xs))
			for i, x := range xs {
				if argv[i], ok = x.(string); !ok {
					return nil, errSource
				}
			}
			return Exec{Argv: argv}, nil
		}
	}
	return nil, errSource
}

var errSource = errors.New(`source of a secret: want {:env "VAR"}, {:file "/path"} or {:exec ["pass" "show" "x"]}`)
