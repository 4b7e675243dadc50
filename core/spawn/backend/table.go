package backend

// Table returns the built-in entries, a fresh copy at each call.
func Table() map[string]Backend {
	table := map[string]Backend{}
	for _, b := range []Backend{claude(), codex(), gemini(), omp(), opencode(), pi()} {
		table[b.Name] = b
	}
	return table
}

// Default is the entry a spawn uses where it names none.
const Default = "omp"
